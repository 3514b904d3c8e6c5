import { expect, it } from 'vitest';
import { createBudget } from '../../src/platform/budget.ts';

const MINUTE = 60_000;

/** Whether a promise is still pending when everything that is due now has run. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let pending = true;
  promise.then(() => {
    pending = false;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return pending;
}

it('the budget grants bytes in the order of the requests, as bytes become free', async () => {
  const budget = createBudget({ total: 10, perOwner: 10, patience: MINUTE });
  const release = await budget.reserve('a', 8);
  const large = budget.reserve('b', 9);
  const small = budget.reserve('c', 1);
  expect(await isPending(large)).toBe(true);
  // It would fit, but a stream of small requests would then keep the large one out.
  expect(await isPending(small)).toBe(true);
  release?.();
  expect(await large).not.toBeNull();
  expect(await small).not.toBeNull();
});

it("the budget passes over a request that waits only for its own owner's bytes", async () => {
  const budget = createBudget({ total: 10, perOwner: 5, patience: MINUTE });
  const release = await budget.reserve('a', 5);
  const own = budget.reserve('a', 5);
  expect(await budget.reserve('b', 5)).not.toBeNull();
  expect(await isPending(own)).toBe(true);
  release?.();
  expect(await own).not.toBeNull();
});

it('the budget refuses a request after its patience, and then serves the requests behind it', async () => {
  const budget = createBudget({ total: 10, perOwner: 10, patience: 20 });
  const release = await budget.reserve('a', 5);
  expect(await budget.reserve('b', 10)).toBeNull();
  expect(await budget.reserve('c', 5)).not.toBeNull();
  release?.();
});
