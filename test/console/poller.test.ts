import { expect, it } from 'vitest';
import { createPoller } from '../../src/platform/poller.ts';
import { until } from '../support/until.ts';

/** Counts how often it is read, and answers with the count. */
function counted(every = 5) {
  let reads = 0;
  const poller = createPoller({
    read: async () => {
      reads += 1;
      return reads;
    },
    every,
    kept: 3,
  });
  return { poller, reads: () => reads };
}

it('a poller reads once for callers that ask at the same time, and not again while the reading is fresh', async () => {
  const { poller, reads } = counted(60_000);
  expect(await Promise.all([poller.current(), poller.current()])).toEqual([1, 1]);
  expect(await poller.current()).toBe(1);
  expect(reads()).toBe(1);
});

it('a poller reads once for all subscribers, and tells each of them', async () => {
  const { poller, reads } = counted(50);
  const [one, other]: [number[], number[]] = [[], []];
  const ends = [poller.subscribe((it) => one.push(it)), poller.subscribe((it) => other.push(it))];
  // After a long pause between two readings, as on a busy machine, the history begins again.
  await until('three readings without a pause', () => poller.history.length === 3);
  for (const end of ends) end();
  expect(one).toEqual(other);
  expect(one.length).toBeGreaterThanOrEqual(2);
  expect(one.length).toBeLessThanOrEqual(reads());
});

it('a poller stops when it has no subscriber', async () => {
  const { poller, reads } = counted();
  let told = 0;
  const end = poller.subscribe(() => {
    told += 1;
  });
  await until('a reading', () => told > 0);
  end();
  const before = reads();
  // Another poller keeps ticking, so a timer that had not been stopped would have ticked too.
  const other = counted();
  const endOther = other.poller.subscribe(() => {});
  await until('ten readings of another poller', () => other.reads() >= 10);
  endOther();
  // A reading that had begun may have ended.
  expect(reads() - before).toBeLessThanOrEqual(1);
});

it('a poller goes on after a failed reading', async () => {
  let reads = 0;
  const poller = createPoller({
    read: async () => {
      reads += 1;
      if (reads === 2) throw new Error('MySQL cannot be reached');
      return reads;
    },
    every: 5,
    kept: 10,
  });
  const told: number[] = [];
  const end = poller.subscribe((it) => told.push(it));
  await until('a reading after the failure', () => told.includes(3));
  end();
  expect(told).not.toContain(2);
});

it('a poller ends all subscriptions when it is closed', () => {
  const { poller } = counted();
  poller.subscribe(() => {});
  poller.close();
  expect(poller.closed.aborted).toBe(true);
});
