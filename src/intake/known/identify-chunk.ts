import { MARGIN } from '../../../packages/reconcile/src/books.ts';
import { isId } from '../../../packages/reconcile/src/walk.ts';
import { addDays } from '../../../packages/statements/src/values.ts';
import type { Sql } from '../../database/transaction.ts';
import type { EntryStatement } from '../importer/rows.ts';
import { type IdentifyEntries, KnownDaysError, type StatementEntry } from './entry.ts';
import { formatStatementId, parseStatementId, shortenReference } from './statement-id.ts';

/**
 * Identifies the entries of a file chunk by chunk, as long as nothing from other imports is stored about their days. All of them
 * are then new.
 */

/** Finds a movement of these days that another import has stored. Index: transactions_account_date. */
const KNOWN = `
  SELECT 1 FROM transactions FORCE INDEX (transactions_account_date)
  WHERE (account_id, date_issue) IN (?) AND import_id <> ? LIMIT 1`;

/** The same for days that were checked before: finds a movement added since then. */
const ADDED = (days: number) =>
  Array(days)
    .fill(
      `(SELECT 1 FROM transactions FORCE INDEX (transactions_account_date)
        WHERE account_id = ? AND date_issue = ? AND id > ? AND import_id <> ? LIMIT 1)`,
    )
    .join(' UNION ALL ');

/** Statements of 512 days or more are few, and all looked at. */
const SPANS = [1, 2, 3];

/**
 * Finds a final statement about these days that another import has stored. Its entries may be of other days. Another format may have an entry
 * up to three days before or after. How long a statement is says where it may end: the newer ones need not be read. Index: statements_span.
 */
const COVERED = `
  SELECT 1 FROM statements FORCE INDEX (statements_span)
  WHERE account_id = ? AND kind = 'final' AND (span > ${SPANS.length} AND to_date >= ?
    ${SPANS.map((it) => `OR span = ${it} AND to_date BETWEEN ? AND COALESCE(? + INTERVAL ${MARGIN + 8 ** it} DAY, '9999-12-31')`).join(' ')})
    AND from_date <= ? + INTERVAL ${MARGIN} DAY
    AND entries > 0 AND import_id <> ? AND (format <> ? OR (to_date >= ? AND from_date <= ?)) LIMIT 1`;

function toCovered(accountId: string, importId: string, { from, to, format }: Range): string[] {
  const first = addDays(from, -MARGIN);
  return [accountId, first, ...SPANS.flatMap(() => [first, to]), to, importId, format, from, to];
}

/** Reads the ids of the entries of these days. Index: transactions_account_date. */
const IDS = `
  SELECT account_id, CONVERT(unique_id USING utf8mb4) AS unique_id FROM transactions FORCE INDEX (transactions_account_date)
  WHERE (account_id, date_issue) IN (?) AND import_id <> ?`;

interface Day {
  accountId: string;
  date: string;
  /** Movements up to this id have been checked. */
  readThrough: bigint;
  /** The last statement of the file that has an entry of this day. */
  statement: EntryStatement;
}

