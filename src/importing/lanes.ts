interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

interface Lane<Item, Result> {
  waiting: Waiting<Item, Result>[];
  weight: number;
}

/** Takes an item, to be worked on together with others of the same key. @returns null when too many wait already. */
export type Join<Item, Result> = (key: string, item: Item, weight: number) => Promise<Result> | null;

/**
 * Work in groups: of each key one group is worked on at a time, and what comes meanwhile waits and is the next one. Nobody waits
 * for a group to grow, and the more comes, the larger they are.
 * @param most the weight that may wait, of each key.
 * @param work gives a result for each item, in their order. When it throws, so do those that wait: they would meet the same.
 */
export function createLanes<Item, Result>(
  most: number,
  work: (key: string, items: readonly Item[]) => Promise<Result[]>,
): Join<Item, Result> {
  const lanes = new Map<string, Lane<Item, Result>>();

  async function run(key: string, lane: Lane<Item, Result>): Promise<void> {
    while (lane.waiting.length > 0) {
      const group = takeAll(lane);
      try {
        const results = await work(
          key,
          group.map(({ item }) => item),
        );
        for (const [i, { resolve }] of group.entries()) resolve(results[i] as Result);
      } catch (error) {
        for (const { reject } of [...group, ...takeAll(lane)]) reject(error);
      }
    }
    lanes.delete(key);
  }

  return function join(key, item, weight) {
    const running = lanes.get(key);
    const lane = running ?? { waiting: [], weight: 0 };
    if (lane.weight + weight > most) return null;
    lane.weight += weight;
    const result = new Promise<Result>((resolve, reject) => lane.waiting.push({ item, resolve, reject }));
    if (running === undefined) {
      lanes.set(key, lane);
      void run(key, lane);
    }
    return result;
  };
}

function takeAll<Item, Result>(lane: Lane<Item, Result>): Waiting<Item, Result>[] {
  lane.weight = 0;
  return lane.waiting.splice(0);
}
