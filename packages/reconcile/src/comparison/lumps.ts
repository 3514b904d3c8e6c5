import type { Books } from '../books.ts';
import type { StatementRow } from '../statement.ts';
import { balanceBefore, type Laid, rowAt } from '../walk.ts';
import { remember } from './lazy.ts';

/**
 * A lump and its payments are one booking, as a batch and its details are. No file says so: another format leads between the same two
 * balances of a day in one step, and this one in several, or the other way round. All go in one direction.
 */
export interface Lumps {
  /** The rows of other formats that a row is, by its position, in the order of the walk. */
  parted: ReadonlyMap<number, readonly StatementRow[]>;
  /** The positions of rows that another format has as one, in the order of the walk. */
  joined: readonly (readonly number[])[];
}

/** Steps of a walk that follow each other on one day and in one direction. No balance comes twice in them. */
interface Stretches {
  /** The number of the stretch of each step of the walk. */
  numbers: readonly number[];
  /** The step that leads to a balance, by stretch and balance. */
  leadingTo: ReadonlyMap<string, number>;
}

const stretchesOf = remember((laid: Laid): Stretches => {
  const numbers: number[] = [];
  const leadingTo = new Map<string, number>();
  for (const [step, position] of laid.walk.entries()) {
    const row = rowAt(laid, position);
    const before = rowAt(laid, laid.walk[step - 1] ?? position);
    const isNext =
      step > 0 &&
      before.day === row.day &&
      before.amount < 0n === row.amount < 0n &&
      before.balance === balanceBefore(row);
    const number = (numbers.at(-1) ?? 0) + (isNext ? 0 : 1);
    numbers.push(number);
    leadingTo.set(`${number} ${row.balance}`, step);
  }
  return { numbers, leadingTo };
});

/** @returns the last step of those that begin with a step and lead to a balance; null: none do, or one does alone. */
function endOf(laid: Laid, step: number, balance: bigint | null): number | null {
  const { numbers, leadingTo } = stretchesOf(laid);
  const end = leadingTo.get(`${numbers[step]} ${balance}`);
  return end === undefined || end <= step ? null : end;
}

/**
 * How many payments may still be found for a file. Each is of one lump, so that all together are hardly more than the rows of the file and
 * those that are stored. Otherwise, many lumps could share one long stretch.
 */
export interface PaymentBudget {
  left: number;
}

/**
 * Finds lumps and their payments among the rows that nothing else has decided. Linear in the length of the walk and in the budget.
 * @param left the positions of these rows.
 */
export function findLumps(books: Books, laid: Laid, left: readonly number[], budget: PaymentBudget): Lumps {
  const parted = new Map<number, readonly StatementRow[]>();
  const joined: (readonly number[])[] = [];
  const free = new Set(left);
  /** Movements that are payments of a lump. Each is of one. */
  const ofLumps = new Set<number>();
  const take = (it: Laid, from: number, to: number): readonly number[] => {
    budget.left -= to - from + 1;
    return budget.left < 0 ? [] : it.walk.slice(from, to + 1);
  };
  const isOther = (it: Laid) =>
    it.statement.format !== laid.statement.format || it.statement.kind !== laid.statement.kind;
  for (const [ownStep, position] of laid.walk.entries()) {
    if (budget.left < 0) break;
    if (!free.has(position)) continue;
    const row = rowAt(laid, position);
    const others = books.stepsFrom(row.day, balanceBefore(row)).filter((it) => isOther(it.laid));
    for (const { laid: it, step } of others) {
      const end = endOf(it, step, row.balance);
      if (end !== null) {
        const found = take(it, step, end);
        if (found.some((at) => ofLumps.has(it.movements[at] as number))) continue;
        for (const at of found) ofLumps.add(it.movements[at] as number);
        const payments = found.map((at) => rowAt(it, at));
        if (payments.length > 0) parted.set(position, payments);
        break;
      }
      const lump = rowAt(it, it.walk[step] as number);
      const last = endOf(laid, ownStep, lump.balance);
      const ofLump = last === null ? [] : take(laid, ownStep, last);
      if (ofLump.length < 2 || !ofLump.every((at) => free.has(at)) || !areNeighbours(ofLump)) continue;
      joined.push(ofLump);
      for (const at of ofLump) free.delete(at);
      break;
    }
  }
  return { parted, joined };
}

/** Whether positions of a file follow each other, in either direction. */
const areNeighbours = (positions: readonly number[]): boolean =>
  positions.every((it, at) => at === 0 || Math.abs(it - (positions[at - 1] as number)) === 1);
