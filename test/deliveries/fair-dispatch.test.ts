import { expect, it } from 'vitest';
import { createFairDispatch } from '../../src/deliveries/fair-dispatch.ts';

/** Dispatches for webhooks, and notes whose POSTs have begun. */
function dispatchFor(options: Parameters<typeof createFairDispatch>[0]) {
  const begun: string[] = [];
  const dispatch = createFairDispatch(options);
  return {
    begun,
    add(webhookId: string, count = 1) {
      for (let i = 0; i < count; i += 1) dispatch.add(webhookId, () => void begun.push(webhookId));
    },
  };
}

const nextPass = () => new Promise(setImmediate);

it('fair dispatch begins so many POSTs in one pass of the event loop, and the rest in the next ones', async () => {
  const { begun, add } = dispatchFor({ perPass: 3, perWebhook: 2 });
  add('a', 8);
  expect(begun).toHaveLength(0);
  const counts = [];
  for (let pass = 0; pass < 3; pass += 1) {
    await nextPass();
    counts.push(begun.length);
  }
  expect(counts).toEqual([3, 6, 8]);
});

it('fair dispatch gives webhooks turns, however large the backlog of one of them', async () => {
  const { begun, add } = dispatchFor({ perPass: 4, perWebhook: 1 });
  add('huge', 100);
  for (const name of ['b', 'c', 'd']) add(name, 2);
  while (begun.length < 8) await nextPass();
  expect(begun.slice(0, 8)).toEqual(['huge', 'b', 'c', 'd', 'huge', 'b', 'c', 'd']);
});

it('fair dispatch goes on with the webhook whose turn was next when the pass before was full', async () => {
  const { begun, add } = dispatchFor({ perPass: 2, perWebhook: 2 });
  for (const name of ['a', 'b', 'c']) add(name, 4);
  while (begun.length < 12) await nextPass();
  expect(begun.join('')).toBe('aabbccaabbcc');
});

it('fair dispatch gives a webhook that comes while others wait its turn behind them', async () => {
  const { begun, add } = dispatchFor({ perPass: 1, perWebhook: 1 });
  add('a', 3);
  while (begun.length < 1) await nextPass();
  add('late');
  while (begun.length < 4) await nextPass();
  expect(begun).toEqual(['a', 'a', 'late', 'a']);
});

it('fair dispatch begins everything, also what is added while a POST begins', async () => {
  const begun: number[] = [];
  const dispatch = createFairDispatch({ perPass: 4, perWebhook: 2 });
  const begin = (number: number) => {
    begun.push(number);
    if (number < 50) dispatch.add('a', () => begin(number + 1));
  };
  dispatch.add('a', () => begin(1));
  while (begun.length < 50) await nextPass();
  expect(begun).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
});
