import * as v from 'valibot';
import { ENCODINGS, HASH_ENCODINGS, WEBHOOK_EVENTS } from '../database/entities/webhook.ts';
import { Title } from '../http/input.ts';
import { Id } from '../validation.ts';

const MAX_HEADERS = 10;

/**
 * Headers that Ledgerbell sets, or that belong to one connection and not to the message (RFC 9110, section 7.6.1). `host` and
 * `content-*` would contradict what is sent.
 */
const REFUSED_HEADERS = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'expect',
  'user-agent',
]);
const REFUSED_PREFIXES = ['webhook-', 'ledgerbell-', 'content-'];

/** A field-name is a token; a field-value is visible ASCII with inner spaces (RFC 9110, sections 5.1 and 5.5). */
const HeaderName = v.pipe(
  v.string(),
  v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'must have names of letters, digits and hyphens'),
  v.check((name) => {
    const lower = name.toLowerCase();
    return !REFUSED_HEADERS.has(lower) && !REFUSED_PREFIXES.some((prefix) => lower.startsWith(prefix));
  }, 'must not set webhook-*, ledgerbell-*, content-*, host, user-agent or a header of the connection'),
);
const HeaderValue = v.pipe(
  v.string('must have values that are strings'),
  v.regex(
    /^(?:[\x21-\x7e](?:[\t\x20-\x7e]{0,998}[\x21-\x7e])?)?$/,
    'must have values of at most 1,000 visible ASCII characters',
  ),
);

/** v.record also accepts an array, and drops these names, which JavaScript's own objects have. */
const DROPPED_NAMES = ['__proto__', 'constructor', 'prototype'];
const NothingDropped = v.custom<object>(
  (value) => !Array.isArray(value) && !DROPPED_NAMES.some((name) => Object.hasOwn(Object(value), name)),
  `must be an object of header names and values, and none be named ${DROPPED_NAMES.join(', ')}`,
);

const Headers = v.pipe(
  v.intersect([
    v.record(HeaderName, HeaderValue, 'must be an object of header names and values'),
    NothingDropped,
  ]),
  v.check(
    (headers) => Object.keys(headers).length <= MAX_HEADERS,
    `must hold at most ${MAX_HEADERS} headers`,
  ),
  // Header names are case-insensitive (RFC 9110, section 5.1).
  v.check((headers) => {
    const names = Object.keys(headers).map((name) => name.toLowerCase());
    return new Set(names).size === names.length;
  }, 'must name each header once'),
);

const wholeNumber = (least: number, most: number) => {
  const rule = `must be a whole number from ${least} to ${most}`;
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(least, rule), v.maxValue(most, rule));
};

const fields = {
  title: Title,
  endpoint: v.pipe(
    v.string('must be an http or https URL'),
    v.maxLength(2_048, 'must be at most 2048 characters long'),
    v.regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\//, 'must be an http or https URL'),
    v.url('must be an http or https URL'),
  ),
  event: v.picklist(WEBHOOK_EVENTS, `must be one of ${WEBHOOK_EVENTS.join(', ')}`),
  account: v.union([v.literal('all'), Id], 'must be "all", or the id of one of your accounts'),
  encoding: v.picklist(ENCODINGS, 'must be "json" or "form"'),
  hash_encoding: v.picklist(HASH_ENCODINGS, 'must be "hex" or "raw"'),
  ordered: v.boolean('must be true or false'),
  rate_limit: v.nullable(wholeNumber(1, 10_000)),
  max_in_flight: wholeNumber(1, 64),
  headers: Headers,
};

/** The body of POST /v1/webhooks. The endpoint's address is checked separately, since that may ask DNS. */
export const NewWebhook = v.strictObject({
  ...fields,
  encoding: v.optional(fields.encoding),
  hash_encoding: v.optional(fields.hash_encoding, 'hex'),
  ordered: v.optional(fields.ordered, false),
  rate_limit: v.optional(fields.rate_limit, null),
  max_in_flight: v.optional(fields.max_in_flight, 16),
  headers: v.optional(fields.headers, {}),
});

/** The body of PATCH /v1/webhooks/:id: any of these fields, without defaults. */
export const WebhookChange = v.pipe(
  v.strictObject({
    ...v.partial(v.object(fields)).entries,
    status: v.optional(v.picklist(['active', 'paused'], 'must be "active" or "paused"')),
  }),
  v.check(
    (change) => Object.keys(change).length > 0,
    'The body must hold at least one field that is to be changed',
  ),
);

export type WebhookChange = v.InferOutput<typeof WebhookChange>;
