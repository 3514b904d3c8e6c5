import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDeliveryMetrics, type DeliveryMetrics } from '../../../src/platform/metrics.ts';
import { type Exposition, parseExposition } from '../../support/exposition.ts';
import { failure, success } from '../../support/records.ts';

let registry: Registry;
let metrics: DeliveryMetrics;
const read = async (): Promise<Exposition['samples']> => parseExposition(await registry.metrics()).samples;

beforeEach(() => {
  registry = new Registry();
  metrics = createDeliveryMetrics(registry);
});

const STORED = Date.UTC(2026, 0, 15, 9);
const at = (seconds: number) => STORED + seconds * 1_000;

describe('recorded delivery results', () => {
  it('count as attempts by outcome, and as deliveries when they end a delivery', async () => {
    metrics.recorded([
      success(1),
      success(2, { number: 3, failures: 2 }),
      failure(3),
      failure(4, { outcome: 'throttled' }),
      failure(5, { outcome: 'gone' }),
      failure(6, { outcome: 'refused' }),
      failure(7, { status: 'failed', retryIn: null, number: 12, failures: 12 }),
    ]);
    const samples = await read();
    const outcomes = ['delivered', 'failed', 'throttled', 'gone', 'refused'];
    expect(outcomes.map((it) => samples.get(`ledgerbell_attempts_total{outcome="${it}"}`))).toEqual([
      2, 2, 1, 1, 1,
    ]);
    expect(samples.get('ledgerbell_deliveries_total{outcome="delivered"}')).toBe(2);
    expect(samples.get('ledgerbell_deliveries_total{outcome="failed"}')).toBe(1);
    expect(samples.get('ledgerbell_attempt_duration_seconds_count')).toBe(7);
  });

  it('count a batch and its duration once, and each of its events as an attempt', async () => {
    const inBatch = { batchFirst: 1, durationMs: 40 };
    metrics.recorded([success(1, inBatch), success(2, inBatch), failure(3, inBatch), success(4)]);
    metrics.recorded([success(5, { batchFirst: 5 })]);
    const samples = await read();
    expect(samples.get('ledgerbell_batches_total')).toBe(2);
    expect(samples.get('ledgerbell_batch_events_total')).toBe(4);
    expect(samples.get('ledgerbell_attempts_total{outcome="delivered"}')).toBe(4);
    expect(samples.get('ledgerbell_attempt_duration_seconds_count')).toBe(3);
  });

  it('add the duration of each attempt in seconds, above 15 when the timeout ended it', async () => {
    metrics.recorded([success(1, { durationMs: 40 }), failure(2, { durationMs: 15_120 })]);
    const samples = await read();
    expect(samples.get('ledgerbell_attempt_duration_seconds_sum')).toBeCloseTo(15.16);
    expect(samples.get('ledgerbell_attempt_duration_seconds_bucket{le="0.05"}')).toBe(1);
    expect(samples.get('ledgerbell_attempt_duration_seconds_bucket{le="15"}')).toBe(1);
  });

  it('add the time from stored to delivered, also for a retried delivery', async () => {
    metrics.recorded([
      success(1, { storedAt: STORED, startedAt: at(0.02), durationMs: 20 }),
      success(2, { storedAt: STORED, startedAt: at(34), durationMs: 1_000, number: 3, failures: 2 }),
      failure(3, { storedAt: STORED, startedAt: at(1) }),
    ]);
    const samples = await read();
    expect(samples.get('ledgerbell_delivery_latency_seconds_count')).toBe(2);
    expect(samples.get('ledgerbell_delivery_latency_seconds_sum')).toBeCloseTo(35.04);
    expect(samples.get('ledgerbell_delivery_latency_seconds_bucket{le="0.05"}')).toBe(1);
    expect(samples.get('ledgerbell_delivery_latency_seconds_bucket{le="80"}')).toBe(2);
  });

  it('add no delivery time for a delivery that was sent again on request', async () => {
    metrics.recorded([
      success(1, { storedAt: STORED, startedAt: at(90 * 86_400), number: 2, failures: 0 }),
      success(2, { storedAt: STORED, startedAt: at(90 * 86_400), number: 14, failures: 1 }),
    ]);
    expect((await read()).get('ledgerbell_delivery_latency_seconds_count')).toBe(0);
  });

  it('count a delivery whose movement is gone, but no attempt, because nothing was sent', async () => {
    metrics.recorded([failure(1, { storedAt: null, status: 'failed', durationMs: 0, retryIn: null })]);
    const samples = await read();
    expect(samples.get('ledgerbell_deliveries_total{outcome="failed"}')).toBe(1);
    expect(samples.get('ledgerbell_attempts_total{outcome="failed"}')).toBe(0);
    expect(samples.get('ledgerbell_attempt_duration_seconds_count')).toBe(0);
  });

  it.each([
    ['a clock that is behind that of MySQL', at(5), 0],
    ['a time that is no number', Number.NaN, undefined],
  ])('never throw for %s', async (_, storedAt, sum) => {
    expect(() =>
      metrics.recorded([success(1, { storedAt, startedAt: STORED, durationMs: 10 })]),
    ).not.toThrow();
    const samples = await read();
    expect(samples.get('ledgerbell_delivery_latency_seconds_count')).toBe(sum === undefined ? 0 : 1);
    expect(samples.get('ledgerbell_delivery_latency_seconds_sum')).toBe(0);
    expect(samples.get('ledgerbell_deliveries_total{outcome="delivered"}')).toBe(1);
  });
});
