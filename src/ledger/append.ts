import { derivedRows, type Sql, type WriteResult } from '../database/transaction.ts';
import { type ConflictingRow, conflictId, keepConflicts, markStored } from './conflicts.ts';
import { type FindStored, type IdentifiedRow, readStored } from './known-movements.ts';
import { advanceBacklogs, type Matcher, type Matches, type MovementCount } from './matching.ts';
import type { Movement } from './movement.ts';
import { comparedOf, compareWith, conflictingRow, knownRow, type RowFate } from './row-fate.ts';

/** Movements of one import, to be stored in one transaction. */
export interface Batch {
  customerId: string;
  importId: string;
  movements: readonly IdentifiedRow[];
}

/** A row that is not simply new, with the movement that it was taken for or stored as. */
export interface ListedRow extends RowFate {
  importId: string;
  line: number;
  transactionId: string;
}

/** The result of storing batches. */
export interface Stored {
  /** The rows that are not simply new. */
  listed: readonly ListedRow[];
  /** Number of deliveries by import. */
  deliveries: ReadonlyMap<string, number>;
  /** The webhooks to wake after the commit. */
  webhookIds: string[];
}

/**
 * `unique_id = unique_id` leaves a known movement unchanged. MySQL refuses `id = id` when one statement contains the same movement
 * twice. Do not use INSERT IGNORE: it would store 'abc' as 0.00.
 */
const INSERT_MOVEMENTS = `
  /* INSERT_MOVEMENTS */ INSERT INTO transactions (customer_id, account_id, import_id, unique_id, name, dc, code, amount, balance, description,
    date_issue, date_readed, opponent_id, opponent_iban)
  VALUES ? ON DUPLICATE KEY UPDATE unique_id = unique_id`;

/** Without FORCE INDEX, MariaDB reads all of the customer's movements in that index. */
const COUNT_NEW_MOVEMENTS = `
  /* COUNT_NEW_MOVEMENTS */ SELECT customer_id AS customerId, import_id AS importId, account_id AS accountId, dc, COUNT(*) AS movements
  FROM transactions FORCE INDEX (transactions_customer_page)
  WHERE customer_id = ? AND id > ? GROUP BY customer_id, import_id, account_id, dc`;

/**
 * The balance of an account `a`: that of its newest movement with a balance. Index: transactions_account_date, all of whose columns are
 * named, so that MySQL does not sort.
 */
export const NEWEST_BALANCE = `(
  SELECT t.balance FROM transactions t FORCE INDEX (transactions_account_date)
  WHERE t.account_id = a.id AND t.balance IS NOT NULL ORDER BY t.account_id DESC, t.date_issue DESC, t.id DESC LIMIT 1)`;

/**
 * Sets last_work of all these accounts, and last_update of accounts with new movements. The balance is that of the newest movement
 * with a balance. It is only searched if a new movement has one, because without balances the search would read all movements of
 * the account. STRAIGHT_JOIN and
 * FORCE INDEX keep MySQL from scanning a small table, where it would wait for the rows of other customers.
 */
const UPDATE_ACCOUNTS = `
  /* UPDATE_ACCOUNTS */ UPDATE accounts a FORCE INDEX (PRIMARY) STRAIGHT_JOIN import_locks l FORCE INDEX (PRIMARY) ON l.customer_id = a.customer_id
  SET a.last_work = IF(a.id IN (?), l.last_date_readed, GREATEST(l.last_date_readed, NOW(6))),
    a.last_update = IF(a.id IN (?), l.last_date_readed, a.last_update),
    a.balance = IF(a.id IN (?), ${NEWEST_BALANCE}, a.balance)
  WHERE a.id IN (?)`;

export const NOTHING_STORED: Stored = {
  listed: [],
  deliveries: new Map(),
  webhookIds: [],
};

/** A row with its import. */
type BatchRow = IdentifiedRow & Pick<Batch, 'customerId' | 'importId'>;

/**
 * Stores the movements of several imports, of any number of customers. Inserts new movements, and updates import locks, accounts
 * and webhook backlogs.
 * @param sql a transaction that holds `locks`.
 * @param options.expected the matches of the batches as if all their movements were new, if the caller has found them already.
 * @param options.areKnown most movements are probably known. Reading them first is faster than inserting them again.
 */
