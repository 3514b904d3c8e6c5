import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { MARKER } from './durability/load/movements.ts';
import { movement } from './support/movements.ts';
import { webhook } from './support/webhooks.ts';

/** Secrets and account data for test/redaction.test.ts, and the requests and settings that fail because of them. */

/** Letters and digits that occur nowhere else, so that a leak can be found by searching. */
const secret = (name: string) => `${name}${randomBytes(8).toString('hex')}`;
export const AUTHORIZATION = secret('subscriber');
export const ADMIN_PASSWORD = secret('admin');
export const SECRET_KEY = randomBytes(32).toString('base64');
export const REFUSED_URL = `http://user:${secret('endpoint')}@127.0.0.1/`;
export const IBAN = 'TR330006100519786457841326';
export const ACCOUNT = { bank: 'Akbank', title: 'Kasa', currency: 'TRY', iban: IBAN };

/** The texts to search for, with their names. The test adds secrets that are created later. */
export const secrets = new Map([
  [AUTHORIZATION, 'a custom header'],
  [ADMIN_PASSWORD, 'ADMIN_PASSWORD'],
  [SECRET_KEY, 'SECRET_KEY'],
  [new URL(REFUSED_URL).password, 'the password in a refused endpoint'],
]);
/** MySQL may store these in clear, because it is their store. */
export const accountData = new Map([
  [IBAN, 'an IBAN'],
  [MARKER, "a movement's description"],
]);

export const movements = (accountId: string, count: number, prefix: string) => ({
  transactions: Array.from({ length: count }, (_, i) =>
    movement(accountId, { unique_id: `${prefix}${i}`, description: MARKER, opponent_iban: IBAN }),
  ),
});

type Request = [method: string, path: string, body?: unknown, headers?: Record<string, string>];

/** A request for each error of the API, with a secret or account data in it. */
export function failingRequests(key: string, accountId: string): Request[] {
  const wrongHeaders = { Authorization: AUTHORIZATION, 'X-Broken': `${AUTHORIZATION}\u0000` };
  return [
    ['POST', '/v1/webhooks', webhook({ endpoint: REFUSED_URL })],
    ['POST', '/v1/webhooks', webhook({ headers: wrongHeaders })],
    ['POST', '/v1/webhooks', webhook({ headers: { 'Webhook-Id': AUTHORIZATION } })],
    ['POST', '/v1/webhooks', `{ "headers": { "Authorization": "${AUTHORIZATION}`],
    ['POST', '/v1/webhooks', { ...webhook(), title: { [IBAN]: AUTHORIZATION } }],
    ['POST', '/v1/accounts', { bank: MARKER, title: MARKER, currency: IBAN, iban: `${IBAN}${key}` }],
    ['POST', '/v1/imports', { transactions: [movement(accountId, { amount: IBAN, dc: MARKER })] }],
    ['POST', '/v1/imports', `{ "transactions": [ { "description": "${MARKER} ${key} } ] }`],
    ['POST', '/v1/imports', movements(accountId, 1, 'a'), { 'Idempotency-Key': 'once' }],
    ['POST', '/v1/imports', movements(accountId, 2, 'b'), { 'Idempotency-Key': 'once' }],
    ['POST', '/v1/imports', MARKER, { 'Content-Type': `text/${IBAN}` }],
    ['GET', `/v1/transactions?starts=${IBAN}&after=${MARKER}`],
    ['GET', `/v1/transactions?starts=2026-01-01&cursor=${key}`],
    ['GET', '/v1/webhooks/999999'],
    ['PATCH', '/v1/webhooks', { secret: key }],
  ];
}

/** Settings with which a command must not start. */
export function wrongSettings({
  DATABASE_URL = '',
  REDIS_URL = '',
}: Record<string, string>): Record<string, string>[] {
  return [
    { SECRET_KEY: `${SECRET_KEY}x` },
    { DATABASE_URL: DATABASE_URL.replace('mysql', 'postgres') },
    { REDIS_URL: REDIS_URL.replace('redis:', 'http:') },
    { ADMIN_USER: '' },
    { TIME_ZONE_OFFSET: REDIS_URL },
    { LOG_LEVEL: SECRET_KEY },
    { PORT: DATABASE_URL },
    { DATABASE_URL: DATABASE_URL.replace('mysql.sock', 'nowhere.sock') },
    { DATABASE_URL: DATABASE_URL.replace('ledgerbell:', 'nobody:') },
  ];
}

/** Requests that are no HTTP, or too long, with an API key in them. */
export const brokenRequests = (key: string) => [
  `GET /v1/accounts HTTP/1.1\r\nHost: a\r\nAuthentication: ${key}\r\nbroken header ${key}\r\n\r\n`,
  `GET /v1/accounts HTTP/1.1\r\nHost: ${key} b\r\nAuthentication: ${key}\r\nConnection: close\r\n\r\n`,
  `GET /v1/accounts HTTP/1.1\r\nHost: a\r\nAuthentication: ${key.repeat(600)}\r\n\r\n`,
];

/** Secrets that stand in clear in any column of any table. */
export async function findInTables(
  database: DataSource,
  secrets: ReadonlyMap<string, string>,
): Promise<string[]> {
  const tables = await database.query<{ name: string }[]>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()',
  );
  const leaks: string[] = [];
  for (const { name } of tables) {
    const rows = await database.query<Record<string, unknown>[]>(`SELECT * FROM ${name}`);
    const text = rows
      .flatMap((row) => Object.entries(row))
      .map(([, value]) => (Buffer.isBuffer(value) ? value.toString('latin1') : String(value)))
      .join('\n');
    for (const [needle, what] of secrets)
      if (text.includes(needle)) leaks.push(`${what} in the table ${name}`);
  }
  return leaks;
}
