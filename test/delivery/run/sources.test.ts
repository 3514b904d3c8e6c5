import { describe, expect, it } from 'vitest';
import { createSources } from '../../../src/delivery/run/next-delivery.ts';
import type { AttemptResult, Delivery, RunStart } from '../../../src/delivery/run/types.ts';
import { healthy } from '../../support/endpoint-health.ts';
import { failure, success } from '../../support/records.ts';

const start = (fields: Partial<RunStart> = {}): RunStart => ({
  revision: 1,
  ordered: false,
  maxInFlight: 16,
  batch: null,
  rateLimit: null,
  rateWait: 0,
  health: healthy,
  isHealthShared: false,
  lastError: null,
  cursor: { sentThrough: 0, highestRecordedId: 0 },
  hasBacklog: false,
  filtersVersion: 1,
  retryIn: null,
  replaying: false,
  retryDelays: [20],
  sliceLength: 3_000,
  longestRun: 60_000,
  linger: 100,
  ...fields,
});

const delivery = (subjectId: number, source: Delivery['source']): Delivery => ({
  subjectId,
  source,
  attempts: source === 'log' ? 0 : 1,
  failures: source === 'log' ? 0 : 1,
  content: null,
});
const retries = (...ids: number[]) => ids.map((id) => delivery(id, 'retries'));
const fresh = (...ids: number[]) => ids.map((id) => delivery(id, 'log'));

/** A run's sources, with short names for what a run does with them. */
function makeSources(fields: Partial<RunStart>) {
  const sources = createSources(start(fields), 0);
  const kinds = (now: number) => sources.read(now).map(({ type }) => type);
  /** Takes everything that is ready. */
  const takeAll = () => {
    const taken: Delivery[] = [];
    for (let next = sources.next(); next !== undefined; next = sources.next()) taken.push(next);
    return taken;
  };
  const end = (deliveries: readonly Delivery[]) => {
    for (const it of deliveries) sources.ended(it);
  };
  const record = (results: readonly AttemptResult[], now: number) => sources.recorded(results, now);
  return { sources, kinds, takeAll, end, record };
}
const idsOf = (deliveries: readonly Delivery[]) => deliveries.map(({ subjectId }) => subjectId);

describe('the retries of a run', () => {
  it('are sent once, although a read that began before the flush returns them again', () => {
    const { sources, kinds, takeAll, end, record } = makeSources({ retryIn: 0 });
    expect(kinds(0)).toContain('read retries');
    sources.addRetries({ deliveries: retries(1, 2), nextIn: 5 }, 0);
    const sent = takeAll();
    expect(idsOf(sent)).toEqual([1, 2]);
    end(sent);
    // The next read begins, and the results are committed before its answer comes. It saw the retries as they were before.
    expect(kinds(5)).toContain('read retries');
    record([success(1, { number: 2 }), success(2, { number: 2 })], 10);
    sources.addRetries({ deliveries: retries(1, 2, 3), nextIn: null }, 12);
    expect(idsOf(takeAll())).toEqual([3]);
  });

  it('are sent once, although a read returns them again while their results are being recorded', () => {
    const { sources, kinds, takeAll, end, record } = makeSources({ retryIn: 0 });
    kinds(0);
    sources.addRetries({ deliveries: retries(1), nextIn: 5 }, 0);
    end(takeAll());
    kinds(5);
    sources.addRetries({ deliveries: retries(1), nextIn: null }, 6);
    record([success(1, { number: 2 })], 10);
    expect(takeAll()).toEqual([]);
  });

  it('are read again when they have failed again, also if that was recorded during a read', () => {
    const { sources, kinds, takeAll, end, record } = makeSources({ retryIn: 0 });
    kinds(0);
    sources.addRetries({ deliveries: retries(1), nextIn: 5 }, 0);
    end(takeAll());
    kinds(5);
    record([failure(1, { number: 2, retryIn: 100 })], 10);
    sources.addRetries({ deliveries: retries(1), nextIn: null }, 12);
    expect(takeAll()).toEqual([]);
    expect(sources.nextRetryAt()).toBe(110);
    expect(kinds(109)).not.toContain('read retries');
    expect(kinds(110)).toContain('read retries');
    sources.addRetries({ deliveries: retries(1), nextIn: null }, 112);
    expect(idsOf(takeAll())).toEqual([1]);
  });

  it('share the POSTs with new movements: one in four is a retry', () => {
    const { sources, kinds, takeAll } = makeSources({ retryIn: 0 });
    kinds(0);
    sources.addMovements({ deliveries: fresh(11, 12, 13, 14, 15, 16), through: 16, complete: true }, 0);
    sources.addRetries({ deliveries: retries(1, 2, 3), nextIn: null }, 0);
    expect(idsOf(takeAll())).toEqual([1, 11, 12, 13, 2, 14, 15, 16, 3]);
  });

  it('of an ordered webhook go before new movements, one by one', () => {
    const { sources, kinds, takeAll, end, record } = makeSources({ retryIn: 0, ordered: true });
    kinds(0);
    sources.addMovements({ deliveries: fresh(11, 12), through: 12, complete: true }, 0);
    expect(sources.next()).toBeUndefined();
    sources.addRetries({ deliveries: retries(1), nextIn: 0 }, 0);
    const first = sources.next();
    expect(first?.subjectId).toBe(1);
    expect(kinds(1)).not.toContain('read retries');
    expect(sources.next()).toBeUndefined();
    end(first === undefined ? [] : [first]);
    record([success(1, { number: 2 })], 2);
    expect(kinds(2)).toContain('read retries');
    sources.addRetries({ deliveries: [], nextIn: null }, 3);
    expect(idsOf(takeAll())).toEqual([11, 12]);
  });
});

describe('a replay', () => {
  it('is expanded when no retry is due, and the retries that it makes due are read then', () => {
    const { sources, kinds, takeAll, end, record } = makeSources({ replaying: true });
    expect(kinds(0)).toContain('expand replay');
    expect(kinds(0)).not.toContain('expand replay');
    sources.replayExpanded({ added: 2, replaying: true }, 5);
    expect(kinds(5)).toEqual(['read retries']);
    sources.addRetries({ deliveries: retries(1, 2), nextIn: null }, 6);
    expect(kinds(6)).toEqual([]);
    end(takeAll());
    record([success(1, { number: 2 }), success(2, { number: 2 })], 7);
    expect(kinds(7)).toEqual(['expand replay']);
    sources.replayExpanded({ added: 0, replaying: false }, 8);
    expect(kinds(9)).toEqual([]);
  });
});