export async function storeBatches(
  sql: Sql,
  matcher: Matcher,
  locks: ReadonlyMap<string, ImportLock>,
  batches: readonly Batch[],
  { expected, areKnown = false }: { expected?: Matches; areKnown?: boolean } = {},
): Promise<Stored> {
  const rows = batches.flatMap(({ customerId, importId, movements }) =>
    movements.map((row): BatchRow => ({ ...row, customerId, importId })),
  );
  if (rows.length === 0) return NOTHING_STORED;
  const findBefore = areKnown ? await readStored(sql, rows) : null;
  const missing = findBefore === null ? rows : rows.filter((row) => findBefore(row) === undefined);
  const affectedRows = await insertMovements(sql, locks, missing);
  const areAllNew = affectedRows === rows.length;
  const { listed, inserted } = areAllNew
    ? { listed: [], inserted: 0 }
    : await handleKnown(sql, locks, rows, affectedRows === missing.length ? findBefore : null);
  const added = areAllNew ? countAll(batches) : await countNew(sql, locks, affectedRows + inserted);
  if (added.length > 0)
    await advanceLocks(
      sql,
      locks,
      sumBy(added, ({ customerId }) => customerId),
    );
  await updateAccounts(
    sql,
    rows.map(({ movement }) => movement),
    added,
  );
  if (added.length === 0) return { ...NOTHING_STORED, listed };

  const matches = areAllNew && expected !== undefined ? expected : await matcher.match(sql, locks, added);
  await advanceBacklogs(sql, matches);
  return {
    listed,
    deliveries: matches.deliveries,
    webhookIds: [...matches.webhooks.keys()],
  };
}

/** @returns how many were new. */
async function insertMovements(
  sql: Sql,
  locks: ReadonlyMap<string, ImportLock>,
  rows: readonly BatchRow[],
): Promise<number> {
  if (rows.length === 0) return 0;
  const values = rows.map(({ customerId, importId, uniqueId, movement: m }) => [
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
    dateReadedOf(locks, customerId),
    m.opponent_id,
    m.opponent_iban,
  ]);
  return (await sql.query<WriteResult>(INSERT_MOVEMENTS, [values])).affectedRows;
}

function dateReadedOf(locks: ReadonlyMap<string, ImportLock>, customerId: string): string {
  const lock = locks.get(customerId);
  if (lock === undefined) throw new Error(`customer ${customerId} has no row in import_locks`);
  return lock.dateReaded;
}

/**
 * Finds the rows whose movements were known, and keeps the conflicts.
 * @param findBefore finds all known movements, if they were read before the new ones were inserted.
 * @throws when a new row has the id of a movement.
 * @returns how many of the conflicts were stored under other ids.
 */
async function handleKnown(
  sql: Sql,
  locks: ReadonlyMap<string, ImportLock>,
  rows: readonly BatchRow[],
  findBefore: FindStored | null,
): Promise<{ listed: ListedRow[]; inserted: number }> {
  const findStored = findBefore ?? (await readStored(sql, rows));
  const seen = new Set<string>();
  const listed: ListedRow[] = [];
  const conflicts: (ConflictingRow & { at: number })[] = [];
  for (const row of rows) {
    const stored = findStored(row);
    if (stored === undefined && findBefore !== null) continue;
    if (stored === undefined) throw new Error('a movement that was just stored is missing');
    // Of several rows with a new id, the first was stored.
    const isFirst = !seen.has(stored.id);
    seen.add(stored.id);
    if (isFirst && BigInt(stored.id) > BigInt(locks.get(row.customerId)?.newest ?? 0)) continue;
    const { importId, line } = row;
    // The booking would be lost without a word.
    if (row.isNew)
      throw new Error(
        `import ${importId}: the new entry of line ${line} got the id of movement ${stored.id}, which is stored`,
      );
    const reason = compareWith(row, comparedOf(stored));
    if (reason === 'conflict') conflicts.push({ ...row, stored, at: listed.length });
    const fate = reason === 'conflict' ? conflictingRow({ outcome: 'held' }) : knownRow(reason);
    listed.push({ ...fate, importId, line, transactionId: stored.id });
  }
  if (conflicts.length === 0) return { listed, inserted: 0 };

  const decisions = await keepConflicts(sql, conflicts);
  const inserting: ConflictingRow[] = [];
  for (const [index, conflict] of conflicts.entries()) {
    const decision = decisions[index];
    if (decision === undefined) throw new Error('a conflict was not decided');
    const row = listed[conflict.at] as ListedRow;
    Object.assign(row, conflictingRow(decision));
    if (decision.outcome === 'known') row.transactionId = decision.transactionId;
    if (decision.outcome === 'new') inserting.push(conflict);
  }
  const others = inserting.map((row) => ({ ...row, uniqueId: conflictId(row.uniqueId, row.movement) }));
  const inserted = await insertMovements(sql, locks, others);
  for (const conflict of inserting) await markStored(sql, conflict);
  return { listed, inserted };
}

