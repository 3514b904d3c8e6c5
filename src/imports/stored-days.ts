import type { Sql } from '../platform/database/transaction.ts';
import type { Evidence } from './match-entries.ts';
import type { Movement } from './movement.ts';

/** The entries that the accounts of a statement have on its days. A day is read once per import, and after that only what has been added to it. */

/** The movements that are stored with the same account, date, direction and amount. */
export interface StoredGroup {
  /** Those that other imports have stored, in the order of their ids. */
  others: (Evidence & { id: string; importId: string })[];
  /** How many this import has stored. */
  own: number;
  /** The largest number in their ids; 0: none has one. */
  highest: number;
}

export interface AccountDay {
  accountId: string;
  /** YYYY-MM-DD */
  date: string;
}

/** Movements that are kept in memory, beside those of the days that were asked for last. One takes about 200 bytes. */
const MAX_KEPT = 100_000;

/**
 * The entries stored on these days after an id. Index: transactions_account_date. The flag before `import_id` says whether the
 * movements of this import are wanted too.
 */
const ADDED = (days: number) => `
  SELECT id, account_id, date_issue, dc, amount, balance, import_id, CONVERT(unique_id USING utf8mb4) AS unique_id
  FROM transactions FORCE INDEX (transactions_account_date)
  WHERE ${Array(days).fill('(account_id = ? AND date_issue = ? AND id > ? AND (? OR import_id <> ?))').join(' OR ')}
  ORDER BY account_id, date_issue, id`;

interface Row {
  id: string;
  account_id: string;
  date_issue: string;
  dc: string;
  amount: string;
  balance: string | null;
  import_id: string;
  unique_id: string;
}

interface KnownDay extends AccountDay {
  /** Everything up to this id has been read. */
  readThrough: bigint;
  /** By the key of the group. Empty: at most this import has stored something on this day, which is not kept. */
  groups: Map<string, StoredGroup>;
  movements: number;
}

export const dayKey = ({ accountId, date }: AccountDay): string => `${accountId} ${date}`;

/** @param amount with two decimals. */
export const groupKey = (day: string, dc: string, amount: string): string => `${day} ${dc} ${amount}`;

/**
 * Keeps what was read for one run of an import. What was read under the lock stays true while the customer's `removals` are the same;
 * see RemovedTime. When they change, the import begins another run.
 */
export function createStoredDays(importId: string) {
  const known = new Map<string, KnownDay>();
  let kept = 0;

  const forget = (day: KnownDay) => {
    kept -= day.movements;
    known.delete(dayKey(day));
  };
  const open = (asked: AccountDay): KnownDay => {
    const day = known.get(dayKey(asked)) ?? { ...asked, readThrough: 0n, groups: new Map(), movements: 0 };
    // The days that were asked for last come last.
    known.delete(dayKey(asked));
    known.set(dayKey(asked), day);
    return day;
  };
  const add = (day: KnownDay, row: Row) => {
    const key = groupKey(dayKey(day), row.dc, row.amount);
    const group = day.groups.get(key) ?? { others: [], own: 0, highest: 0 };
    const { number, reference } = parseStatementId(row.unique_id);
    if (row.import_id === importId) group.own += 1;
    else group.others.push({ id: row.id, importId: row.import_id, reference, balance: row.balance });
    group.highest = Math.max(group.highest, number);
    day.groups.set(key, group);
    day.movements += 1;
    kept += 1;
  };
  const keepAdded = (day: KnownDay, rows: readonly Row[], newest: bigint) => {
    const isMixed = day.groups.size > 0;
    day.readThrough = maximum(newest, BigInt(rows.at(-1)?.id ?? 0));
    // Until others have stored something on this day, nothing has to be known of what this import has stored.
    if (isMixed || rows.some((row) => row.import_id !== importId)) for (const row of rows) add(day, row);
  };

  /** Reads what was added to days. @returns the days of which this import's own movements have to be read as well. */
  async function readAdded(sql: Sql, days: readonly KnownDay[], newest: bigint): Promise<KnownDay[]> {
    if (days.length === 0) return [];
    const values = days.flatMap(({ accountId, date, readThrough, groups }) => {
      return [accountId, date, String(readThrough), readThrough === 0n || groups.size > 0, importId];
    });
    const rows = groupByDay(await sql.query<Row[]>(ADDED(days.length), values));
    return days.filter((day) => {
      const added = rows.get(dayKey(day)) ?? [];
      const isFirstOfOthers = day.readThrough > 0n && day.groups.size === 0 && added.length > 0;
      if (isFirstOfOthers) day.readThrough = 0n;
      else keepAdded(day, added, newest);
      return isFirstOfOthers;
    });
  }

  return {
    /**
     * Reads these days.
     * @param sql a transaction that holds the customer's import lock.
     * @param newest the id of the customer's newest movement, as the lock says.
     * @returns the groups of a day that other imports have stored something on; an empty map for the other days.
     */
    async read(
      sql: Sql,
      newest: string,
      days: readonly AccountDay[],
    ): Promise<(day: string) => ReadonlyMap<string, StoredGroup>> {
      const opened = days.map(open);
      const unread = opened.filter(({ readThrough }) => readThrough === 0n || readThrough < BigInt(newest));
      const mixed = await readAdded(sql, unread, BigInt(newest));
      await readAdded(sql, mixed, BigInt(newest));
      const read = new Map(opened.map((day) => [dayKey(day), day.groups]));
      for (const day of known.values()) {
        if (kept <= MAX_KEPT || read.has(dayKey(day))) break;
        forget(day);
      }
      return (day) => read.get(day) ?? new Map();
    },
  };
}

const maximum = (one: bigint, other: bigint): bigint => (one > other ? one : other);

function groupByDay(rows: readonly Row[]): Map<string, Row[]> {
  const days = new Map<string, Row[]>();
  for (const row of rows) {
    const key = dayKey({ accountId: row.account_id, date: row.date_issue });
    const day = days.get(key);
    if (day === undefined) days.set(key, [row]);
    else day.push(row);
  }
  return days;
}

/**
 * The unique id of a movement that came in a statement: `statement:<date>:<dc>:<amount>:<number>:<reference>`. The date is part of
 * it, because banks use references again; the number, because entries share them.
 */
const ID = /^statement:\d{4}-\d\d-\d\d:(?:Debit|Credit):\d+\.\d\d:(\d+):([\s\S]*)$/;

/** Characters of a reference that are kept. */
const REFERENCE_LENGTH = 128;

/** The part of a reference that is kept. A blank one is none. */
export const shortenReference = (reference: string | null): string | null =>
  (reference ?? '').trim().slice(0, REFERENCE_LENGTH) || null;

export const formatStatementId = (
  { date_issue, dc, amount }: Pick<Movement, 'date_issue' | 'dc' | 'amount'>,
  { number, reference }: { number: number; reference: string | null },
): string => `statement:${date_issue}:${dc}:${amount}:${number}:${shortenReference(reference) ?? ''}`;

/**
 * Reads the number and the reference of a unique id. The ids of movements that were sent as JSON are their senders', and say nothing
 * about the bank's references.
 */
export function parseStatementId(uniqueId: string): { number: number; reference: string | null } {
  const [, number = '0', reference = ''] = ID.exec(uniqueId) ?? [];
  return { number: Number(number), reference: reference || null };
}
