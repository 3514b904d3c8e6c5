import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { type FanOut, fanOut, type NewMovements } from './fan-out.ts';
import type { Fault, Movement } from './movement.ts';

/** A part of an import that is stored as one: all of it, or nothing. */
export interface Chunk {
  importId: string;
  /** Rows of the import worked off before this chunk, and with it. */
  from: number;
  to: number;
  /** Nothing follows: the import is done with it. */
  last: boolean;
  movements: { uniqueId: string; movement: Movement }[];
  faults: (Fault & { line: number })[];
  rejected: number;
}

/** Another worker moved the checkpoint meanwhile: this one's lock on the job was lost, and it must let go. */
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
const MOVE_CHECKPOINT = `
  UPDATE imports SET checkpoint = ?, crash_count = 0, inserted = inserted + ?, duplicates = duplicates + ?, rejected = rejected + ?,
    deliveries = deliveries + ?, started_at = COALESCE(started_at, NOW(6) - INTERVAL ? MICROSECOND),
    status = IF(?, 'done', 'running'), received = IF(status = 'done', checkpoint, received),
    finished_at = IF(status = 'done', NOW(6), NULL)
  WHERE id = ? AND checkpoint = ? AND status IN ('queued', 'running')`;

const DROP_PIECES = 'DELETE FROM import_pieces WHERE import_id = ?';

/** `id = id` changes nothing in a movement that is known. Never IGNORE: it would store 'abc' as 0.00. */
const INSERT_MOVEMENTS = `
  INSERT INTO transactions (customer_id, account_id, import_id, unique_id, name, dc, code, amount, balance, description,
    date_issue, date_readed, opponent_id, opponent_iban)
  VALUES ? ON DUPLICATE KEY UPDATE id = id`;

/** What was new of the chunks. Not forced, MariaDB walks through all of the customer's movements in that index. */
const NEW_MOVEMENTS = `
  SELECT import_id, account_id, dc, COUNT(*) AS movements FROM transactions FORCE INDEX (transactions_customer_page)
  WHERE customer_id = ? AND id > ? GROUP BY import_id, account_id, dc`;

/** Nobody else stores movements of the customer meanwhile: the newest is of these chunks. Index: transactions_customer_page. */
const ADVANCE_LOCK = `
  UPDATE import_locks SET last_date_readed = ?, movements = movements + ?,
    last_transaction_id = (SELECT MAX(id) FROM transactions WHERE customer_id = ?)
  WHERE customer_id = ?`;

/**
 * All accounts of the chunks were worked on; those to which they added movements were updated. The balance is that of the newest
 * movement that has one; it is looked for only where a chunk brought one, since the search would else walk through all
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
 * Stores a chunk of a staged import in one transaction, and drops the staged bytes with the last one. Repeating a chunk after
 * a crash is harmless: either the checkpoint has moved, or nothing was stored.
 * @param runningFor milliseconds since the run began, for the import's `started_at`.
 * @returns the webhooks that are now owed something.
 * @throws {ImportTakenOverError} when the checkpoint is not where this chunk begins.
 */
export function storeChunk(
  database: DataSource,
  customerId: string,
  chunk: Chunk,
  runningFor = 0,
): Promise<string[]> {
  return inTransaction(database, async (sql) => {
    const webhookIds = await storeChunks(sql, customerId, [chunk], runningFor);
    if (chunk.last) await sql.query(DROP_PIECES, [chunk.importId]);
    return webhookIds;
  });
}

/**
 * Stores chunks of different imports of one customer: the new movements, what is owed for them, and the imports' checkpoints.
 * @param sql a transaction.
 * @param runningFor milliseconds since the runs began.
 * @returns the webhooks that are now owed something.
 * @throws {ImportTakenOverError} when a checkpoint is not where its chunk begins.
 */
