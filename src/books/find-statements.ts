import { setImmediate as nextPass } from 'node:timers/promises';
import type * as v from 'valibot';
import {
  type ChainStatement,
  type Completeness,
  findBegunWithin,
  findPeriods,
  numberOf,
  type Period,
  summarisePeriods,
} from '../../packages/reconcile/src/periods.ts';
import { formatAmount, parseThousandths, showAmount } from '../../packages/statements/src/amounts.ts';
import type { Sql } from '../database/transaction.ts';
import { createByteBudget } from '../intake/byte-budget.ts';
import type { StatementRecord } from '../intake/statements.ts';
import { inParts } from '../platform/batcher.ts';
import { Problem } from '../platform/problem.ts';
import { formatCount } from '../platform/text.ts';
import { exchange, isOutOfMemory, startThread } from '../platform/thread.ts';
import type { StatementView } from './books-view.ts';
import type { FromChainThread, ToChainThread } from './periods/chain-thread.ts';

/** The statements of an account, and whether they are complete. */

const COLUMNS = `
  id, import_id, line, kind, number, sequence, from_date, to_date, opening_balance, closing_balance, opening_balance_date, closing_balance_date, difference,
  entries, received_at`;
/** Index: statements_page. */
const PAGE = `
  SELECT ${COLUMNS} FROM statements FORCE INDEX (statements_page) WHERE account_id = ? AND id < ? ORDER BY id DESC LIMIT ?`;

/** Finds statements of an account below an id, the newest first. */
export const findStatements = (
  sql: Sql,
  accountId: string,
  { before, limit }: { before: string; limit: number },
): Promise<StatementRecord[]> => sql.query(PAGE, [accountId, before, limit]);

const show = (amount: string | null, currency: string): string | null =>
  amount === null ? null : showAmount(amount, currency);

export const viewStatement = (
  row: StatementRecord,
  currency: string,
): v.InferOutput<typeof StatementView> => ({
  id: Number(row.id),
  number: row.number,
  sequence: row.sequence,
  from: row.from_date,
  to: row.to_date,
  opening_balance: show(row.opening_balance, currency),
  closing_balance: show(row.closing_balance, currency),
  opening_balance_date: row.opening_balance_date,
  closing_balance_date: row.closing_balance_date,
  currency,
  difference: show(row.difference, currency),
  entries: row.entries,
  kind: row.kind,
  import_id: Number(row.import_id),
  line: row.line,
  received_at: row.received_at.toISOString(),
});

export const viewPeriod = ({ from, to, status, opening, closing, difference }: Period, currency: string) => ({
  from,
  to,
  status,
  opening_balance: formatAmount(opening, currency),
  closing_balance: formatAmount(closing, currency),
  difference: formatAmount(difference, currency),
});

type ChainRow = StatementRecord & Record<'from_date' | 'to_date' | 'format' | 'credits' | 'debits', string>;

/** Index: statements_time. Ten years of daily statements are 2,500 rows. */
const CHAIN = `
  SELECT id, format, number, sequence, from_date, to_date, opening_balance, closing_balance, difference, credits, debits, entries
  FROM statements FORCE INDEX (statements_time)
  WHERE account_id = ? AND kind = 'final' AND from_date IS NOT NULL AND to_date IS NOT NULL AND opening_balance IS NOT NULL
    AND closing_balance IS NOT NULL
  ORDER BY account_id, kind, to_date, id LIMIT ?`;

/** Entries of some days whose movements also came with other statements. Indexes: repeated_entries_day, then the primary key. */
const REPEATED = `
  SELECT r.transaction_id, r.statement_id, d.statement_id AS first_statement_id
  FROM repeated_entries r FORCE INDEX (repeated_entries_day)
  LEFT JOIN transaction_details d ON d.transaction_id = r.transaction_id
  WHERE r.account_id = ? AND r.date_issue IN (?) LIMIT ?`;

/** More statements, or more of their repeated entries, are not compared. */
const [MOST_STATEMENTS, MOST_REPEATED] = [100_000, 200_000];

/** How many rows are read in one pass of the event loop. */
const ROWS_PER_PASS = 1_000;

