import type { Sql } from '../platform/database/transaction.ts';
import { formatAmount } from '../statements/values.ts';
import type { DuplicateReason } from './known-movements.ts';
import { type Evidence, type MatchOptions, matchEntries } from './match-entries.ts';
import type { Movement } from './movement.ts';
import type { EntryStatement, RowDetails } from './rows.ts';
import {
  type AccountDay,
  createStoredDays,
  dayKey,
  formatStatementId,
  groupKey,
  type StoredGroup,
  shortenReference,
} from './stored-days.ts';

/** A valid entry of a statement, in the order of the file. */
export interface StatementEntry {
  line: number;
  /** Its amount and its balance have two decimals. */
  movement: Movement;
  /** The bank's name for it. */
  reference: string | null;
  statement: EntryStatement;
  details: RowDetails;
  /** Its number among the entries of this file with the same account, date, direction and amount, from 1. */
  ordinal: number;
}

/** The new entries of a file that is not stored: how many there were so far, by what never changes of an entry. */
export interface UnstoredEntries {
  count(key: string): number;
  add(key: string): void;
}

/** The unique id of a new entry; or the stored movement that an entry is. */
export type Identity =
  | { uniqueId: string }
  | { transactionId: string; reason: Extract<DuplicateReason, 'same' | 'assumed'> };

/**
 * Gives each new entry of a chunk its unique id.
 * @param sql a transaction that holds the customer's import lock, unless nothing is to be stored.
 * @param newest the id of the customer's newest movement, as the lock says.
 * @returns the identity of each entry.
 */
export type IdentifyEntries = (
  sql: Sql,
  newest: string,
  entries: readonly StatementEntry[],
) => Promise<Identity[]>;

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
 * @param options.unstored what earlier calls found of a file of which nothing is stored: a dry run.
 * @param options.mayAssume whether an entry that nothing tells apart from a stored movement is taken for it.
 */
export function createEntryIdentifier(
  importId: string,
  { unstored, mayAssume = true }: { unstored?: UnstoredEntries; mayAssume?: boolean } = {},
): IdentifyEntries {
  const storedDays = createStoredDays(importId);

  return async (sql, newest, entries) => {
    if (entries.length === 0) return [];
    const days = new Map<string, AccountDay>();
    const dayOf = entries.map(createDayNames(days));
    const groupsOf = await storedDays.read(sql, newest, [...days.values()]);
    // Most days are stored for the first time. Of their entries, each is the one of this file that its ordinal says.
    const isUnknown = (position: number) => groupsOf(dayOf[position] as string).size === 0;
    const identities: Identity[] = entries.map((entry) => ({ uniqueId: idOf(entry, entry.ordinal) }));
    const groups = groupEntries(entries, dayOf, (position) => !isUnknown(position) || unstored !== undefined);
    const storedOf = ({ day, key }: Group) => groupsOf(day).get(key) ?? NOTHING;
    const changedDays = findDaysWithNewReferences(groups, groupsOf);
    const areApart = await readApart(
      sql,
      groups.filter((group) => storedOf(group).others.length > 0),
    );
    for (const group of groups) {
      const stored = storedOf(group);
      const own = unstored?.count(group.key) ?? stored.own;
      const changed = changedDays.get(group.day);
      const found = identifyGroup(
        group,
        { ...stored, own },
        {
          referencesChanged: changed !== undefined,
          isInserted: changed?.isInserted ?? false,
          mayAssume,
          areApart: (entry, movement) =>
            areApart(group.entries[entry] as StatementEntry, stored.others[movement]?.importId ?? ''),
        },
      );
      for (const [index, position] of group.positions.entries()) {
        const identity = found[index] as Identity;
        identities[position] = identity;
        if ('uniqueId' in identity) unstored?.add(group.key);
      }
    }
    return identities;
  };
}

/** Creates a function that names the day of each entry, and adds it to `days`. Entries of the same day follow each other. */
function createDayNames(days: Map<string, AccountDay>): (entry: StatementEntry) => string {
  let last: AccountDay = { accountId: '', date: '' };
  let name = '';
  return ({ movement: { account_id: accountId, date_issue: date } }) => {
    if (accountId === last.accountId && date === last.date) return name;
    last = { accountId, date };
    name = dayKey(last);
    days.set(name, last);
    return name;
  };
}

function groupEntries(
  entries: readonly StatementEntry[],
  dayOf: readonly string[],
  isWanted: (position: number) => boolean,
): Group[] {
  const groups = new Map<string, Group>();
  for (const [position, entry] of entries.entries()) {
    if (!isWanted(position)) continue;
    const day = dayOf[position] as string;
    const key = groupKey(day, entry.movement.dc, entry.movement.amount);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { key, day, entries: [entry], positions: [position] });
    else {
      group.entries.push(entry);
      group.positions.push(position);
    }
  }
  return [...groups.values()];
}

