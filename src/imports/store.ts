import type { Sql, WriteResult } from '../platform/database/transaction.ts';
import { advanceLocks, type ImportLock } from './import-locks.ts';
import { advanceBacklogs, type Matcher, type Matches, type MovementCount } from './matching.ts';
import type { Movement } from './movement.ts';

/** Movements of one import, to be stored in one transaction. */
export interface Batch {
  customerId: string;
  importId: string;
  movements: readonly { uniqueId: string; movement: Movement }[];
}

/** The result of storing batches. */
export interface Stored {
  /** Number of new movements by import. The others are duplicates. */
  inserted: ReadonlyMap<string, number>;
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
  INSERT INTO transactions (customer_id, account_id, import_id, unique_id, name, dc, code, amount, balance, description,
    date_issue, date_readed, opponent_id, opponent_iban)
  VALUES ? ON DUPLICATE KEY UPDATE unique_id = unique_id`;

/** Without FORCE INDEX, MariaDB reads all of the customer's movements in that index. */
const COUNT_NEW = `
  SELECT customer_id AS customerId, import_id AS importId, account_id AS accountId, dc, COUNT(*) AS movements
  FROM transactions FORCE INDEX (transactions_customer_page)
  WHERE customer_id = ? AND id > ? GROUP BY customer_id, import_id, account_id, dc`;

/**
 * Sets last_work of all these accounts, and last_update of those with new movements. The balance is that of the newest movement
 * with a balance. It is only searched for if a new movement has one: for a bank that sends no balances, the search would read all
 * movements of the account. ORDER BY names all columns of the index transactions_account_date, otherwise MySQL would sort.
 */
const UPDATE_ACCOUNTS = `
  UPDATE accounts a JOIN import_locks l ON l.customer_id = a.customer_id
  SET a.last_work = IF(a.id IN (?), l.last_date_readed, GREATEST(l.last_date_readed, NOW(6))),
    a.last_update = IF(a.id IN (?), l.last_date_readed, a.last_update),
    a.balance = IF(a.id IN (?), (
      SELECT t.balance FROM transactions t FORCE INDEX (transactions_account_date)
      WHERE t.account_id = a.id AND t.balance IS NOT NULL ORDER BY t.account_id DESC, t.date_issue DESC, t.id DESC LIMIT 1), a.balance)
  WHERE a.id IN (?)`;

export const NOTHING_STORED: Stored = { inserted: new Map(), deliveries: new Map(), webhookIds: [] };

/**
 * Stores the movements of several imports, of any number of customers. Inserts those that are new, and updates import locks,
 * accounts and webhook backlogs.
 * @param sql a transaction that holds `locks`.
 * @param expected what the batches match if all their movements are new, when that is known already.
 */
export async function storeBatches(
  sql: Sql,
  matcher: Matcher,
  locks: ReadonlyMap<string, ImportLock>,
  batches: readonly Batch[],
  expected?: Matches,
): Promise<Stored> {
  const rows = batches.flatMap((batch) => toRows(batch, locks));
  if (rows.length === 0) return NOTHING_STORED;
  const { affectedRows } = await sql.query<WriteResult>(INSERT_MOVEMENTS, [rows]);
  const areAllNew = affectedRows === rows.length;
  const added = areAllNew ? countAll(batches) : await countNew(sql, locks, affectedRows);
  if (added.length > 0)
    await advanceLocks(
      sql,
      locks,
      sumBy(added, ({ customerId }) => customerId),
    );
  const movements = batches.flatMap((batch) => batch.movements.map(({ movement }) => movement));
  await updateAccounts(sql, movements, added);
  if (added.length === 0) return NOTHING_STORED;

  const matches = areAllNew && expected !== undefined ? expected : await matcher.match(sql, locks, added);
  await advanceBacklogs(sql, matches);
  return {
    inserted: sumBy(added, ({ importId }) => importId),
    deliveries: matches.deliveries,
    webhookIds: [...matches.webhooks.keys()],
  };
}

const toRows = ({ customerId, importId, movements }: Batch, locks: ReadonlyMap<string, ImportLock>) => {
  const dateReaded = locks.get(customerId)?.dateReaded;
  if (dateReaded === undefined) throw new Error(`customer ${customerId} has no row in import_locks`);
  return movements.map(({ uniqueId, movement: m }) => [
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
  ]);
};

/** Counts the movements that were inserted under these locks, by import, account and direction. */
async function countNew(
  sql: Sql,
  locks: ReadonlyMap<string, ImportLock>,
  inserted: number,
): Promise<MovementCount[]> {
  if (inserted === 0) return [];
  const statements = Array.from(locks, () => `(${COUNT_NEW})`).join(' UNION ALL ');
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

/** Updates the accounts of movements that were received. @param added those of them that are new. */
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