/** Index: the primary key. */
const NUMBERS = 'SELECT statement_numbers FROM accounts WHERE id = ?';

/**
 * Reads the periods of an account that touch a range of days.
 * @param between days (YYYY-MM-DD). null: from the first day, or to the last day.
 * @throws {Problem} like findPeriodsOf.
 */
export async function readCompleteness(
  sql: Sql,
  accountId: string,
  between: { from: string | null; to: string | null } = { from: null, to: null },
): Promise<{ status: Completeness; periods: Period[] }> {
  const rows = await sql.query<ChainRow[]>(CHAIN, [accountId, MOST_STATEMENTS + 1]);
  if (rows.length > MOST_STATEMENTS) throw tooMany(MOST_STATEMENTS, 'final statements');
  const [account] = await sql.query<{ statement_numbers: string }[]>(NUMBERS, [accountId]);
  const areNumbersUsed = account?.statement_numbers !== 'ignore';
  const statements: ChainStatement[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % ROWS_PER_PASS === ROWS_PER_PASS - 1) await nextPass();
    statements.push({
      id: row.id,
      from: row.from_date < row.to_date ? row.from_date : row.to_date,
      to: row.to_date,
      opening: parseThousandths(row.opening_balance ?? '0'),
      closing: parseThousandths(row.closing_balance ?? '0'),
      number: numberOf(row.number),
      name: areNumbersUsed ? row.number : null,
      sequence: areNumbersUsed ? row.sequence : null,
      format: row.format,
      credits: parseThousandths(row.credits),
      debits: parseThousandths(row.debits),
      difference: row.difference === null ? null : parseThousandths(row.difference),
      entries: row.entries,
      beginsWithin: false,
      repeated: new Set(),
    });
  }
  await readRepeated(sql, accountId, statements);
  const { from, to } = between;
  const periods = (await findPeriodsOf(accountId, statements)).filter(
    (period) => (from === null || period.to >= from) && (to === null || period.from <= to),
  );
  return { status: summarisePeriods(periods), periods };
}

/** Fills `beginsWithin` and `repeated` where they decide which statement follows which. */
async function readRepeated(sql: Sql, accountId: string, statements: ChainStatement[]): Promise<void> {
  const begun = findBegunWithin(statements);
  if (begun.length === 0) return;
  for (const it of begun) it.beginsWithin = true;
  const days = new Set(begun.map(({ from }) => from));
  const rows = await sql.query<
    { transaction_id: string; statement_id: string; first_statement_id: string | null }[]
  >(REPEATED, [accountId, [...days], MOST_REPEATED + 1]);
  if (rows.length > MOST_REPEATED) throw tooMany(MOST_REPEATED, 'repeated entries');
  const repeated = new Map(statements.map(({ id }) => [id, new Set<string>()]));
  for (const [index, { transaction_id, statement_id, first_statement_id }] of rows.entries()) {
    if (index % ROWS_PER_PASS === ROWS_PER_PASS - 1) await nextPass();
    for (const id of [statement_id, first_statement_id]) repeated.get(id ?? '')?.add(transaction_id);
  }
  for (const it of statements) it.repeated = repeated.get(it.id) ?? it.repeated;
}

/** The statements of an account are not compared, now or later. */
export class TooManyStatementsError extends Problem {}

const tooMany = (most: number, what: string) =>
  new TooManyStatementsError(
    'overloaded',
    `The account has more than ${formatCount(most)} ${what} to compare. They are not compared.`,
  );

/** Index: statements_time, from its end. */
const LAST_DAYS = `
  SELECT to_date, MIN(received_at) AS received_at FROM statements FORCE INDEX (statements_time)
  WHERE account_id = ? AND kind = 'final' AND to_date IS NOT NULL
  GROUP BY account_id, kind, to_date ORDER BY account_id DESC, kind DESC, to_date DESC LIMIT ?`;

/** @returns when the next statement of an account is late; null: too few statements have come. */
export async function readLateAt(
  sql: Sql,
  { id, lateAfterDays }: { id: string; lateAfterDays: number | null },
): Promise<Date | null> {
  const rows = await sql.query<{ to_date: string; received_at: Date }[]>(LAST_DAYS, [id, LEARNED_FROM]);
  const arrivals = rows.map((row): Arrival => ({ to: row.to_date, receivedAt: row.received_at }));
  return findLateAt(arrivals, lateAfterDays);
}

