import { countOf } from '../shared/text.ts';
import type { StatedTotal } from './headers.ts';
import { parseDigits, TOTALS, type TotalCode } from './map.ts';
import { type BaiRecord, readFields } from './records.ts';

interface FoundTotal {
  /** Null: an amount could not be read, so the total is not compared. */
  amount: bigint | null;
  items: bigint;
}

const NOTHING: FoundTotal = { amount: 0n, items: 0n };

/**
 * Adds up the transactions of an account, and compares them with the totals of its record (03): total credits (100), total debits
 * (400) and total loan payments (720), with their item counts (BAI2 specification, record 03 and appendix A). An account without
 * transactions is not compared: many banks send reports of sums alone.
 */
export function createTotals() {
  const found = new Map<TotalCode, FoundTotal>();

  return {
    /** @param amount as it stands; null: it cannot be read */
    add(code: TotalCode, amount: bigint | null) {
      const { amount: sum, items } = found.get(code) ?? NOTHING;
      found.set(code, { amount: sum === null || amount === null ? null : sum + amount, items: items + 1n });
    },
    /** @returns what differs, as sentences */
    compare(stated: readonly StatedTotal[]): string[] {
      if (found.size === 0) return [];
      return stated.flatMap(({ code, amount, items }) => {
        const { amount: sum, items: count } = found.get(code) ?? NOTHING;
        if (sum === null || (amount === sum && (items ?? count) === count)) return [];
        const itemsOf = (number: bigint) => (items === null ? '' : ` in ${countOf(number, 'item')}`);
        return `The account (03) has ${TOTALS[code]} (${code}) of ${amount}${itemsOf(items ?? 0n)}, but its transactions (16) add up to ${sum}${itemsOf(count)}.`;
      });
    },
  };
}

interface Level {
  /** Null: an amount could not be read, so the sum is not compared. */
  sum: bigint | null;
  /** Accounts of a group, or groups of a file. */
  children: number;
  records: number;
}

export type LevelName = 'account' | 'group' | 'file';

const create = (): Level => ({ sum: 0n, children: 0, records: 0 });
const add = (level: Level, amount: bigint | null) => {
  level.sum = level.sum === null || amount === null ? null : level.sum + amount;
};

/**
 * Adds up the values that the trailers (49, 98, 99) state: amounts as they stand, and physical records (BAI2 specification, records
 * 49 to 99).
 */
export function createControlTotals() {
  const levels: Record<LevelName, Level> = { account: create(), group: create(), file: create() };

  return {
    begin(name: LevelName) {
      levels[name] = create();
    },
    count(record: BaiRecord) {
      for (const level of Object.values(levels)) level.records += record.count;
    },
    add: (amount: bigint | null) => add(levels.account, amount),
    /** @param trailer null if it is missing
     *  @returns what differs, as sentences */
    end(name: LevelName, trailer: BaiRecord | null): string[] {
      const level = levels[name];
      const fields = trailer === null ? null : readFields(trailer);
      const stated = parseDigits(fields?.next() ?? '');
      const children = name === 'account' ? null : parseDigits(fields?.next() ?? '');
      const records = parseDigits(fields?.next() ?? '');
      const parent = name === 'account' ? levels.group : name === 'group' ? levels.file : null;
      if (parent !== null) {
        parent.children += 1;
        // Adds the trailer's own sum, so that a difference is not reported again on each level.
        add(parent, stated ?? level.sum);
      }
      const differences: string[] = [];
      if (stated !== null && level.sum !== null && stated !== level.sum)
        differences.push(
          `The control total of the ${name} is ${stated}, but its amounts add up to ${level.sum}.`,
        );
      if (children !== null && children !== BigInt(level.children))
        differences.push(
          `The trailer of the ${name} counts ${countOf(children, name === 'group' ? 'account' : 'group')}, but there are ${level.children}.`,
        );
      if (records !== null && records !== BigInt(level.records))
        differences.push(
          `The trailer of the ${name} counts ${countOf(records, 'record')}, but there are ${level.records}.`,
        );
      return differences;
    },
  };
}