const idOf = ({ movement, reference }: StatementEntry, number: number): string =>
  formatStatementId(movement, { number, reference });

function identifyGroup(
  { entries }: Group,
  { others, own, highest }: StoredGroup,
  options: Omit<MatchOptions, 'matchedBefore'>,
): Identity[] {
  const before = (entries[0]?.ordinal ?? 1) - 1;
  // If nobody else has stored such a movement, this import has stored all the entries before.
  if (others.length === 0)
    return entries.map((entry, index) => ({ uniqueId: idOf(entry, before + index + 1) }));
  const matches = matchEntries(entries.map(evidenceOf), others, {
    matchedBefore: Math.max(0, before - own),
    ...options,
  });
  let last = Math.max(others.length + own, highest);
  return entries.map((entry, index) => {
    const match = matches[index];
    const known = others[match?.index ?? -1];
    if (known !== undefined)
      return { transactionId: known.id, reason: match?.isAssumed ? 'assumed' : 'same' };
    last += 1;
    return { uniqueId: idOf(entry, last) };
  });
}

/**
 * Days whose entries the bank has given new references: no reference is known, while all entries are stored by their count, or all that
 * is stored is among the entries (`isInserted`). A single entry does not show that.
 */
function findDaysWithNewReferences(
  groups: readonly Group[],
  groupsOf: (day: string) => ReadonlyMap<string, StoredGroup>,
): Map<string, { isInserted: boolean }> {
  const days = new Map<string, Group[]>();
  for (const group of groups) days.set(group.day, [...(days.get(group.day) ?? []), group]);
  const changed = new Map<string, { isInserted: boolean }>();
  for (const [day, ofDay] of days) {
    const stored = groupsOf(day);
    const othersOf = ({ key }: Group) => stored.get(key)?.others ?? [];
    if (ofDay.some((group) => hasKnownReference(group.entries, othersOf(group)))) continue;
    const entries = new Map(ofDay.map((group) => [group.key, group.entries.length]));
    const areStored = ofDay.every((group) => othersOf(group).length >= group.entries.length);
    const areAmong = [...stored].every(([key, { others }]) => (entries.get(key) ?? 0) >= others.length);
    const count = (
      areStored ? [...entries.values()] : [...stored.values()].map(({ others }) => others.length)
    ).reduce((sum, it) => sum + it, 0);
    if ((areStored || areAmong) && count > 1) changed.set(day, { isInserted: !areStored });
  }
  return changed;
}

function hasKnownReference(entries: readonly StatementEntry[], others: readonly Evidence[]): boolean {
  const known = new Set(others.map(({ reference }) => reference));
  return entries.some((entry) => known.has(evidenceOf(entry).reference));
}

const evidenceOf = ({ movement, reference }: StatementEntry): Evidence => ({
  reference: shortenReference(reference),
  balance: movement.balance,
});

/** The final statements with both balances that other imports have brought about these days. Index: statements_time. */
const STATEMENTS = `
  SELECT account_id, import_id, from_date, to_date, opening_balance, closing_balance
  FROM statements FORCE INDEX (statements_time)
  WHERE account_id IN (?) AND kind = 'final' AND to_date >= ? AND from_date <= ? AND opening_balance IS NOT NULL
    AND closing_balance IS NOT NULL`;

interface StoredStatement {
  account_id: string;
  import_id: string;
  from_date: string;
  to_date: string;
  opening_balance: string;
  closing_balance: string;
}

/**
 * Creates a function that says whether an entry is of a statement that follows, or is followed by, the statement that an import has
 * brought about the same day. Two such statements have no entry in common.
 */
async function readApart(
  sql: Sql,
  groups: readonly Group[],
): Promise<(entry: StatementEntry, importId: string) => boolean> {
  const entries = groups.flatMap((group) =>
    group.entries.filter(({ statement }) => statement.kind === 'final'),
  );
  if (entries.length === 0) return () => false;
  const accounts = new Set(entries.map(({ movement }) => movement.account_id));
  const days = entries.map(({ movement }) => movement.date_issue).sort();
  const stored = await sql.query<StoredStatement[]>(STATEMENTS, [[...accounts], days[0], days.at(-1)]);
  return ({ movement: { account_id, date_issue }, statement }, importId) => {
    const about = stored.filter(
      (it) =>
        it.account_id === account_id &&
        it.import_id === importId &&
        it.from_date <= date_issue &&
        it.to_date >= date_issue,
    );
    return about.length > 0 && about.every((it) => follow(it, statement));
  };
}

/** A statement without a change of the balance proves nothing: it may also lie within the other one. */
function follow(
  { opening_balance, closing_balance }: StoredStatement,
  { kind, opening, closing }: EntryStatement,
): boolean {
  if (kind !== 'final' || opening === null || opening === closing || opening_balance === closing_balance)
    return false;
  if (formatAmount(opening) === closing_balance) return true;
  return closing !== null && formatAmount(closing) === opening_balance;
}