/** Finds the periods of an account without blocking the process. */

const SECOND = 1_000;

/** Up to this many statements are compared without a thread, because this takes only a few milliseconds. */
const FEW = 500;

/** How many statements are looked at in one pass of the event loop. */
const STATEMENTS_PER_PASS = 500;

/** The time limit of a thread. It finds the periods of 20,000 statements in less than a second. */
const DEADLINE = 10 * SECOND;

/** Allows one thread at a time in a process. */
const turns = createByteBudget({ total: 1, perOwner: 1, patience: DEADLINE });

/**
 * Finds the periods of an account. Uses a thread if there are many statements.
 * @param statements in any order.
 * @throws {Problem} 503 when a thread has not found the periods within 10 s or needs too much memory, or other accounts use the thread
 * for that long.
 */
export async function findPeriodsOf(
  accountId: string,
  statements: readonly ChainStatement[],
): Promise<Period[]> {
  if (statements.length <= FEW) return findPeriods(statements);
  const release = await turns.reserve(accountId, 1);
  if (release === null) throw tooLong();
  const thread = startThread(new URL('./periods/chain-thread', import.meta.url), { workerData: null });
  const signal = AbortSignal.timeout(DEADLINE);
  try {
    const parts: Iterable<ToChainThread> = inParts(statements, STATEMENTS_PER_PASS);
    const question: ToChainThread = 'periods wanted';
    const found: Period[] = [];
    for await (const { periods } of exchange<FromChainThread>(thread, { parts, question, signal }))
      for (const { places, ...period } of periods)
        found.push({ ...period, statements: places.map((place) => statements[place] as ChainStatement) });
    return found;
  } catch (error) {
    throw signal.aborted || isOutOfMemory(error) ? tooLong() : error;
  } finally {
    void thread.terminate();
    release();
  }
}

const tooLong = () =>
  new Problem(
    'overloaded',
    `The statements of the account were not compared within ${DEADLINE / SECOND} s. Try again later.`,
    { headers: { 'Retry-After': String(DEADLINE / SECOND) } },
  );

/** Finds when the next statement of an account is late: at a time that was set, or that is learnt from its last statements. */

/** The most statements that are looked at, and the fewest that allow a conclusion. A year of monthly statements is enough. */
export const LEARNED_FROM = 60;
const LEAST = 8;

/** Public holidays may close banks for nine days. */
const GRACE_DAYS = 8;

/** From this many of the last statements, the usual delay is learnt. Older statements may all have come on one day. */
const DELAYS = 5;

const DAY = 86_400_000;

/** A final statement of an account. */
export interface Arrival {
  /** YYYY-MM-DD */
  to: string;
  receivedAt: Date;
}

const endOf = ({ to }: Arrival): number => Date.parse(to) + DAY;

/**
 * Finds out when the next statement is late.
 * @param arrivals the last statements, of different days, the newest day first.
 * @param lateAfterDays the next statement is late this many days after the last day of the newest. null: learnt. The time is then the sum
 * of the longest time between two of these statements, 8 days, and the usual delay with which a statement comes.
 * @returns null when too few statements have come.
 */
export function findLateAt(arrivals: readonly Arrival[], lateAfterDays: number | null): Date | null {
  const [newest] = arrivals;
  if (newest === undefined) return null;
  if (lateAfterDays !== null) return new Date(endOf(newest) + lateAfterDays * DAY);
  if (arrivals.length < LEAST) return null;
  const longest = Math.max(
    ...arrivals.slice(1).map((it, index) => endOf(arrivals[index] as Arrival) - endOf(it)),
  );
  const delays = arrivals.slice(0, DELAYS).map((it) => it.receivedAt.getTime() - endOf(it));
  const usual = delays.toSorted((one, other) => one - other)[Math.floor(DELAYS / 2)] ?? 0;
  return new Date(endOf(newest) + longest + GRACE_DAYS * DAY + Math.max(0, usual));
}