export async function storeChunks(
  sql: Sql,
  customerId: string,
  chunks: readonly Chunk[],
  runningFor = 0,
): Promise<string[]> {
  const { inserted, deliveries, webhookIds } = chunks.some(({ movements }) => movements.length > 0)
    ? await storeMovements(sql, customerId, chunks)
    : NOTHING_STORED;
  const faults = chunks.flatMap(({ importId, faults }) =>
    faults.map(({ line, path, message }) => [importId, line, path.slice(0, 100), message]),
  );
  if (faults.length > 0) await sql.query(INSERT_FAULTS, [faults]);
  for (const { importId, from, to, last, movements, rejected } of chunks) {
    const added = inserted.get(importId) ?? 0;
    const moved = await sql.query<WriteResult>(MOVE_CHECKPOINT, [
      to,
      added,
      movements.length - added,
      rejected,
      deliveries.get(importId) ?? 0,
      Math.round(runningFor * 1_000),
      last,
      importId,
      from,
    ]);
    if (moved.affectedRows !== 1) {
      throw new ImportTakenOverError(`import ${importId} is being worked on elsewhere`);
    }
  }
  return webhookIds;
}

/** What became of movements, with their number by import. */
interface StoredMovements extends FanOut {
  inserted: ReadonlyMap<string, number>;
}

const NOTHING_STORED: StoredMovements = { inserted: new Map(), deliveries: new Map(), webhookIds: [] };

async function storeMovements(
  sql: Sql,
  customerId: string,
  chunks: readonly Chunk[],
): Promise<StoredMovements> {
  const [lock] = await sql.query<{ last_transaction_id: string; date_readed: string }[]>(LOCK, [customerId]);
  if (lock === undefined) throw new Error(`customer ${customerId} has no row in import_locks`);
  const { last_transaction_id: after, date_readed: dateReaded } = lock;

  const rows = chunks.flatMap(({ importId, movements }) =>
    movements.map(({ uniqueId, movement: m }) => [
      customerId,
      m.account_id,
      importId,
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
    ]),
  );
  const { affectedRows } = await sql.query<WriteResult>(INSERT_MOVEMENTS, [rows]);
  const added = await countAdded(sql, customerId, after, chunks, affectedRows);
  const movements = chunks.flatMap((chunk) => chunk.movements.map(({ movement }) => movement));
  const updated = accountsOf(added);
  const withBalance = accountsOf(movements.filter(({ balance }) => balance !== null)).filter((id) =>
    updated.includes(id),
  );
  await sql.query(UPDATE_ACCOUNTS, [dateReaded, orNone(updated), orNone(withBalance), accountsOf(movements)]);
  if (added.length === 0) return NOTHING_STORED;

  const fanned = await fanOut(sql, customerId, after, added);
  await sql.query(ADVANCE_LOCK, [dateReaded, affectedRows, customerId, customerId]);
  const inserted = new Map<string, number>();
  for (const { import_id, movements } of added) {
    inserted.set(import_id, (inserted.get(import_id) ?? 0) + movements);
  }
  return { ...fanned, inserted };
}

/** Where all are new, or none is, MySQL is not asked: it would read each row again. */
async function countAdded(
  sql: Sql,
  customerId: string,
  after: string,
  chunks: readonly Chunk[],
  inserted: number,
): Promise<NewMovements[]> {
  if (inserted === 0) return [];
  if (inserted === chunks.reduce((sum, { movements }) => sum + movements.length, 0)) return countAll(chunks);
  const added = await sql.query<NewMovements[]>(NEW_MOVEMENTS, [customerId, after]);
  return added.map((it) => ({ ...it, movements: Number(it.movements) }));
}

function countAll(chunks: readonly Chunk[]): NewMovements[] {
  const counts = new Map<string, NewMovements>();
  for (const { importId, movements } of chunks) {
    for (const { movement } of movements) {
      const { account_id, dc } = movement;
      const key = `${importId} ${account_id} ${dc}`;
      const before = counts.get(key)?.movements ?? 0;
      counts.set(key, { import_id: importId, account_id, dc, movements: before + 1 });
    }
  }
  return [...counts.values()];
}

/** `IN ()` is no SQL; nothing equals NULL. */
const orNone = (ids: readonly string[]) => (ids.length === 0 ? [null] : ids);

const accountsOf = (movements: readonly { account_id: string }[]) => [
  ...new Set(movements.map(({ account_id }) => account_id)),
];
