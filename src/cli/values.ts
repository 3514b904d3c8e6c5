import { InvalidArgumentError } from 'commander';
import * as v from 'valibot';
import { WEBHOOK_EVENTS, type WebhookEvent } from '../database/webhook-enums.ts';
import { parseDeliveryId } from '../delivery/delivery.ts';
import { parseMoment, type ZoneOffset } from '../platform/moment.ts';
import { toValidationIssue } from '../platform/validation.ts';
import { Id, LAST_PORT, PORT_RULE, parseWholeNumber, rangeRule } from '../platform/whole-numbers.ts';
import { Failure } from './context.ts';

/** Parses the values of options and arguments. */

/** Parses an option that takes an id. */
export function parseId(text: string): string {
  if (!v.is(Id, text)) throw new InvalidArgumentError('It must be an id: a string of digits.');
  return text;
}

/** Parses an option that takes a customer: its id, or `external_id:` and the id that another program has for it. */
export function parseCustomer(text: string): string {
  if (!v.is(Id, text) && !/^external_id:\S/.test(text))
    throw new InvalidArgumentError(
      'It must be an id: a string of digits, or external_id: and an external id.',
    );
  return text;
}

/** Parses an option that takes ids with commas between them, and may be repeated. */
export const parseIds = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(',').map((id) => parseId(id.trim())),
];

/** Parses an option that takes events of webhooks with commas between them, and may be repeated. */
export const parseEvents = (text: string, before: readonly WebhookEvent[] = []): WebhookEvent[] => [
  ...before,
  ...text.split(',').map((name) => {
    const event = WEBHOOK_EVENTS.find((it) => it === name.trim());
    if (event === undefined)
      throw new InvalidArgumentError(`Allowed choices are ${WEBHOOK_EVENTS.join(', ')}.`);
    return event;
  }),
];

/** Parses the id of a delivery: `<webhook id>-<movement id>`. Also accepts the value of `webhook-id`, which begins with `msg_`. */
export function parseDeliveryKey(text: string): string {
  const id = text.replace(/^msg_/, '');
  if (parseDeliveryId(id) === null) {
    throw new InvalidArgumentError('It must be <webhook id>-<movement id>, such as 17-4711.');
  }
  return id;
}

/** Parses a whole number from `least` to `most`. @param rule what is told about another text. */
export function parseNumber(
  text: string,
  least: number,
  most: number,
  rule = rangeRule(least, most),
): number {
  const number = parseWholeNumber(text, least, most);
  if (number === null) throw new InvalidArgumentError(`It ${rule}.`);
  return number;
}

/** Parses an option that takes a whole number. The API knows its bounds. */
export const parseCount = (text: string): number =>
  parseNumber(text, 0, 999_999_999, 'must be a whole number');

/** Parses an option that takes a port to listen on. */
export const parsePort = (text: string): number => parseNumber(text, 0, LAST_PORT, PORT_RULE);

/** Parses an option that takes `Name: value` and may be repeated. */
export function parseHeader(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^([^:\s]+)\s*:\s*((?:\S.*)?)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('It must be a header: "Name: value".');
  }
  return { ...before, [name]: value };
}

/** Parses an option that takes `name=value` and may be repeated. */
export function parseMetadata(
  text: string,
  before: Record<string, string> | false = {},
): Record<string, string> {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('It must be a name and a value: name=value.');
  return { ...(before === false ? {} : before), [name]: value };
}

/** Parses an option that takes an http or https URL. */
export function parseHttpUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError('It must be an http or https URL.');
  }
  // Errors print the URL, so it must hold no credentials. They would not be sent anyway.
  if (url.username !== '' || url.password !== '') {
    throw new InvalidArgumentError('It must hold no user name and no password.');
  }
  return url;
}

/**
 * Parses a moment as the API does. A date alone means its first second.
 * @returns UTC, as MySQL writes it.
 * @throws {Failure} naming the option.
 */
function readMoment(option: string, text: string, zone: ZoneOffset): string {
  const moment = parseMoment(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text} 00:00:00` : text, zone);
  if (moment === null) {
    throw new Failure(
      `${option} must be a moment that exists, written "YYYY-MM-DD HH:mm:ss" (in the zone ${zone.text}, unless it ends in an offset such as +03 or Z), or a date.`,
    );
  }
  return moment;
}

/** Like `readMoment`, but in a form that the API understands in any zone. */
export const readMomentUtc = (option: string, text: string, zone: ZoneOffset): string =>
  `${readMoment(option, text, zone)}Z`;

/** Validates options by the API's rules for the same values. @throws {Failure} that names the first invalid option. */
export function readOptions<S extends v.GenericSchema>(schema: S, options: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, options, { abortPipeEarly: true });
  if (result.success) return result.output;
  const { path, message } = toValidationIssue(result.issues[0]);
  throw new Failure(`--${path.replaceAll(/[_.]/g, '-')} ${message}.`);
}
