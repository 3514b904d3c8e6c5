import type { Sql } from '../../database/transaction.ts';
import { parseAmount } from '../formats/money.ts';
import type { MinorUnits } from '../formats/statement.ts';
import type { Movement } from '../movement.ts';
import { type Evidence, matchEntries } from './match-entries.ts';

/** Gives the entries of a statement their unique ids, and finds those that are stored already. */

/** A valid entry of a statement, in the order of the file. */
export interface StatementEntry {
  line: number;
  movement: Movement;
  /** What the bank calls it. */
  reference: string | null;
  /** Its number among the entries of this file with the same account, date, direction and amount, from 1. */
  ordinal: number;
}

/** All that the accounts have on these dates. Index: transactions_account_date. */
const STORED = `
  SELECT account_id, DATE_FORMAT(date_issue, '%Y-%m-%d') AS date_issue, dc, amount, balance, import_id,
    CONVERT(unique_id USING utf8mb4) AS unique_id
  FROM transactions FORCE INDEX (transactions_account_date)
  WHERE (account_id, date_issue) IN (?) ORDER BY account_id, date_issue, id`;

interface StoredRow {
  account_id: string;
  date_issue: string;
  dc: Movement['dc'];
  amount: string;
  balance: string | null;
  import_id: string;
  unique_id: string;
}

/** The new entries of a file that is not stored: how many there were so far, by what never changes of an entry. */
export interface UnstoredEntries {
  count(key: string): number;
  add(key: string): void;
}

/**
 * Gives each entry its unique id.
 * @param sql a transaction that holds the customer's import lock, unless nothing is to be stored.
 * @param unstored what earlier calls found of a file of which nothing is stored: a dry run.
 * @returns for each entry its unique id; null: it is stored already.
 */
export async function identifyEntries(
  sql: Sql,
  importId: string,
  entries: readonly StatementEntry[],
  unstored?: UnstoredEntries,
): Promise<(string | null)[]> {
  if (entries.length === 0) return [];
  const days = new Map(
    entries.map(({ movement: m }) => [`${m.account_id} ${m.date_issue}`, [m.account_id, m.date_issue]]),
  );
  const rows = await sql.query<StoredRow[]>(STORED, [[...days.values()]]);
  const stored = groupBy(rows, keyOf);
  const groups = groupBy(entries, ({ movement }) => keyOf(movement));
  const changedDays = daysWithNewReferences(groups, stored, importId);

  const ids = new Map<StatementEntry, string | null>();
  for (const [key, group] of groups) {
    const same = stored.get(key) ?? [];
    const older = same.filter((row) => row.import_id !== importId);
    const before = (group[0]?.ordinal ?? 1) - 1;
    const own = unstored?.count(key) ?? same.length - older.length;
    const matches = matchEntries(group.map(evidenceOfEntry), older.map(evidenceOfRow), {
      matchedBefore: Math.max(0, before - own),
      referencesChanged: changedDays.has(dayOf(key)),
    });
    let last = Math.max(same.length, ...same.map(numberOf));
    for (const [index, entry] of group.entries()) {
      if (matches[index] !== null) ids.set(entry, null);
      else {
        last += 1;
        ids.set(entry, formatId(entry, last));
        unstored?.add(key);
      }
    }
  }
  return entries.map((entry) => ids.get(entry) ?? null);
}

type Identifying = Pick<Movement, 'account_id' | 'date_issue' | 'dc' | 'amount'>;

/** The four things of an entry that never change. */
const keyOf = ({ account_id, date_issue, dc, amount }: Identifying): string =>
  `${account_id} ${date_issue} ${dc} ${minorUnits(amount)}`;

function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}

const dayOf = (key: string): string => key.split(' ', 2).join(' ');

/**
 * Days whose entries are all stored, by their count, while no reference is known: the bank has given them new references. A day
 * with a single entry does not show that.
 */
function daysWithNewReferences(
  groups: ReadonlyMap<string, readonly StatementEntry[]>,
  stored: ReadonlyMap<string, readonly StoredRow[]>,
  importId: string,
): Set<string> {
  const days = new Map<string, { entries: number; isChanged: boolean }>();
  for (const [key, group] of groups) {
    const older = (stored.get(key) ?? []).filter((row) => row.import_id !== importId);
    const known = new Set(older.map((row) => evidenceOfRow(row).reference));
    const day = days.get(dayOf(key)) ?? { entries: 0, isChanged: true };
    day.entries += group.length;
    day.isChanged &&=
      older.length >= group.length && group.every((entry) => !known.has(evidenceOfEntry(entry).reference));
    days.set(dayOf(key), day);
  }
  return new Set(
    [...days].filter(([, { entries, isChanged }]) => isChanged && entries > 1).map(([day]) => day),
  );
}

const evidenceOfEntry = ({ movement, reference }: StatementEntry): Evidence => ({
  reference: shorten(reference),
  balance: movement.balance === null ? null : minorUnits(movement.balance),
});

const evidenceOfRow = ({ unique_id, balance }: StoredRow): Evidence => ({
  reference: referenceOf(unique_id),
  balance: balance === null ? null : minorUnits(balance),
});

function minorUnits(amount: string): MinorUnits {
  const isNegative = amount.startsWith('-');
  const absolute = parseAmount(isNegative ? amount.slice(1) : amount, '.') ?? 0n;
  return isNegative ? -absolute : absolute;
}

/** The id of an entry. The date is part of it, because banks use references again; the number, because entries share them. */
const ID = /^statement:\d{4}-\d\d-\d\d:(?:Debit|Credit):\d+\.\d\d:(\d+):([\s\S]*)$/;

/** Characters of a reference that are kept. A blank one is none. */
const REFERENCE_LENGTH = 128;

const shorten = (reference: string | null): string | null =>
  (reference ?? '').trim().slice(0, REFERENCE_LENGTH) || null;

const formatId = (
  { movement: { date_issue, dc, amount }, reference }: StatementEntry,
  number: number,
): string => `statement:${date_issue}:${dc}:${amount}:${number}:${shorten(reference) ?? ''}`;

const numberOf = ({ unique_id }: StoredRow): number => Number(ID.exec(unique_id)?.[1] ?? 0);

/** The ids of movements that were sent as JSON are their senders', and say nothing about the bank's references. */
const referenceOf = (uniqueId: string): string | null => ID.exec(uniqueId)?.[2] || null;
