import type { Completeness, Period } from '../../packages/reconcile/src/periods.ts';
import type { Sql } from '../database/transaction.ts';
import { confirmPeriods, type Differences, findDifferences } from './compared/book-differences.ts';
import { findWrongSums, type WrongSum } from './compared/wrong-sums.ts';
import { readCompleteness } from './find-statements.ts';

/** Whether the books of an account are right: the API, the console and `verify` ask here. */

export interface ComparedBooks {
  /** What the statements and the stored movements say together. */
  status: Completeness;
  /** What the statements say. */
  periods: Period[];
  differences: Map<Period, Differences>;
  wrongSums: WrongSum[];
  /** The wrong sums that no missing entry and no movement that is too much explains, as contradictions. */
  contradictions: Period[];
}

/**
 * Compares the statements of an account with each other, and with the stored movements. Reads the movements of their days.
 * @param between only statements and movements of these days (YYYY-MM-DD); null: all.
 * @param mostPeriods only the last periods.
 */
export async function compareBooks(
  sql: Sql,
  account: { id: string; currency: string },
  between: { from: string | null; to: string | null } = { from: null, to: null },
  mostPeriods = Number.POSITIVE_INFINITY,
): Promise<ComparedBooks> {
  const { status, periods: all } = await readCompleteness(sql, account.id, between);
  const periods = all.slice(-mostPeriods);
  const confirmed = await confirmPeriods(sql, account.id, periods);
  const differences = await findDifferences(sql, account, confirmed);
  const wrong = await findWrongSums(sql, account, confirmed);
  const found = [...differences.values()];
  const areMissing = found.some(({ missing }) => missing.length > 0);
  const areSurplus = found.some(({ surplus }) => surplus.length > 0);
  const contradictions = areMissing || areSurplus ? [] : wrong.map(({ period }) => period);
  const isContradictory = status === 'contradictory' || areSurplus || contradictions.length > 0;
  return {
    status: isContradictory ? 'contradictory' : areMissing ? 'incomplete' : status,
    periods,
    differences,
    wrongSums: wrong.map(({ sum }) => sum),
    contradictions,
  };
}
