import { countOf } from '../../../counts.ts';
import { parseDigits } from './implied-amount.ts';
import { readFields } from './record-fields.ts';
import type { BaiRecord } from './records.ts';

interface Level {
  /** Null: an amount could not be read, so there is nothing to compare. */
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

/** Adds up what the trailers (49, 98, 99) state (BAI2 specification, records 49 to 99): amounts as they stand, and physical records. */
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
        // The trailer's own sum, so that one difference is not reported again on each level.
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
