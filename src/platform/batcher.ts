import { setImmediate as nextPass } from 'node:timers/promises';

/** Puts items that come together into one batch. */

/** Results resolved per pass of the event loop. The work that hundreds of them trigger in one pass would block the loop. */
const RESULTS_PER_PASS = 8;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

export interface BatcherOptions<Item> {
  workers?: number;
  maxItems?: number;
  maxWeight?: number;
  weigh?: (item: Item) => number;
  afterFailure?: (error: unknown) => 'fail' | 'alone';
}

/** Takes the items that are waiting now, as a group. May be called once. */
export type TakeItems<Item> = () => readonly Item[];

/**
 * Combines many calls into few calls of `work`, like npm's dataloader. Calls made at the same time form a group, and so do calls
 * made while all workers are busy. Groups grow with the load, but no call is delayed to fill one.
 * @param work returns one result per item, in the order of the items.
 * @param options.workers groups that may be in progress at the same time.
 * @param options.maxItems largest number of items in a group.
 * @param options.maxWeight largest total weight of a group. A heavier item forms its own group.
 * @param options.afterFailure what to do with a group that failed with this error. `alone` retries its items one by one, so that a
 * bad item does not fail the others. `fail` is the default, and applies to a single item.
 */
export const createBatcher = <Item, Result>(
  work: (items: readonly Item[]) => Promise<Result[]>,
  options: BatcherOptions<Item> = {},
): ((item: Item) => Promise<Result>) => createLateBatcher((take) => work(take()), options);

/**
 * Like createBatcher, for work that must wait before it can begin, for example for a lock. Calls made during the wait join the
 * group.
 * @param work must call `take` once it can begin.
 */
export function createLateBatcher<Item, Result>(
  work: (take: TakeItems<Item>) => Promise<Result[]>,
  {
    workers = 1,
    maxItems = 100,
    maxWeight = Number.POSITIVE_INFINITY,
    weigh = () => 0,
    afterFailure = () => 'fail',
  }: BatcherOptions<Item> = {},
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

  async function workOn(take: () => Waiting<Item, Result>[]): Promise<void> {
    let group: Waiting<Item, Result>[] | null = null;
    try {
      const results = await work(() => {
        group = take();
        return group.map(({ item }) => item);
      });
      // TypeScript does not see that `work` has set `group`.
      for (const [i, { resolve }] of ((group ?? []) as Waiting<Item, Result>[]).entries()) {
        if (i > 0 && i % RESULTS_PER_PASS === 0) await nextPass();
        resolve(results[i] as Result);
      }
    } catch (error) {
      const failed = group ?? take();
      if (failed.length > 1 && afterFailure(error) === 'alone')
        return void (await Promise.all(failed.map((one) => workOn(() => [one]))));
      for (const { reject } of failed) reject(error);
    }
  }

  async function workOnAll(): Promise<void> {
    while (waiting.length > 0) await workOn(takeGroup);
    working -= 1;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (working === workers) return;
      working += 1;
      // Runs after the current code has made all its calls, so that they form one group.
      process.nextTick(workOnAll);
    });
}

/** Yields a list in parts of at most `size` items. */
export function* inParts<T>(list: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < list.length; at += size) yield list.slice(at, at + size);
}
