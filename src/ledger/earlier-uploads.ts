import { createHash, type Hash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { KEY_HOURS } from '../platform/idempotency-key.ts';
import type { Unidentified } from './movement.ts';

/** Finds the earlier upload with an Idempotency-Key, and drops uploads whose process has ended. */

/**
 * An upload without a heartbeat for five times as long has lost its process. The client has not received a 202, so the upload can
 * be dropped. Both times are from MySQL's clock.
 */
const UPLOAD_IS_DEAD = `(status = 'receiving' AND received_at < NOW(6) - INTERVAL 15 SECOND)`;

const FIND = `SELECT id FROM imports WHERE ${UPLOAD_IS_DEAD} ORDER BY id LIMIT 1000`;
/** Checks again under the row lock, because the heartbeat may have been renewed since FIND. */
const DROP = `DELETE FROM imports WHERE id = ? AND ${UPLOAD_IS_DEAD}`;

/** Drops an upload with its parts, and frees its Idempotency-Key. @returns false when it is not dead or no longer exists. */
function dropUpload(database: DataSource, importId: string): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    const { affectedRows } = await sql.query<WriteResult>(DROP, [importId]);
    return affectedRows === 1;
  });
}

/**
 * Drops dead uploads, at most 1,000 per call. Finds them without a lock and drops them one by one, so that uploads in progress do
 * not wait.
 * @returns the number of dropped uploads.
 */
export async function dropDeadUploads(database: DataSource): Promise<number> {
  let dropped = 0;
  for (const { id } of await database.query<{ id: string }[]>(FIND)) {
    if (await dropUpload(database, id)) dropped += 1;
  }
  return dropped;
}

/** An upload, as far as its Idempotency-Key matters. */
interface KeyedUpload {
  customerId: string;
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  format: string;
  unidentified?: Unidentified;
  /** How a statement file is to be read. */
  statement?: object;
}

/**
 * Begins the hash by which a repeated upload is recognised. The parameters that decide what is stored belong to it: the same bytes for another
 * account are another upload.
 */
export const beginHash = ({
  format,
  unidentified = 'known',
  statement,
}: Pick<KeyedUpload, 'format' | 'unidentified' | 'statement'>): Hash =>
  createHash('sha256').update(`${JSON.stringify([format, unidentified, statement ?? null])}\n`);

/** The outcome for an Idempotency-Key in use. `replayed`: this import came with the same key, parameters and body before. */
export type EarlierUpload =
  | { outcome: 'replayed'; importId: string }
  | { outcome: 'in progress' | 'key reused' };

/** Frees a key that no longer counts. */
const EXPIRE_KEY = `
  UPDATE imports SET idempotency_key = NULL
  WHERE customer_id = ? AND idempotency_key = ? AND received_at < NOW(6) - INTERVAL ${KEY_HOURS} HOUR`;
const FIND_KEY = `
  SELECT id, status, HEX(body_hash) AS body_hash, ${UPLOAD_IS_DEAD} AS is_dead FROM imports
  WHERE customer_id = ? AND idempotency_key = ?`;
/**
 * Looks up the Idempotency-Key of an upload. Reads the body only to compare it with that of an earlier import.
 * @returns null when the key is free.
 */
export async function findEarlierUpload(
  database: DataSource,
  idempotencyKey: string,
  upload: KeyedUpload,
): Promise<EarlierUpload | null> {
  const { customerId, body } = upload;
  await database.query(EXPIRE_KEY, [customerId, idempotencyKey]);
  const earlier = await findKey(database, customerId, idempotencyKey);
  if (earlier === undefined) return null;
  if (Number(earlier.is_dead) === 1 && (await dropUpload(database, earlier.id))) return null;
  if (earlier.status === 'receiving') return { outcome: 'in progress' };
  const hash = beginHash(upload);
  for await (const part of body) hash.update(part);
  return compareBody(earlier, hash.digest('hex'));
}

interface KeyHolder {
  id: string;
  status: string;
  body_hash: string | null;
  is_dead: number;
}

export async function findKey(sql: Sql, customerId: string, key: string): Promise<KeyHolder | undefined> {
  const [holder] = await sql.query<KeyHolder[]>(FIND_KEY, [customerId, key]);
  return holder;
}

export function compareBody({ id, body_hash }: KeyHolder, hash: string): EarlierUpload {
  return body_hash?.toLowerCase() === hash
    ? { outcome: 'replayed', importId: id }
    : { outcome: 'key reused' };
}
