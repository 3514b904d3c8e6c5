import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLogWindow } from '../../../src/delivery/run/next-delivery.ts';

describe('the window of the movements that a run has read', () => {
  it('moves the cursor past a movement only when that movement and all earlier ones have a result', () => {
    const window = createLogWindow(10);
    window.read([12, 15, 19], 20);
    expect(window.sentThrough()).toBe(11);
    window.addResult(15);
    expect(window.sentThrough()).toBe(11);
    window.addResult(12);
    expect(window.sentThrough()).toBe(18);
    window.addResult(19);
    expect(window.sentThrough()).toBe(20);
  });

  it('moves the cursor over a range without matches', () => {
    const window = createLogWindow(0);
    window.read([], 1_000);
    expect([window.sentThrough(), window.readThrough()]).toEqual([1_000, 1_000]);
  });

  it('does not take a retry of an earlier movement for one of its own movements', () => {
    const window = createLogWindow(10);
    window.read([12, 15], 20);
    expect([3, 11, 16].map((id) => window.addResult(id))).toEqual([false, false, false]);
    expect(window.sentThrough()).toBe(11);
  });

  /** Either some ids are read, or the attempt of one id that is open ends: the oldest, the newest or any other. */
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('read' as const),
      gaps: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 6 }),
      beyond: fc.nat(3),
    }),
    fc.record({ kind: fc.constant('record' as const), at: fc.nat(30) }),
  );

  it('has the same cursor, at every moment, as a plain list of everything that was read', () => {
    fc.assert(
      fc.property(fc.nat(50), fc.array(step, { maxLength: 60 }), (from, steps) => {
        const window = createLogWindow(from);
        let through = from;
        const open: number[] = [];
        for (const it of steps) {
          if (it.kind === 'read') {
            const ids = it.gaps.map((gap) => {
              through += gap;
              return through;
            });
            through += it.beyond;
            open.push(...ids);
            window.read(ids, through);
          } else if (open.length > 0) {
            const [id = 0] = open.splice(it.at % open.length, 1);
            expect(window.addResult(id)).toBe(true);
          }
          const [head] = open;
          expect(window.sentThrough()).toBe(head === undefined ? through : head - 1);
          expect(window.readThrough()).toBe(through);
        }
      }),
      { numRuns: 500 },
    );
  });
});
