import { movementHash } from './signature.ts';

/** A movement as one notification shows it; amounts and dates as MySQL writes them. */
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
}

/** What a webhook's owner chose about the body. */
export interface BodyFormat {
  encoding: 'json' | 'form';
  hashEncoding: 'hex' | 'raw';
}

export const CONTENT_TYPES = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
} as const;

/**
 * The body of a notification: twelve fields, in this order and nothing else. A null is "" in the body and in the hash, so
 * that what is hashed is what is sent. The same movement always gives the same bytes, on every attempt.
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
    account_id,
    account,
    bank,
    opponent_id: movement.opponent_id ?? '',
    opponent_iban: movement.opponent_iban ?? '',
    hash: movementHash({ dc, code, amount, balance, currency, description }, apiSecret, hashEncoding),
  };
  return encoding === 'json' ? JSON.stringify(fields) : new URLSearchParams(fields).toString();
}

const bodies = new WeakMap<NotifiedMovement, Map<string, string>>();

/**
 * The same as `buildBody`, made once for all webhooks of a customer that share the movement and the format: only their
 * signatures differ.
 */
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
