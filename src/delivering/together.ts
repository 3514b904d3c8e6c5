import { isAway } from '../database/transaction.ts';

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Makes of work on many a function of one. What comes in the same moment goes together, and so does what comes while others are
 * worked on: nobody waits for a group to grow, and the more comes, the less each costs. What fails together is tried one by one, so that none is held
 * back by another; not where MySQL is away, which each would meet.
 * @param work gives a result for each item, in their order.
 * @param options.workers groups that are worked on at once.
 * @param options.most items of a group, and `heaviest` what they may weigh together; one alone may weigh more.
 */
export function together<Item, Result>(
  work: (items: readonly Item[]) => Promise<Result[]>,
  {
    workers = 1,
    most = 100,
    heaviest = Number.POSITIVE_INFINITY,
    weigh = () => 0,
  }: { workers?: number; most?: number; heaviest?: number; weigh?: (item: Item) => number } = {},
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let working = 0;

  function takeGroup(): Waiting<Item, Result>[] {
    let count = 0;
    let weight = 0;
    for (const { item } of waiting) {
      weight += weigh(item);
      if (count > 0 && (count >= most || weight > heaviest)) break;
      count += 1;
    }
    return waiting.splice(0, count);
  }

  async function workOn(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await work(group.map(({ item }) => item));
      for (const [i, { resolve }] of group.entries()) resolve(results[i] as Result);
    } catch (error) {
      if (group.length > 1 && !isAway(error)) {
        for (const one of group) await workOn([one]);
        return;
      }
      for (const { reject } of group) reject(error);
    }
  }

  async function workOnAll(): Promise<void> {
    while (waiting.length > 0) await workOn(takeGroup());
    working -= 1;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (working === workers) return;
      working += 1;
      // When all that one event set off has been said.
      process.nextTick(workOnAll);
    });
}
