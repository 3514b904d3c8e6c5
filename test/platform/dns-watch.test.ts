import { describe, expect, it } from 'vitest';
import { createDnsWatch } from '../../src/platform/dns-watch.ts';

function createWatch() {
  let now = 0;
  const timers = new Set<{ at: number; callback: () => void }>();
  const watch = createDnsWatch({
    now: () => now,
    after(milliseconds, callback) {
      const timer = { at: now + milliseconds, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
  });
  return {
    watch,
    /** A lookup of a customer that fails now, after 4 s. */
    fails: (customer: string) => watch.isSilentFor(customer, 4_000),
    pass(milliseconds: number) {
      now += milliseconds;
      for (const timer of [...timers]) if (timer.at <= now && timers.delete(timer)) timer.callback();
    },
  };
}

describe('a watch of DNS', () => {
  it('says that the servers are silent after 30 s without an answer, for the names of three customers', async () => {
    const { watch, fails, pass } = createWatch();
    for (const customer of ['1', '2', '3', '4']) watch.asks(customer);
    pass(10_000);
    const ends = ['1', '2', '3'].map(fails);
    expect(watch.problem()).toBeNull();
    pass(20_000);
    expect(await Promise.all(ends)).toEqual([true, true, true]);
    expect(watch.problem()).toMatch(/gives no answers/);
    // Nobody waits any more.
    expect(await fails('4')).toBe(true);
    watch.answered();
    expect(watch.problem()).toBeNull();
  });

  it('blames the name if another name is answered, before the lookup ends or afterwards', async () => {
    const { watch, fails, pass } = createWatch();
    for (const customer of ['1', '2', '3']) watch.asks(customer);
    pass(60_000);
    watch.answered();
    expect(await fails('1')).toBe(false);
    pass(10_000);
    const waiting = [fails('1'), fails('2'), fails('3')];
    watch.answered();
    expect(await Promise.all(waiting)).toEqual([false, false, false]);
  });

  it('blames the name if names of fewer customers fail than there are, up to three', async () => {
    const { watch, fails, pass } = createWatch();
    for (const customer of ['1', '2', '3']) watch.asks(customer);
    pass(60_000);
    const waiting = [fails('1'), fails('1'), fails('2')];
    expect(watch.problem()).toBeNull();
    pass(10_000);
    expect(await Promise.all(waiting)).toEqual([false, false, false]);
    const first = fails('2');
    // With the third one it is clear.
    expect(await fails('3')).toBe(true);
    expect(await first).toBe(true);
  });

  it('needs only those that there are', async () => {
    const { watch, fails, pass } = createWatch();
    watch.asks('1');
    pass(60_000);
    expect(await fails('1')).toBe(true);
  });

  it('lets one ask each second while the servers are silent', async () => {
    const { watch, fails, pass } = createWatch();
    watch.asks('1');
    expect([watch.mayAsk(), watch.mayAsk()]).toEqual([true, true]);
    pass(60_000);
    await fails('1');
    expect([watch.mayAsk(), watch.mayAsk()]).toEqual([true, false]);
    pass(1_000);
    expect(watch.mayAsk()).toBe(true);
  });

  it('keeps nobody waiting when the process stops', async () => {
    const { watch, fails, pass } = createWatch();
    watch.asks('1');
    pass(10_000);
    const waiting = fails('1');
    watch.stop();
    expect(await waiting).toBe(true);
  });
});
