import { formatAmount } from '../../statements/src/amounts.ts';
import { findKnown } from './known.ts';
import {
  type ChainStatement,
  type Completeness,
  findBegunWithin,
  findPeriods,
  type PeriodStatus,
  placeOf,
  summarisePeriods,
} from './periods.ts';
import { currencyOf, type PreparedStatement, prepare, type Statement } from './plain-statement.ts';

/** A part of the time of an account. */
export interface StatementPeriod<S extends Statement = Statement> {
  /**
   * `complete`: its statements follow each other without a gap. `gap`: a statement is missing. `overlap`: two statements of the same time do not
   * meet. `contradiction`: statements of the same time differ, or the entries of a statement miss its closing balance.
   */
  status: PeriodStatus;
  from: string;
  to: string;
  /** The balances before and after it. */
  opening: string;
  closing: string;
  /** What was booked in a gap, or by how much balances contradict each other. */
  difference: string;
  /** Its statements. A gap has the statements before and after it. */
  statements: S[];
}

export interface StatementPeriods<S extends Statement = Statement> {
  /** `unknown`: no final statement has both balances. */
  status: Completeness;
  /** In the order of their days. */
  periods: StatementPeriod<S>[];
  /** Statements that say nothing about it: they are no final statements, or have no two balances or no days. */
  ignored: S[];
}

/**
 * Finds out which days of an account are complete: the closing balance of a statement is the opening balance of the next one.
 * @param statements of one account, in any order and in any formats.
 * @throws {TypeError} when a value is no amount or no date, or the statements are about several accounts.
 */
export function findStatementPeriods<S extends Statement>(statements: readonly S[]): StatementPeriods<S> {
  const prepared = prepare(statements, 'statements');
  const chain = prepared.map(toChainStatement);
  const links = chain.filter((it) => it !== null);
  const begun = findBegunWithin(links.toSorted((one, other) => (one.to < other.to ? -1 : 1)));
  for (const it of begun) it.beginsWithin = true;
  if (begun.length > 0) {
    const repeated = findRepeated(prepared);
    for (const it of links) it.repeated = repeated[Number(it.id)] ?? it.repeated;
  }
  const periods = findPeriods(links);
  const currency = currencyOf(statements);
  return {
    status: summarisePeriods(periods),
    periods: periods.map(({ status, from, to, opening, closing, difference, statements: own }) => ({
      status,
      from,
      to,
      opening: formatAmount(opening, currency),
      closing: formatAmount(closing, currency),
      difference: formatAmount(difference, currency),
      statements: own.map(({ id }) => statements[Number(id)] as S),
    })),
    ignored: statements.filter((_, index) => chain[index] === null),
  };
}

function toChainStatement(prepared: PreparedStatement, index: number): ChainStatement | null {
  const { received, opening, closing, credits, debits, difference } = prepared;
  const { kind, from, to, number, sequence, format, rows } = received;
  if (kind !== 'final' || from === null || to === null || opening === null || closing === null) return null;
  return {
    id: String(index),
    from: from < to ? from : to,
    to,
    opening,
    closing,
    kind,
    number,
    place: placeOf(number),
    sequence,
    format,
    credits,
    debits,
    difference,
    entries: rows.length,
    beginsWithin: false,
    repeated: new Set(),
  };
}

/** For each statement, its bookings that also came with another statement. */
function findRepeated(prepared: readonly PreparedStatement[]): Set<string>[] {
  const files = prepared.map(({ received }, index) => ({ ...received, file: String(index) }));
  const { decisions } = findKnown({ movements: [], statements: [] }, files);
  const counts = new Map<number, number>();
  for (const own of decisions)
    for (const movement of new Set(own.map((it) => it.movement)))
      counts.set(movement, (counts.get(movement) ?? 0) + 1);
  return decisions.map(
    (own) =>
      new Set(own.flatMap(({ movement }) => ((counts.get(movement) ?? 0) > 1 ? [String(movement)] : []))),
  );
}
