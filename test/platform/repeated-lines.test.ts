import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLog } from '../../src/platform/log.ts';

const MINUTE_MS = 60_000;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function logToArray(level = 'info') {
  const lines: { level: number; msg: string; repeated?: number; error?: string }[] = [];
  const log = createLog(level, undefined, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

const failure = (code: string) => Object.assign(new Error(`${code} at ${Math.random()}`), { code });

it('a warning or error that repeats is written five times, and then once a minute with its number', () => {
  const { log, lines } = logToArray();
  for (let minute = 1; minute <= 2; minute += 1) {
    for (let i = 0; i < 100; i += 1) log.error({ err: failure('ECONNREFUSED') }, 'webhooks not woken');
    vi.advanceTimersByTime(MINUTE_MS);
    expect(lines).toHaveLength(6 * minute);
    expect(lines.at(-1)).toMatchObject({
      level: 50,
      msg: 'webhooks not woken',
      error: 'ECONNREFUSED',
      repeated: 95,
    });
  }
  vi.advanceTimersByTime(10 * MINUTE_MS);
  expect(lines).toHaveLength(12);
});

it('lines with another message or another error are not repetitions, nor are five of them', () => {
  const { log, lines } = logToArray();
  for (let i = 0; i < 5; i += 1) {
    log.warn({ err: failure('ECONNREFUSED') }, 'webhooks not woken');
    log.warn({ err: failure('ETIMEDOUT') }, 'webhooks not woken');
    log.warn({ err: failure('ETIMEDOUT') }, 'import not queued yet');
    log.error({ err: new TypeError('a') }, 'request failed');
    log.error({ err: new TypeError('b') }, 'request failed');
    log.warn('Redis evicts keys.');
  }
  vi.advanceTimersByTime(MINUTE_MS);
  expect(lines).toHaveLength(30);
});

it('requests, attempts and the end of a process are never counted', () => {
  const { log, lines } = logToArray('debug');
  for (const level of ['info', 'debug', 'fatal'] as const)
    for (let i = 0; i < 20; i += 1) log[level]({ err: failure('ETIMEDOUT') }, 'delivery.attempted');
  vi.advanceTimersByTime(MINUTE_MS);
  expect(lines).toHaveLength(60);
});

it('10,000 different long messages are all written, and take little memory', () => {
  setFlagsFromString('--expose_gc');
  let written = 0;
  const log = createLog('info', undefined, {
    write: () => {
      written += 1;
    },
  });
  const long = 'x'.repeat(20_000);
  const used = () => {
    runInNewContext('gc')();
    return process.memoryUsage().heapUsed;
  };
  const before = used();
  for (let i = 0; i < 10_000; i += 1) log.error({ err: new Error(`${i} ${long}`) }, `${i} ${long}`);
  expect(written).toBe(10_000);
  expect(vi.getTimerCount()).toBe(1);
  // They have 400 MB. Of 500 kinds, the first 200 characters are kept.
  expect(used() - before).toBeLessThan(5_000_000);
  vi.advanceTimersByTime(MINUTE_MS);
  expect(vi.getTimerCount()).toBe(0);
});
