import type { Extended } from '../../movements/extended.ts';
import { movementHash } from './signature.ts';

/** Builds the body of a notification. */

/** A movement as a notification shows it. Amounts and dates are strings as MySQL writes them. */
export interface NotifiedMovement {
  transaction_id: string;
  dc: string;
  code: string | null;
  amount: string;
  balance: string | null;
  currency: string;
  description: string | null;
  account_id: string;
  account: string;
  bank: string;
  opponent_id: string | null;
  opponent_iban: string | null;
  date_issue: string;
  /** Only for a webhook with an extended body. */
  extended?: Extended;
}

/** The body format that the webhook's owner has chosen. */
export interface BodyFormat {
  encoding: 'json' | 'form';
  hashEncoding: 'hex' | 'raw';
}

export const CONTENT_TYPES = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
} as const;

/**
 * Builds the body: twelve fields in this order, then `extended` if the webhook's owner wants it. null becomes "" in the body and in the
 * hash, so that the hash covers what is sent. The same movement gives the same bytes on every attempt.
 */
export function buildBody(
  movement: NotifiedMovement,
  { encoding, hashEncoding }: BodyFormat,
  apiSecret: string,
): string {
  const { dc, amount, currency, account_id, account, bank } = movement;
  const code = movement.code ?? '';
  const balance = movement.balance ?? '';
  const description = movement.description ?? '';
  const fields = {
    dc,
    code,
    amount,
    balance,
    currency,
    description,
    account_id: Number(account_id),
    account,
    bank,
    opponent_id: movement.opponent_id ?? '',
    opponent_iban: movement.opponent_iban ?? '',
    hash: movementHash({ dc, code, amount, balance, currency, description }, apiSecret, hashEncoding),
  };
  const { extended } = movement;
  return encoding === 'json'
    ? JSON.stringify(extended === undefined ? fields : { ...fields, extended })
    : new URLSearchParams({ ...fields, account_id }).toString();
}

const bodies = new WeakMap<NotifiedMovement, Map<string, string>>();

/** Like `buildBody`, but builds the body only once for all webhooks of a customer that share the movement and the format. */
export function buildSharedBody(movement: NotifiedMovement, format: BodyFormat, apiSecret: string): string {
  let made = bodies.get(movement);
  if (made === undefined) {
    made = new Map();
    bodies.set(movement, made);
  }
  const key = `${format.encoding} ${format.hashEncoding} ${apiSecret}`;
  let body = made.get(key);
  if (body === undefined) {
    body = buildBody(movement, format, apiSecret);
    made.set(key, body);
  }
  return body;
}

/** Builds the notification of an operational event. */

/** An operational event as a notification shows it. */
export interface NotifiedEvent {
  type: string;
  /** RFC 3339, in UTC. */
  timestamp: string;
  /** JSON. */
  data: string;
}

/** Builds the payload that Standard Webhooks recommends. The same event gives the same bytes on every attempt. */
export const buildEventBody = ({ type, timestamp, data }: NotifiedEvent): string =>
  `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"data":${data}}`;
