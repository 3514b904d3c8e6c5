import { setImmediate as nextPass } from 'node:timers/promises';

/** Results handed out in one pass of the event loop: what hundreds of them set off would hold everything else up. */
const PORTION = 8;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Turns many calls into one: calls that come in the same moment go together, and so do those that come while others are worked
 * on. Nobody waits for a group to grow, and the more calls come, the less each costs.
 * @param work gives a result for each item, in their order.
 * @param options.workers groups that are worked on at a time.
 * @param options.maxItems items of a group; `maxWeight` is what they may weigh together, and one alone may weigh more.
 * @param options.retryAlone whether a group that failed with this error is tried again item by item, so that none fails because
 * of another. Default: never; then all of the group fail.
 */
export function createBatcher<Item, Result>(
  work: (items: readonly Item[]) => Promise<Result[]>,
  {
    workers = 1,
    maxItems = 100,
    maxWeight = Number.POSITIVE_INFINITY,
    weigh = () => 0,
    retryAlone = () => false,
  }: {
    workers?: number;
    maxItems?: number;
    maxWeight?: number;
    weigh?: (item: Item) => number;
    retryAlone?: (error: unknown) => boolean;
  } = {},
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let working = 0;

  function takeGroup(): Waiting<Item, Result>[] {
    let count = 0;
    let weight = 0;
    for (const { item } of waiting) {
      weight += weigh(item);
      if (count > 0 && (count >= maxItems || weight > maxWeight)) break;
      count += 1;
    }
    return waiting.splice(0, count);
  }

  async function workOn(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await work(group.map(({ item }) => item));
      for (const [i, { resolve }] of group.entries()) {
        if (i > 0 && i % PORTION === 0) await nextPass();
        resolve(results[i] as Result);
      }
    } catch (error) {
      if (group.length > 1 && retryAlone(error)) {
        await Promise.all(group.map((one) => workOn([one])));
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
      // When everything that one event set off has been said.
      process.nextTick(workOnAll);
    });
}
