import { createHash } from 'node:crypto';
import type { Runtime } from '../../database/runtime.ts';
import { SEALED } from '../../database/secret-box.ts';
import { giveBack, type Sql, type WriteResult } from '../../database/transaction.ts';
import { KEY_HOURS } from '../../platform/idempotency-key.ts';
import { type CarryOutOnce, customerOf } from '../app.ts';
import { keyReused, RESOURCE_BYTES, readBytes, readIdempotencyKey, requestInProgress } from '../input.ts';

/** Carries out a request with an Idempotency-Key only once, and keeps its answer for repetitions. */

/** Index of all: the primary key. */
const RESERVE_KEY = `
  INSERT IGNORE INTO idempotency_keys (customer_id, idempotency_key, request_hash) VALUES (?, ?, ?)`;

/** Releases a request without a response after a minute, because its process has died. A small request takes far less time. */
const RELEASE_STALE_KEY = `
  DELETE FROM idempotency_keys WHERE customer_id = ? AND idempotency_key = ?
    AND (created_at < NOW(6) - INTERVAL ${KEY_HOURS} HOUR OR (status IS NULL AND created_at < NOW(6) - INTERVAL 1 MINUTE))`;

const READ_KEY = `
  SELECT HEX(request_hash) AS request_hash, status, response FROM idempotency_keys
  WHERE customer_id = ? AND idempotency_key = ?`;

const KEEP_RESPONSE = `
  UPDATE idempotency_keys SET status = ?, response = ? WHERE customer_id = ? AND idempotency_key = ?`;

const RELEASE_KEY = 'DELETE FROM idempotency_keys WHERE customer_id = ? AND idempotency_key = ?';

/** customer_id of the requests of operators that are about no customer. */
const NO_CUSTOMER = '0';

interface StoredRequest {
  request_hash: string;
  /** null: the request has no response yet. Only successes are stored. */
  status: 200 | 202 | null;
  response: string | null;
}

/**
 * Creates a function that carries out a POST with an Idempotency-Key once. A repeated request gets the stored response. Only successes
 * are stored. Their secrets are not stored, and are null in a repeated response. After an error, the same request may be sent again. A
 * route calls the function after it has checked the API key's scope.
 */
export const createCarryOutOnce =
  ({ database, secrets: box }: Pick<Runtime, 'database' | 'secrets'>): CarryOutOnce =>
  async (c, next, secrets = []) => {
    const key = readIdempotencyKey(c);
    if (key === null) return void (await next());
    const customerId = customerOf(c) ?? NO_CUSTOMER;
    const { pathname, search } = new URL(c.req.url);
    const body = await readBytes(c, RESOURCE_BYTES);
    const hash = createHash('sha256').update(`${pathname}${search}\n`).update(body).digest();

    await database.query(RELEASE_STALE_KEY, [customerId, key]);
    const reserved = await database.query<WriteResult>(RESERVE_KEY, [customerId, key, hash]);
    if (reserved.affectedRows === 0) {
      const earlier = await readRequest(database, customerId, key);
      if (earlier === undefined) throw requestInProgress();
      if (earlier.request_hash !== hash.toString('hex').toUpperCase()) throw keyReused();
      if (earlier.status === null || earlier.response === null) throw requestInProgress();
      const response = box.open(earlier.response, SEALED.idempotentResponse(customerId, key));
      return c.body(response, earlier.status, {
        'Content-Type': 'application/json',
        'Cache-Control': 'no-store',
      });
    }

    await next();
    if (c.res.ok) {
      const text = withoutSecrets(await c.res.clone().text(), secrets);
      const response = box.seal(text, SEALED.idempotentResponse(customerId, key));
      await database.query(KEEP_RESPONSE, [c.res.status, response, customerId, key]);
    } else {
      await giveBack(database, RELEASE_KEY, [customerId, key]);
    }
    return undefined;
  };

/** A JSON text in which the members at these paths, such as `webhook.secret`, are null if they are there. */
export function withoutSecrets(text: string, paths: readonly string[]): string {
  if (paths.length === 0) return text;
  const body: unknown = JSON.parse(text);
  for (const path of paths) hide(body, path.split('.'));
  return JSON.stringify(body);
}

/** Makes a member null. A path leads into each item of a list. */
function hide(value: unknown, [name, ...names]: readonly string[]): void {
  if (Array.isArray(value)) for (const item of value) hide(item, [name ?? '', ...names]);
  else if (typeof value === 'object' && value !== null && name !== undefined && name in value) {
    const parent = value as Record<string, unknown>;
    if (names.length === 0) parent[name] = null;
    else hide(parent[name], names);
  }
}

async function readRequest(sql: Sql, customerId: string, key: string): Promise<StoredRequest | undefined> {
  const [request] = await sql.query<StoredRequest[]>(READ_KEY, [customerId, key]);
  return request;
}
