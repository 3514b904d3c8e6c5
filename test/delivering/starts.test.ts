import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createStarts } from '../../src/delivering/starts.ts';

/** Webhooks that begin as often as they are let; whose turn it was is written down. */
function webhooks() {
  const begun: string[] = [];
  return {
    begun,
    owes(name: string, count: number): () => boolean {
      let left = count;
      return () => {
        if (left === 0) return false;
        left -= 1;
        begun.push(name);
        return true;
      };
    },
  };
}

it('begins so many in one pass of the event loop, and the rest in the next ones', async () => {
  const { begun, owes } = webhooks();
  const starts = createStarts({ perPass: 3, perTurn: 3 });
  starts.share(owes('a', 8));
  expect(begun).toHaveLength(3);
  await new Promise(setImmediate);
  expect(begun).toHaveLength(6);
  await new Promise(setImmediate);
  expect(begun).toHaveLength(8);
});

it('lets those that wait take turns, however much one of them is owed', async () => {
  const { begun, owes } = webhooks();
  const starts = createStarts({ perPass: 4, perTurn: 1 });
  starts.share(owes('huge', 100));
  for (const name of ['b', 'c', 'd']) starts.share(owes(name, 2));
  while (begun.length < 12) await new Promise(setImmediate);
  for (const name of ['b', 'c', 'd']) expect(begun.slice(0, 12).filter((it) => it === name)).toHaveLength(2);
});

it('comes to the end of what is owed also while it leaves room for others', async () => {
  const { begun, owes } = webhooks();
  const starts = createStarts({ perPass: 4, perTurn: 2 });
  const begin = owes('a', 200);
  starts.servedLittle();
  // Busy, so that passes are moved apart.
  starts.share(() => {
    const until = performance.now() + 2;
    while (performance.now() < until);
    return begin();
  });
  while (begun.length < 200) await sleep(5);
  expect(begun).toHaveLength(200);
});
