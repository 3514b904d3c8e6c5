import { expect, it } from 'vitest';
import { createWatchdog, MOST_MISSED, PING_EVERY } from '../../src/supervisor/processes/watchdog.ts';

const [ONE, OTHER] = [{ name: 'one' }, { name: 'other' }];

/** Ticks until a process is killed. @returns how often. */
function ticksUntilKill(
  gaps: readonly number[],
  answers: (tick: number) => boolean = () => false,
): number | null {
  const watchdog = createWatchdog<object>();
  let now = 1_000_000;
  for (const [tick, gap] of gaps.entries()) {
    now += gap;
    const { ping, kill } = watchdog.tick(now, [ONE]);
    if (kill.length > 0) return tick;
    if (ping.length > 0 && answers(tick)) watchdog.answered(ONE);
  }
  return null;
}

const everyTick = (count: number, gap = PING_EVERY) => Array.from({ length: count }, () => gap);

it('a process that misses six pings in a row is killed', () => {
  expect(ticksUntilKill(everyTick(100))).toBe(MOST_MISSED);
});

it('a process that answers now and then lives', () => {
  expect(ticksUntilKill(everyTick(100), () => true)).toBe(null);
  const watchdog = createWatchdog<object>();
  for (let tick = 0; tick < 100; tick += 1) {
    expect(watchdog.tick(tick * PING_EVERY, [ONE]).kill).toEqual([]);
    if (tick % MOST_MISSED === 0) watchdog.answered(ONE);
  }
});

it('ticks that come late do not count, so that a machine that sleeps or swaps kills nobody', () => {
  expect(ticksUntilKill(everyTick(100, PING_EVERY + 2_001))).toBe(null);
  expect(ticksUntilKill(everyTick(100, PING_EVERY + 2_000))).toBe(MOST_MISSED);
  const slept = [...everyTick(MOST_MISSED), 8 * 60 * 60 * 1_000, ...everyTick(2)];
  expect(ticksUntilKill(slept)).toBe(MOST_MISSED + 1);
});

it('a clock that is set back kills nobody by itself', () => {
  expect(ticksUntilKill([PING_EVERY, -60 * 60 * 1_000, PING_EVERY])).toBe(null);
});

it('each process is counted for itself, and one ping is on its way at a time', () => {
  const watchdog = createWatchdog<object>();
  expect(watchdog.tick(0, [ONE, OTHER])).toEqual({ ping: [ONE, OTHER], kill: [] });
  watchdog.answered(OTHER);
  expect(watchdog.tick(PING_EVERY, [ONE, OTHER])).toEqual({ ping: [OTHER], kill: [] });
  for (let tick = 2; tick < MOST_MISSED; tick += 1) {
    watchdog.answered(OTHER);
    watchdog.tick(tick * PING_EVERY, [ONE, OTHER]);
  }
  watchdog.answered(OTHER);
  expect(watchdog.tick(MOST_MISSED * PING_EVERY, [ONE, OTHER])).toEqual({ ping: [OTHER], kill: [ONE] });
});
