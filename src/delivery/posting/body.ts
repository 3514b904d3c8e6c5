import { showAmount } from '../../../packages/statements/src/amounts.ts';
import type { NotifiedEvent, NotifiedMovement } from '../run/types.ts';
import { movementHash } from './signature.ts';

/** Builds the bodies of notifications: of a movement, and of an operational event. */

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
  const { dc, currency, account_id, account, bank } = movement;
  const amount = showAmount(movement.amount, currency);
  const code = movement.code ?? '';
  const balance = movement.balance === null ? '' : showAmount(movement.balance, currency);
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

/** Builds the payload that Standard Webhooks recommends. The same event gives the same bytes on every attempt. */
export const buildEventBody = ({ type, timestamp, data }: NotifiedEvent): string =>
  `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"data":${data}}`;