/** The fates of the rows of an import. */
export const fatesOf = (importId: string, { listed }: Stored): ListedRow[] =>
  listed.filter((it) => it.importId === importId);

/** The most rows that are listed for an import: known rows, and rows stored as an assumption. */
export const MOST_LISTED = 10_000;

const COUNT_LISTED_ROWS =
  '/* COUNT_LISTED_ROWS */ SELECT id, duplicates + conflicts + assumed_new AS listed FROM imports WHERE id IN (?)';
const LIST_KNOWN_ROWS =
  '/* LIST_KNOWN_ROWS */ INSERT INTO import_duplicates (import_id, line, reason, transaction_id) VALUES ?';

/** Lists rows with the movements that they were taken for or stored as. Called before the rows are counted. */
export async function listRows(sql: Sql, listed: readonly ListedRow[]): Promise<void> {
  if (listed.length === 0) return;
  const importIds = [...new Set(listed.map(({ importId }) => importId))];
  const counts = await sql.query<{ id: string; listed: string | number }[]>(COUNT_LISTED_ROWS, [importIds]);
  const rows = counts.flatMap(({ id, listed: before }) =>
    listed.filter(({ importId }) => importId === id).slice(0, Math.max(0, MOST_LISTED - Number(before))),
  );
  if (rows.length === 0) return;
  await sql.query(LIST_KNOWN_ROWS, [
    rows.map(({ importId, line, reason, transactionId }) => [importId, line, reason, transactionId]),
  ]);
}

/** Counts the movements that were inserted under these locks, by import, account and direction. */
async function countNew(
  sql: Sql,
  locks: ReadonlyMap<string, ImportLock>,
  inserted: number,
): Promise<MovementCount[]> {
  if (inserted === 0) return [];
  const statements = Array.from(locks, () => `(${COUNT_NEW_MOVEMENTS})`).join(' UNION ALL ');
  const values = [...locks].flatMap(([customerId, { newest }]) => [customerId, newest]);
  const counts = await sql.query<MovementCount[]>(statements, values);
  return counts.map((it) => ({ ...it, movements: Number(it.movements) }));
}

/** Counts the movements of batches by import, account and direction, as if all were new. */
export function countAll(batches: readonly Batch[]): MovementCount[] {
  const counts = new Map<string, MovementCount>();
  for (const { customerId, importId, movements } of batches) {
    for (const { movement } of movements) {
      const { account_id: accountId, dc } = movement;
      const key = `${importId} ${accountId} ${dc}`;
      const before = counts.get(key)?.movements ?? 0;
      counts.set(key, { customerId, importId, accountId, dc, movements: before + 1 });
    }
  }
  return [...counts.values()];
}

/** Updates the accounts of received movements. @param added the new ones among them. */
export async function updateAccounts(
  sql: Sql,
  movements: readonly Movement[],
  added: readonly MovementCount[],
): Promise<void> {
  const all = new Set(movements.map(({ account_id }) => account_id));
  const updated = new Set(added.map(({ accountId }) => accountId));
  const withBalance = new Set(
    movements.filter(({ balance }) => balance !== null).map(({ account_id }) => account_id),
  );
  const newBalance = [...updated].filter((id) => withBalance.has(id));
  await sql.query(UPDATE_ACCOUNTS, [orNone(updated), orNone(updated), orNone(newBalance), [...all]]);
}

/** `IN ()` is not valid SQL, and `IN (NULL)` matches nothing. */
const orNone = (ids: Iterable<string>) => {
  const list = [...ids];
  return list.length === 0 ? [null] : list;
};

