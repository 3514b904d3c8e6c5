import { expect, it } from 'vitest';
import { isConnectionError } from '../../src/database/errors.ts';
import { createBatcher } from '../../src/platform/batcher.ts';

/** Work whose groups are ended by the test. */
function heldWork() {
  const groups: { items: readonly number[]; end: () => Promise<void> }[] = [];
  const work = (items: readonly number[]) =>
    new Promise<string[]>((resolve) => {
      const end = async () => {
        resolve(items.map((item) => `${item} done`));
        await new Promise(setImmediate);
      };
      groups.push({ items, end });
    });
  const begun = async () => {
    await new Promise(setImmediate);
    return groups.map(({ items }) => items);
  };
  return { groups, work, begun };
}

it('a batcher groups items that arrive together, and then items that arrived during the work', async () => {
  const { groups, work, begun } = heldWork();
  const ask = createBatcher(work);
  const results = [ask(1), Promise.resolve().then(() => ask(2))];
  expect(await begun()).toEqual([[1, 2]]);
  results.push(ask(3), ask(4));
  expect(await begun()).toEqual([[1, 2]]);
  await groups[0]?.end();
  expect(await begun()).toEqual([
    [1, 2],
    [3, 4],
  ]);
  await groups[1]?.end();
  expect(await Promise.all(results)).toEqual(['1 done', '2 done', '3 done', '4 done']);
  void ask(5);
  expect((await begun()).at(-1)).toEqual([5]);
});

it('a batcher limits the size and weight of its groups, and puts a heavier item in a group alone', async () => {
  const { groups, work, begun } = heldWork();
  const ask = createBatcher(work, { maxItems: 3, maxWeight: 10, weigh: (item) => item });
  for (const item of [12, 4, 5, 2, 1, 1, 1, 1]) void ask(item);
  await begun();
  for (let i = 0; i < 4; i += 1) await groups[i]?.end();
  expect(await begun()).toEqual([[12], [4, 5], [2, 1, 1], [1, 1]]);
});

it('a batcher with several workers works on several groups at once', async () => {
  const { groups, work, begun } = heldWork();
  const ask = createBatcher(work, { workers: 2 });
  for (const item of [1, 2, 3]) {
    void ask(item);
    await begun();
  }
  void ask(4);
  expect(await begun()).toEqual([[1], [2]]);
  await groups[1]?.end();
  expect(await begun()).toEqual([[1], [2], [3, 4]]);
});

it('a batcher passes an error to all items of a group, and goes on with the waiting items', async () => {
  const { groups, work, begun } = heldWork();
  let isFirst = true;
  const ask = createBatcher((items: readonly number[]) => {
    if (!isFirst) return work(items);
    isFirst = false;
    return Promise.reject(new Error('refused'));
  });
  const settled = await Promise.allSettled([1, 2].map(ask));
  expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const later = ask(3);
  expect(await begun()).toEqual([[3]]);
  await groups[0]?.end();
  expect(await later).toBe('3 done');
});

/** Refuses the 2, and everything while `away`. */
function refusingWork() {
  const tried: (readonly number[])[] = [];
  const work = async (items: readonly number[]) => {
    tried.push(items);
    if (items.includes(9)) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED', fatal: true });
    if (items.includes(2)) throw new Error('refused');
    return items.map((item) => item * 10);
  };
  return { tried, work };
}

it('a batcher with a rule for failures tries each item of a failed group alone', async () => {
  const { tried, work } = refusingWork();
  const ask = createBatcher(work, {
    afterFailure: (error) => (isConnectionError(error) ? 'fail' : 'alone'),
  });
  const settled = await Promise.allSettled([1, 2, 3].map(ask));
  expect(tried).toEqual([[1, 2, 3], [1], [2], [3]]);
  const outcomes = settled.map((it) => (it.status === 'fulfilled' ? it.value : it.reason.message));
  expect(outcomes).toEqual([10, 'refused', 30]);
});

it('a batcher fails the whole group when MySQL is unreachable, or when no rule allows single items', async () => {
  for (const [options, last] of [
    [{ afterFailure: (error: unknown) => (isConnectionError(error) ? 'fail' : 'alone') }, 9],
    [{}, 2],
  ] as const) {
    const { tried, work } = refusingWork();
    const settled = await Promise.allSettled([1, 3, last].map(createBatcher(work, options)));
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(tried).toEqual([[1, 3, last]]);
  }
});
