import { describe, expect, it } from 'vitest';
import { createLanes } from '../../src/importing/lanes.ts';

/** Lanes whose groups are ended by the test, in the order in which they began. */
function heldLanes(most: number) {
  const groups: { key: string; items: readonly string[]; end: (error?: Error) => void }[] = [];
  const join = createLanes(most, (key, items: readonly string[]) => {
    return new Promise<string[]>((resolve, reject) => {
      const end = (error?: Error) => (error ? reject(error) : resolve(items.map((item) => `${item} done`)));
      groups.push({ key, items, end });
    });
  });
  return { groups, join };
}

describe('a lane', () => {
  it('works on the first at once, and on all that came meanwhile together', async () => {
    const { groups, join } = heldLanes(10);
    const results = ['a', 'b', 'c'].map((item) => join('k', item, 1));
    expect(groups.map(({ items }) => items)).toEqual([['a']]);
    groups[0]?.end();
    expect(await results[0]).toBe('a done');
    expect(groups.map(({ items }) => items)).toEqual([['a'], ['b', 'c']]);
    groups[1]?.end();
    expect(await Promise.all(results)).toEqual(['a done', 'b done', 'c done']);
  });

  it('waits for no lane of another key', () => {
    const { groups, join } = heldLanes(10);
    for (const key of ['k', 'l']) void join(key, 'a', 1);
    expect(groups.map(({ key }) => key)).toEqual(['k', 'l']);
  });

  it('takes no more than may wait, and takes them again when those have their turn', async () => {
    const { groups, join } = heldLanes(3);
    const first = join('k', 'a', 3);
    void join('k', 'b', 2);
    expect(join('k', 'c', 2)).toBeNull();
    void join('k', 'd', 1);
    groups[0]?.end();
    await first;
    expect(groups[1]?.items).toEqual(['b', 'd']);
    expect(join('k', 'e', 3)).not.toBeNull();
  });

  it('fails as a whole with those that wait, and then begins anew', async () => {
    const { groups, join } = heldLanes(10);
    const results = ['a', 'b'].map((item) => join('k', item, 1));
    const settled = Promise.allSettled(results);
    groups[0]?.end(new Error('away'));
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const later = join('k', 'c', 1);
    groups[1]?.end();
    expect(await later).toBe('c done');
  });
});
