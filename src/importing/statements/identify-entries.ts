import type { Sql } from '../../database/transaction.ts';
import type { Movement } from '../movement.ts';
import { type Evidence, matchEntries } from './match-entries.ts';
import { formatStatementId, shortenReference } from './statement-id.ts';
import { type AccountDay, createStoredDays, dayKey, groupKey, type StoredGroup } from './stored-days.ts';

/** A valid entry of a statement, in the order of the file. */
export interface StatementEntry {
  line: number;
  /** Its amount and its balance have two decimals. */
  movement: Movement;
  /** What the bank calls it. */
  reference: string | null;
  /** Its number among the entries of this file with the same account, date, direction and amount, from 1. */
  ordinal: number;
}

/** The new entries of a file that is not stored: how many there were so far, by what never changes of an entry. */
export interface UnstoredEntries {
  count(key: string): number;
  add(key: string): void;
}

/**
 * Gives each entry of a chunk its unique id.
 * @param sql a transaction that holds the customer's import lock, unless nothing is to be stored.
 * @param newest the id of the customer's newest movement, as the lock says.
 * @returns for each entry its unique id; null: it is stored already.
 */
export type IdentifyEntries = (
  sql: Sql,
  newest: string,
  entries: readonly StatementEntry[],
) => Promise<(string | null)[]>;

/** The entries of a chunk with the same account, date, direction and amount. */
interface Group {
  key: string;
  day: string;
  entries: StatementEntry[];
  /** Their positions in the chunk. */
  positions: number[];
}

const NOTHING: StoredGroup = { others: [], own: 0, highest: 0 };

/**
 * Identifies the entries of one import, chunk by chunk. It remembers what was stored on the days of earlier chunks.
 * @param unstored what earlier calls found of a file of which nothing is stored: a dry run.
 */
export function createEntryIdentifier(importId: string, unstored?: UnstoredEntries): IdentifyEntries {
  const storedDays = createStoredDays(importId);

  return async (sql, newest, entries) => {
    if (entries.length === 0) return [];
    const { days, groups } = groupEntries(entries);
    const groupsOf = await storedDays.read(sql, newest, days);
    const storedOf = ({ day, key }: Group) => groupsOf(day).get(key) ?? NOTHING;
    const changedDays = findDaysWithNewReferences(groups, storedOf);
    const ids: (string | null)[] = entries.map(() => null);
    for (const group of groups) {
      const stored = storedOf(group);
      const own = unstored?.count(group.key) ?? stored.own;
      const numbered = identifyGroup(group, { ...stored, own }, changedDays.has(group.day));
      for (const [index, position] of group.positions.entries()) {
        const id = numbered[index] ?? null;
        ids[position] = id;
        if (id !== null) unstored?.add(group.key);
      }
    }
    return ids;
  };
}

function groupEntries(entries: readonly StatementEntry[]): { days: AccountDay[]; groups: Group[] } {
  const days = new Map<string, AccountDay>();
  const groups = new Map<string, Group>();
  for (const [position, entry] of entries.entries()) {
    const { account_id: accountId, date_issue: date, dc, amount } = entry.movement;
    const day = dayKey({ accountId, date });
    if (!days.has(day)) days.set(day, { accountId, date });
    const key = groupKey(day, dc, amount);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { key, day, entries: [entry], positions: [position] });
    else {
      group.entries.push(entry);
      group.positions.push(position);
    }
  }
  return { days: [...days.values()], groups: [...groups.values()] };
}

function identifyGroup(
  { entries }: Group,
  { others, own, highest }: StoredGroup,
  referencesChanged: boolean,
): (string | null)[] {
  const before = (entries[0]?.ordinal ?? 1) - 1;
  const number = (entry: StatementEntry, last: number) =>
    formatStatementId(entry.movement, { number: last, reference: entry.reference });
  // If nobody else has stored such a movement, this import has stored all the entries before.
  if (others.length === 0) return entries.map((entry, index) => number(entry, before + index + 1));
  const matches = matchEntries(entries.map(evidenceOf), others, {
    matchedBefore: Math.max(0, before - own),
    referencesChanged,
  });
  let last = Math.max(others.length + own, highest);
  return entries.map((entry, index) => {
    if (matches[index] !== null) return null;
    last += 1;
    return number(entry, last);
  });
}

/**
 * Days whose entries are all stored, by their count, while no reference is known: the bank has given them new references. A day
 * with a single entry does not show that.
 */
function findDaysWithNewReferences(
  groups: readonly Group[],
  storedOf: (group: Group) => StoredGroup,
): Set<string> {
  const days = new Map<string, { entries: number; isChanged: boolean }>();
  for (const group of groups) {
    const day = days.get(group.day) ?? { entries: 0, isChanged: true };
    day.entries += group.entries.length;
    day.isChanged &&= hasNewReferences(group.entries, storedOf(group).others);
    days.set(group.day, day);
  }
  return new Set(
    [...days].filter(([, { entries, isChanged }]) => isChanged && entries > 1).map(([day]) => day),
  );
}

function hasNewReferences(entries: readonly StatementEntry[], others: readonly Evidence[]): boolean {
  if (others.length < entries.length) return false;
  const known = new Set(others.map(({ reference }) => reference));
  return entries.every((entry) => !known.has(evidenceOf(entry).reference));
}

const evidenceOf = ({ movement, reference }: StatementEntry): Evidence => ({
  reference: shortenReference(reference),
  balance: movement.balance,
});
