import type { DataSource } from 'typeorm';
import type { StatementFormat } from '../../packages/statements/src/formats.ts';
import { isDuplicate, isErrno } from '../database/errors.ts';
import { giveBack, inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import {
  beginHash,
  compareBody,
  type EarlierUpload,
  findEarlierUpload,
  findKey,
} from '../ledger/earlier-uploads.ts';
import type { Unidentified } from '../ledger/movement.ts';
import { SENDER_COLUMNS, type Sender, senderValues } from '../ledger/sender.ts';
import { cutIntoParts } from './importer/parts.ts';

const MIB = 1024 * 1024;

/** Largest JSON import, in bytes. It is checked as a whole. */
export const JSON_IMPORT_BYTES = 32 * MIB;
/** Largest NDJSON import, in bytes. It is staged in parts as it arrives, so memory use does not depend on this limit. */
export const NDJSON_IMPORT_BYTES = 1024 * MIB;

/** The formats that consist of movements, by the name that is stored in `imports.format`. */
export type FormatName = 'json' | 'ndjson';

export const isFormatName = (name: string): name is FormatName => name === 'json' || name === 'ndjson';

/** How often an upload in progress renews its import's `received_at`, in milliseconds. */
const HEARTBEAT_EVERY = 3_000;

export interface Upload {
  customerId: string;
  sender: Sender;
  format: FormatName | StatementFormat | 'auto';
  /** How a statement file is to be read. */
  statement?: StatementOptions;
  /** Default: `known`. */
  unidentified?: Unidentified;
  /** Number of rows in the body, if they have been counted. */
  received: number | null;
  idempotencyKey: string | null;
  /** The span that stages it; `undefined` while traces are off. */
  traceparent?: string | undefined;
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export interface StatementOptions {
  /** The account of all statements in the file; null: each statement says which. */
  accountId: string | null;
  /** The profile of a CSV or XLSX file; null: the one whose heading the file has. */
  profile: string | null;
  /** Whether accounts that the customer does not have are created. */
  createAccounts: boolean;
  /** Whether statements that name another account than `accountId` are stored for it all the same. */
  forceAccount: boolean;
}

export const NO_OPTIONS: StatementOptions = {
  accountId: null,
  profile: null,
  createAccounts: false,
  forceAccount: false,
};

export type Staged =
  | { outcome: 'staged'; importId: string }
  | { outcome: 'api key deleted' | 'dropped' }
  | EarlierUpload;

const ER_NO_REFERENCED_ROW_2 = 1452;
/** The error numbers for a failed CHECK in MySQL and in MariaDB. */
const ER_CHECK_CONSTRAINT_VIOLATED = 3819;
const ER_CONSTRAINT_FAILED = 4025;

/** The import was dropped while its body was still being received. */
class UploadDroppedError extends Error {
  override name = 'UploadDroppedError';
}

/** The API key was deleted after the request was authenticated, or the source after its run began. */
class ApiKeyDeletedError extends Error {
  override name = 'ApiKeyDeletedError';
}

/**
 * With a hash, the body is complete and the import is queued. Without one, the body is still to be received. Locks the API key or
 * the source until the import is committed. Deleting a key takes the same lock, and is refused while the key has an unfinished
 * import. If the import's key or source is gone, the CHECK of the table fails, because an import needs a sender.
 */
const OPEN = `
  INSERT INTO imports (customer_id, ${SENDER_COLUMNS}, format, account_id, profile, create_accounts, force_account, unidentified, received,
    idempotency_key, traceparent, body_hash, status)
  VALUES (?, (SELECT id FROM api_keys WHERE id = ? LOCK IN SHARE MODE),
    (SELECT id FROM sources WHERE id = ? AND status <> 'deleted' LOCK IN SHARE MODE), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, UNHEX(?),
    IF(body_hash IS NULL, 'receiving', 'queued'))`;
const ADD_PART = 'INSERT INTO import_parts (import_id, seq, bytes) VALUES (?, ?, ?)';
/** While the body is being received, `received_at` is the heartbeat of the upload. */
const HEARTBEAT = `UPDATE imports SET received_at = NOW(6) WHERE id = ? AND status = 'receiving'`;
const CLOSE = `
  UPDATE imports SET status = 'queued', body_hash = UNHEX(?), received_at = NOW(6) WHERE id = ? AND status = 'receiving'`;

/**
 * Stages an import: stores its bytes in MySQL. When this resolves to `staged`, the bytes are committed and the import's status is
 * `queued`. The import will be stored even if Redis never gets a job for it.
 *
 * A body of one part is stored in one transaction. A longer body is stored part by part, so that memory use stays flat. Until all
 * parts are stored, the import is `receiving` and no importer reads it. A body that breaks off leaves nothing behind.
 *
 * Idempotency keys follow draft-ietf-httpapi-idempotency-key-header. `key reused`: the key came before with another body or other parameters. `in
 * progress`: the first request with the key is still being received.
 *
 * `api key deleted`: the API key or the source was deleted while the body was being received, and nothing is kept. `dropped`: the upload had no
 * heartbeat for so long that it was dropped as dead. Nothing is kept, and it may be sent again.
 */
export async function stageImport(database: DataSource, upload: Upload): Promise<Staged> {
  const { customerId, idempotencyKey } = upload;
  const earlier = idempotencyKey === null ? null : await findEarlierUpload(database, idempotencyKey, upload);
  if (earlier !== null) return earlier;

  const parts = cutIntoParts(upload.body);
  const first = await parts.next();
  const second = first.done ? first : await parts.next();
  try {
    if (second.done) return await stageWhole(database, upload, first.done ? Buffer.alloc(0) : first.value);
    return await stageParts(database, upload, [first.value as Buffer, second.value], parts);
  } catch (error) {
    if (error instanceof ApiKeyDeletedError) return { outcome: 'api key deleted' };
    if (error instanceof UploadDroppedError) return { outcome: 'dropped' };
    if (idempotencyKey === null || !isDuplicate(error)) throw error;
    // Another request with the same key came first.
    const other = await findKey(database, customerId, idempotencyKey);
    if (other === undefined || other.status === 'receiving' || !second.done)
      return { outcome: 'in progress' };
    const hash = beginHash(upload).update(first.done ? '' : first.value);
    return compareBody(other, hash.digest('hex'));
  }
}

function stageWhole(database: DataSource, upload: Upload, body: Buffer): Promise<Staged> {
  return inTransaction(database, async (sql) => {
    const importId = await openImport(sql, upload, beginHash(upload).update(body).digest('hex'));
    await sql.query(ADD_PART, [importId, 0, body]);
    return { outcome: 'staged', importId };
  });
}

async function stageParts(
  database: DataSource,
  upload: Upload,
  head: Buffer[],
  tail: AsyncIterable<Buffer>,
): Promise<Staged> {
  const importId = await inTransaction(database, (sql) => openImport(sql, upload, null));
  const stopHeartbeat = keepAlive(database, importId);
  try {
    const hash = beginHash(upload);
    let seq = 0;
    const add = async (part: Buffer) => {
      hash.update(part);
      await database.query(ADD_PART, [importId, seq, part]);
      seq += 1;
    };
    for (const part of head) await add(part);
    for await (const part of tail) await add(part);
    const { affectedRows } = await database.query<WriteResult>(CLOSE, [hash.digest('hex'), importId]);
    if (affectedRows === 0) throw new UploadDroppedError('the import was dropped');
    return { outcome: 'staged', importId };
  } catch (error) {
    // The import of this part no longer exists.
    if (isErrno(error, ER_NO_REFERENCED_ROW_2)) throw new UploadDroppedError('the import was dropped');
    // Only while it is `receiving`: if the response to CLOSE was lost, the import may be queued already.
    await giveBack(database, `DELETE FROM imports WHERE id = ? AND status = 'receiving'`, [importId]);
    throw error;
  } finally {
    stopHeartbeat();
  }
}

/** Renews the heartbeat of an upload, even if its client sends slowly. @returns a function that stops this. */
function keepAlive(database: DataSource, importId: string): () => void {
  let renewing = false;
  const timer = setInterval(async () => {
    // While MySQL hangs, only one statement waits, instead of a new one every 3 s.
    if (renewing) return;
    renewing = true;
    // If one fails, the next one renews the heartbeat.
    await database.query(HEARTBEAT, [importId]).catch(() => {});
    renewing = false;
  }, HEARTBEAT_EVERY);
  return () => clearInterval(timer);
}

/**
 * Inserts an import. With its hash it is `queued`. Without, it is `receiving`.
 * @returns its id.
 * @throws {ApiKeyDeletedError} when its API key or source no longer exists.
 */
async function openImport(sql: Sql, upload: Omit<Upload, 'body'>, bodyHash: string | null): Promise<string> {
  const { customerId, sender, format, statement = NO_OPTIONS, received } = upload;
  const { accountId, profile, createAccounts, forceAccount } = statement;
  const values = [
    customerId,
    ...senderValues(sender),
    format,
    accountId,
    profile,
    createAccounts,
    forceAccount,
    upload.unidentified ?? 'known',
    received,
    upload.idempotencyKey,
    upload.traceparent ?? null,
    bodyHash,
  ];
  try {
    const { insertId } = await sql.query<WriteResult>(OPEN, values);
    return String(insertId);
  } catch (error) {
    if (isErrno(error, ER_CHECK_CONSTRAINT_VIOLATED) || isErrno(error, ER_CONSTRAINT_FAILED))
      throw new ApiKeyDeletedError('the API key has been deleted');
    throw error;
  }
}