export function createChunkIdentifier(importId: string): IdentifyEntries {
  const days = new Map<string, Day>();
  /** The bank's ids of movements up to three days before or after the days in `idsRead`, with their accounts. */
  const idsNear = new Set<string>();
  const idsRead = new Set<Day>();

  /** @throws {KnownDaysError} when two statements of the file may have entries in common. */
  function openDay({ movement, statement }: StatementEntry): string {
    const { account_id: accountId, date_issue: date } = movement;
    const key = `${accountId} ${date}`;
    const day = days.get(key);
    if (day === undefined) days.set(key, { accountId, date, readThrough: 0n, statement });
    else if (day.statement !== statement) {
      if (!follows(day.statement, statement))
        throw new KnownDaysError('two statements of the file have a day in common');
      day.statement = statement;
    }
    return key;
  }

  async function readIdsNear(sql: Sql, asked: readonly Day[]): Promise<void> {
    const unread = asked.filter((day) => !idsRead.has(day));
    const around = new Map<string, [accountId: string, date: string]>();
    for (const { accountId, date } of unread)
      for (let offset = -MARGIN; offset <= MARGIN; offset += 1) {
        const day = addDays(date, offset);
        if (!days.has(`${accountId} ${day}`)) around.set(`${accountId} ${day}`, [accountId, day]);
      }
    const rows =
      around.size === 0
        ? []
        : await sql.query<{ account_id: string; unique_id: string }[]>(IDS, [[...around.values()], importId]);
    for (const { account_id, unique_id } of rows) {
      const { reference } = parseStatementId(unique_id);
      if (isId(reference)) idsNear.add(`${account_id} ${reference}`);
    }
    for (const day of unread) idsRead.add(day);
  }

  async function look(sql: Sql, newest: bigint, asked: readonly Day[]): Promise<void> {
    const unread = asked.filter(({ readThrough }) => readThrough === 0n);
    const added = asked.filter(({ readThrough }) => readThrough !== 0n && readThrough < newest);
    if (unread.length > 0) {
      const days = unread.map(({ accountId, date }) => [accountId, date]);
      await refuse(sql, KNOWN, [days, importId], 'movements of these days are stored');
      for (const [accountId, range] of rangesOf(unread))
        await refuse(
          sql,
          COVERED,
          toCovered(accountId, importId, range),
          'statements of these days are stored',
        );
    }
    if (added.length > 0) {
      const days = added.flatMap((it) => [it.accountId, it.date, String(it.readThrough), importId]);
      await refuse(sql, ADDED(added.length), days, 'movements of these days are stored');
    }
    // Without movements, `newest` is 0, which would mean that the day was not checked.
    for (const day of [...unread, ...added]) day.readThrough = newest > 0n ? newest : 1n;
  }

  return async (sql, newest, entries) => {
    const keys = new Set<string>();
    let lastEntry: StatementEntry | null = null;
    for (const entry of entries) {
      const { movement, statement } = entry;
      const isSameDay =
        lastEntry !== null &&
        lastEntry.statement === statement &&
        lastEntry.movement.date_issue === movement.date_issue &&
        lastEntry.movement.account_id === movement.account_id;
      if (!isSameDay) keys.add(openDay(entry));
      lastEntry = entry;
    }
    const asked = [...keys].map((key) => days.get(key) as Day);
    await look(sql, BigInt(newest), asked);
    // Entries without ids cannot have the id of another day.
    if (entries.some(({ reference }) => isId(shortenReference(reference)))) await readIdsNear(sql, asked);
    const hasMoved = ({ movement, reference }: StatementEntry) =>
      idsNear.has(`${movement.account_id} ${shortenReference(reference)}`);
    if (idsNear.size > 0 && entries.some(hasMoved))
      throw new KnownDaysError('an entry with the same id is stored under another day');
    return entries.map(({ movement, reference, ordinal }) => ({
      uniqueId: formatStatementId(movement, { number: ordinal, reference }),
      isAssumed: false,
      replaces: null,
    }));
  };
}

/** @throws {KnownDaysError} when the statement finds a row. */
async function refuse(sql: Sql, statement: string, values: unknown[], reason: string): Promise<void> {
  if ((await sql.query<unknown[]>(statement, values)).length > 0) throw new KnownDaysError(reason);
}

/**
 * Whether a statement continues where the previous one ends. If the previous one returned to its opening balance, the next may be a
 * repetition.
 */
const follows = (before: EntryStatement, next: EntryStatement): boolean =>
  before.closing !== null && before.closing === next.opening && before.closing !== before.opening;

/** The days of an account, and the format of its statements. */
interface Range {
  from: string;
  to: string;
  format: string;
}

function rangesOf(days: readonly Day[]): Map<string, Range> {
  const ranges = new Map<string, Range>();
  for (const { accountId, date, statement } of days) {
    const range = ranges.get(accountId);
    if (range === undefined) ranges.set(accountId, { from: date, to: date, format: statement.format });
    else if (date < range.from) range.from = date;
    else if (date > range.to) range.to = date;
  }
  return ranges;
}