function sumBy(
  counts: readonly MovementCount[],
  keyOf: (count: MovementCount) => string,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const count of counts) sums.set(keyOf(count), (sums.get(keyOf(count)) ?? 0) + count.movements);
  return sums;
}

/** A customer's row in import_locks, as it is while the row is locked. */
export interface ImportLock {
  /** The id of the customer's newest movement. Movements stored under this lock get larger ids. */
  newest: string;
  /** The `date_readed` of all movements stored under this lock. */
  dateReaded: string;
  /** Changes whenever one of the customer's webhooks starts to match something else. */
  filtersVersion: number;
  /** Changes whenever rows that were valid become invalid; see RemovedTime. */
  removals: number;
}

/**
 * Serialises the imports of a customer, so that ids and date_readed grow in commit order. SYSDATE is the time after the lock was
 * acquired. NOW is the time before the wait for the lock: with it, a client that polls with `after` set by its own clock could miss
 * movements. Locks in primary key order.
 */
const LOCK_CUSTOMERS = `
  /* LOCK_CUSTOMERS */ SELECT customer_id, last_transaction_id, filters_version, removals,
    DATE_FORMAT(GREATEST(SYSDATE(6), last_date_readed), '%Y-%m-%d %H:%i:%s.%f') AS date_readed
  FROM import_locks FORCE INDEX (PRIMARY) WHERE customer_id IN (?) ORDER BY customer_id FOR UPDATE`;

/**
 * A customer's newest movement is its last entry in the index transactions_customer_page, which is read backwards. STRAIGHT_JOIN: see
 * UPDATE_ACCOUNTS.
 */
const ADVANCE_CUSTOMERS = (customers: number) => `
  /* ADVANCE_CUSTOMERS */ UPDATE (${derivedRows(['customer_id', 'date_readed', 'added'], customers)}) r
  STRAIGHT_JOIN import_locks l FORCE INDEX (PRIMARY) ON l.customer_id = r.customer_id
  SET l.last_date_readed = r.date_readed, l.movements = l.movements + r.added,
    l.last_transaction_id = (
      SELECT t.id FROM transactions t FORCE INDEX (transactions_customer_page)
      WHERE t.customer_id = l.customer_id ORDER BY t.customer_id DESC, t.id DESC LIMIT 1)`;

/**
 * Locks customers until the transaction ends.
 * @param options.skipLocked leaves out customers that another transaction has locked, instead of waiting for them.
 * @returns the locks by customer id.
 */
export async function lockCustomers(
  sql: Sql,
  customerIds: readonly string[],
  { skipLocked = false } = {},
): Promise<Map<string, ImportLock>> {
  const rows = await sql.query<
    {
      customer_id: string;
      last_transaction_id: string;
      filters_version: number;
      removals: number;
      date_readed: string;
    }[]
  >(skipLocked ? `${LOCK_CUSTOMERS} SKIP LOCKED` : LOCK_CUSTOMERS, [customerIds]);
  return new Map(
    rows.map((row) => [
      row.customer_id,
      {
        newest: row.last_transaction_id,
        dateReaded: row.date_readed,
        filtersVersion: row.filters_version,
        removals: row.removals,
      },
    ]),
  );
}

/** Index: the primary key. */
const EXTEND_IMPORT =
  '/* EXTEND_IMPORT */ UPDATE imports SET first_readed = COALESCE(first_readed, ?), last_readed = ? WHERE id = ?';

/** Notes that a movement was stored for an import that had ended before. @param dateReaded of the movement. */
export const extendImport = (sql: Sql, importId: string, dateReaded: string | undefined): Promise<unknown> =>
  sql.query(EXTEND_IMPORT, [dateReaded, dateReaded, importId]);

/** Updates locked customers after their movements were stored. @param added the number of new movements by customer id. */
export async function advanceLocks(
  sql: Sql,
  locks: ReadonlyMap<string, ImportLock>,
  added: ReadonlyMap<string, number>,
): Promise<void> {
  const rows = [...added].map(([customerId, count]) => [
    customerId,
    locks.get(customerId)?.dateReaded,
    count,
  ]);
  await sql.query(ADVANCE_CUSTOMERS(rows.length), rows.flat());
}
