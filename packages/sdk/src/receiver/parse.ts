import type {
  Balance,
  EventData,
  Movement,
  Notification,
  OperationalEvent,
  Sent,
  UnknownEvent,
} from './notification.ts';
import { VerificationError } from './verification-error.ts';

const EVENT_TYPES = new Set<string>([
  'webhook.failing',
  'webhook.disabled',
  'webhook.quarantined',
  'webhook.behind',
  'webhook.caught_up',
  'webhook.flapping',
  'webhook.stable',
  'delivery.failed',
  'import.failed',
  'import.stuck',
  'movement.conflict',
  'statement.gap',
  'statement.contradiction',
  'statement.late',
  'source.failing',
  'delivery.stalled',
  'process.killed',
] satisfies (keyof EventData)[]);

const TEXTS = [
  'code',
  'amount',
  'balance',
  'currency',
  'description',
  'account',
  'bank',
  'opponent_id',
  'opponent_iban',
  'hash',
] as const;

type Content = Movement | UnknownEvent;

/** The body of a batch. What the events hold is not checked yet. */
export interface BatchContent {
  batch: string;
  events: { id: string; body: unknown }[];
}

/**
 * Reads a body: JSON if it begins with `{`, otherwise a form. The header content-type is not signed, and not read.
 * @throws {VerificationError} `malformed-body`
 */
export function parseBody(body: string): Content | BatchContent {
  const value = body.startsWith('{') ? parseJson(body) : parseForm(body);
  return isBatchContent(value) ? value : toContent(value);
}

/**
 * Checks that a value is the body of a notification.
 * @throws {VerificationError} `malformed-body`
 */
export function toContent(value: unknown): Content {
  if (isObject(value) && (isMovement(value) || isEvent(value))) return value;
  throw new VerificationError('malformed-body', 'The body is neither a movement nor an event.');
}

/** Whether the content is a movement, and not an event. */
export const isMovementContent = (content: Content): content is Movement => 'dc' in content;

/**
 * Makes the notification of what a verified body says.
 * @throws {VerificationError} `malformed-body` when a movement has an id without the movement's number.
 */
export function toNotification(sent: Sent, content: Content): Notification {
  const { id } = sent;
  if (id.startsWith('msg_test_')) return { kind: 'test', ...sent, sample: content };
  if (isMovementContent(content)) {
    // The signature covers the id, and not the header ledgerbell-event.
    const [, transactionId, withdrawn] = /^msg_\d+-(\d+)(-withdrawn)?$/.exec(id) ?? [];
    if (transactionId === undefined)
      throw new VerificationError('malformed-body', 'The webhook-id is not that of a movement.');
    const kind = withdrawn === undefined ? 'movement' : 'withdrawal';
    return { kind, ...sent, transactionId, movement: content };
  }
  const { type, timestamp, data } = content;
  if (type === 'balance.updated')
    return { kind: 'balance', ...sent, timestamp, balance: data as unknown as Balance };
  if (EVENT_TYPES.has(type)) return { kind: 'event', ...sent, event: content as OperationalEvent };
  return { kind: 'unknown', ...sent, event: content };
}

function parseJson(body: string): Record<string, unknown> {
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    throw new VerificationError('malformed-body', 'The body is not JSON.');
  }
}

/** Every value of a form is text, also account_id (docs/receiving/form-encoding.md). */
function parseForm(body: string): Record<string, unknown> {
  const fields = Object.fromEntries(new URLSearchParams(body));
  return { ...fields, account_id: /^\d+$/.test(fields.account_id ?? '') ? Number(fields.account_id) : null };
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Whether the content is a batch, and each of its events has an id. */
export const isBatchContent = (value: object): value is BatchContent => {
  const { batch, events } = value as Readonly<Record<string, unknown>>;
  return (
    typeof batch === 'string' &&
    Array.isArray(events) &&
    events.every((event: unknown) => isObject(event) && 'id' in event && typeof event.id === 'string')
  );
};

const isMovement = (value: object): value is Movement => {
  const fields = value as Readonly<Record<string, unknown>>;
  return (
    (fields.dc === 'Debit' || fields.dc === 'Credit') &&
    Number.isInteger(fields.account_id) &&
    TEXTS.every((name) => typeof fields[name] === 'string')
  );
};

const isEvent = (value: object): value is UnknownEvent => {
  const { type, timestamp, data } = value as Readonly<Record<string, unknown>>;
  return (
    typeof type === 'string' && typeof timestamp === 'string' && typeof data === 'object' && data !== null
  );
};
