import { decideDirection } from '../../../packages/reconcile/src/walk.ts';
import { formatAmount } from '../../../packages/statements/src/amounts.ts';
import type { Entry, MinorUnits } from '../../../packages/statements/src/statement.ts';

/**
 * Checks the balance that some files and clients send with each entry. Each balance must be the previous balance plus the entry's
 * amount.
 */

export interface RunningBalances {
  add(entry: Pick<Entry, 'line' | 'dc' | 'amount' | 'balance'> & { date?: string }): void;
  /**
   * @returns a warning for the first entry that contradicts its neighbours; and the balances before and after all entries, if no
   * entry contradicts and each has a balance.
   */
  end(): {
    warnings: { line: number; warning: string }[];
    ends: { opening: MinorUnits; closing: MinorUnits } | null;
  };
}

interface Step {
  line: number;
  expected: MinorUnits;
  found: MinorUnits;
}

/**
 * Files list their entries from the oldest to the newest, or the other way round. Uses the direction with fewer contradictions. If
 * a file of one day can be read both ways, its opening balance is not known.
 * @param currency of the account, for the amounts in a warning.
 * @param within the name of the whole in a warning.
 */
export function createRunningBalances(
  currency: string | null,
  within: 'statement' | 'import' = 'statement',
): RunningBalances {
  const wrong: Record<'ascending' | 'descending', { count: number; first: Step | null }> = {
    ascending: { count: 0, first: null },
    descending: { count: 0, first: null },
  };
  let first: { before: MinorUnits; after: MinorUnits } | null = null;
  let last: { before: MinorUnits; after: MinorUnits; line: number } | null = null;
  let isComplete = true;
  const days = { first: '', last: '' };
  let rows = 0;

  const compare = (direction: 'ascending' | 'descending', step: Step) => {
    if (step.expected === step.found) return;
    wrong[direction].count += 1;
    wrong[direction].first ??= step;
  };

  return {
    add({ line, dc, amount, balance: after, date = '' }) {
      rows += 1;
      if (rows === 1) days.first = date;
      days.last = date;
      if (after === null) {
        isComplete = false;
        last = null;
        return;
      }
      const before = after - (dc === 'Credit' ? amount : -amount);
      if (last !== null) {
        compare('ascending', { line, expected: last.after, found: before });
        compare('descending', { line: last.line, expected: after, found: last.before });
      }
      first ??= { before, after };
      last = { before, after, line };
    },
    end() {
      const breaks = { ascending: wrong.ascending.count, descending: wrong.descending.count };
      const direction = decideDirection(breaks, days, rows);
      const isAscending = direction !== 'descending';
      const { count, first: step } = isAscending ? wrong.ascending : wrong.descending;
      if (step !== null) return { warnings: [warningOf(step, count, { currency, within })], ends: null };
      if (!isComplete || direction === 'unknown' || first === null || last === null)
        return { warnings: [], ends: null };
      return {
        warnings: [],
        ends: isAscending
          ? { opening: first.before, closing: last.after }
          : { opening: last.before, closing: first.after },
      };
    },
  };
}

function warningOf(
  { line, expected, found }: Step,
  count: number,
  { currency, within }: { currency: string | null; within: string },
) {
  const others = count === 1 ? '' : ` This happens ${count} times in this ${within}.`;
  const warning =
    `By its balance and amount, this entry began at ${formatAmount(found, currency)}, but the entry before it ends at ` +
    `${formatAmount(expected, currency)}: a row may be missing or cut off.${others}`;
  return { line, warning };
}
