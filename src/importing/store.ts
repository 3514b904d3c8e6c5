import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { type FanOut, fanOut } from './fan-out.ts';
import type { Fault, Movement } from './movement.ts';

/** A part of an import that is stored as one: all of it, or nothing. */
export interface Chunk {
  importId: string;
  customerId: string;
  /** Rows of the import worked off before this chunk, and with it. */
  from: number;
  to: number;
  /** Nothing follows: the import is done with it, and its staged bytes are dropped. */
  last: boolean;
  movements: { uniqueId: string; movement: Movement }[];
  faults: (Fault & { line: number })[];
  rejected: number;
}

/** Another worker moved the bookmark meanwhile: this one's lock on the job was lost, and it must let go. */
export class ImportTakenOverError extends Error {
  override name = 'ImportTakenOverError';
}

/**
 * Serialises the imports of one customer, so that ids and date_readed grow in the order of commits. SYSDATE is the moment at
 * which the lock was had; NOW would be the one at which the waiting for it began, and a poller that asks by its own clock
 * would have passed it by.
 */
const LOCK = `
  SELECT last_transaction_id, DATE_FORMAT(GREATEST(SYSDATE(6), last_date_readed), '%Y-%m-%d %H:%i:%s.%f') AS date_readed
  FROM import_locks WHERE customer_id = ? FOR UPDATE`;

/** The import's first statement that writes: until its first chunk is stored it counts as queued. */
const MOVE_BOOKMARK = `
  UPDATE imports SET bookmark = ?, tries = 0, inserted = inserted + ?, duplicates = duplicates + ?, rejected = rejected + ?,
    deliveries = deliveries + ?, started_at = COALESCE(started_at, NOW(6) - INTERVAL ? MICROSECOND),
    status = IF(?, 'done', 'running'), received = IF(status = 'done', bookmark, received),
    finished_at = IF(status = 'done', NOW(6), NULL)
  WHERE id = ? AND bookmark = ? AND status IN ('queued', 'running')`;

const DROP_PIECES = 'DELETE FROM import_pieces WHERE import_id = ?';

/** `id = id` changes nothing in a movement that is known. Never IGNORE: it would store 'abc' as 0.00. */
const INSERT_MOVEMENTS = `
  INSERT INTO transactions (customer_id, account_id, import_id, unique_id, name, dc, code, amount, balance, description,
    date_issue, date_readed, opponent_id, opponent_iban)
  VALUES ? ON DUPLICATE KEY UPDATE id = id`;

/** What the chunk added, by account and direction. Index: transactions_customer_page. */
const NEW_MOVEMENTS = `
  SELECT account_id, dc, MAX(id) AS last_id FROM transactions
  WHERE customer_id = ? AND id > ? GROUP BY account_id, dc`;

const ADVANCE_LOCK = `
  UPDATE import_locks SET last_transaction_id = ?, last_date_readed = ? WHERE customer_id = ?`;

/**
 * All accounts of the chunk were worked on; those to which it added movements were updated. The balance is that of the newest
 * movement that has one; it is looked for only where this chunk brought one, since the search would else walk through all
 * movements of an account whose bank sends none. Index: transactions_account_date.
 */
const UPDATE_ACCOUNTS = `
  UPDATE accounts a SET last_work = ?, last_update = IF(a.id IN (?), last_work, last_update),
    balance = IF(a.id IN (?), (
      SELECT t.balance FROM transactions t FORCE INDEX (transactions_account_date)
      WHERE t.account_id = a.id AND t.balance IS NOT NULL ORDER BY t.date_issue DESC, t.id DESC LIMIT 1), balance)
  WHERE a.id IN (?)`;

const INSERT_FAULTS =
  'INSERT INTO import_errors (import_id, line, path, message) VALUES ? ON DUPLICATE KEY UPDATE line = line';

/**
 * Stores a chunk in one transaction: the new movements, what is owed for them, and the import's bookmark. Repeating a
 * chunk after a crash is harmless: either the bookmark has moved, or nothing was stored.
 * @param runningFor milliseconds since the run began, for the import's `started_at`.
 * @throws {ImportTakenOverError} when the bookmark is not where this chunk begins.
 */
export function storeChunk(
  database: DataSource,
  chunk: Chunk,
  runningFor = 0,
): Promise<FanOut & { inserted: number }> {
  return inTransaction(database, async (sql) => {
    const { fanned, inserted } =
      chunk.movements.length === 0 ? NOTHING_STORED : await storeMovements(sql, chunk);
    if (chunk.faults.length > 0) {
      await sql.query(INSERT_FAULTS, [
        chunk.faults.map(({ line, path, message }) => [chunk.importId, line, path.slice(0, 100), message]),
      ]);
    }
    const moved = await sql.query<WriteResult>(MOVE_BOOKMARK, [
      chunk.to,
      inserted,
      chunk.movements.length - inserted,
      chunk.rejected,
      fanned.deliveries,
      Math.round(runningFor * 1_000),
      chunk.last,
      chunk.importId,
      chunk.from,
    ]);
    if (moved.affectedRows !== 1) {
      throw new ImportTakenOverError(`import ${chunk.importId} is being worked on elsewhere`);
    }
    if (chunk.last) await sql.query(DROP_PIECES, [chunk.importId]);
    return { ...fanned, inserted };
  });
}

const NOTHING_STORED = { fanned: { deliveries: 0, webhookIds: [] }, inserted: 0 };

async function storeMovements(sql: Sql, chunk: Chunk) {
  const [lock] = await sql.query<{ last_transaction_id: string; date_readed: string }[]>(LOCK, [
    chunk.customerId,
  ]);
  if (lock === undefined) throw new Error(`customer ${chunk.customerId} has no row in import_locks`);
  const { last_transaction_id: after, date_readed: dateReaded } = lock;

  const rows = chunk.movements.map(({ uniqueId, movement: m }) => [
    chunk.customerId,
    m.account_id,
    chunk.importId,
    uniqueId,
    m.name,
    m.dc,
    m.code,
    m.amount,
    m.balance,
    m.description,
    m.date_issue,
    dateReaded,
    m.opponent_id,
    m.opponent_iban,
  ]);
  const { affectedRows: inserted } = await sql.query<WriteResult>(INSERT_MOVEMENTS, [rows]);
  const added =
    inserted === 0
      ? []
      : await sql.query<{ account_id: string; dc: 'Debit' | 'Credit'; last_id: string }[]>(NEW_MOVEMENTS, [
          chunk.customerId,
          after,
        ]);
  const updated = [...new Set(added.map(({ account_id }) => account_id))];
  const withBalance = accountsOf(chunk.movements.filter(({ movement }) => movement.balance !== null)).filter(
    (id) => updated.includes(id),
  );
  await sql.query(UPDATE_ACCOUNTS, [
    dateReaded,
    orNone(updated),
    orNone(withBalance),
    accountsOf(chunk.movements),
  ]);
  if (inserted === 0) return NOTHING_STORED;

  const fanned = await fanOut(sql, chunk.customerId, after, added);
  const newest = added.map(({ last_id }) => BigInt(last_id)).reduce((a, b) => (a > b ? a : b));
  await sql.query(ADVANCE_LOCK, [String(newest), dateReaded, chunk.customerId]);
  return { fanned, inserted };
}

/** `IN ()` is no SQL; nothing equals NULL. */
const orNone = (ids: readonly string[]) => (ids.length === 0 ? [null] : ids);

const accountsOf = (movements: Chunk['movements']) => [
  ...new Set(movements.map(({ movement }) => movement.account_id)),
];
