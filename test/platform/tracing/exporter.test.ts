import { pino } from 'pino';
import { beforeEach, expect, it, vi } from 'vitest';
import { startTracing, type Tracing } from '../../../src/platform/tracing.ts';
import { useCollector } from '../../support/collector.ts';
import { until } from '../../support/until.ts';

vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '10');

const collector = useCollector();
const lines: string[] = [];
const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) });

beforeEach(() => {
  lines.length = 0;
  collector.answer(null);
});

async function start(url: string): Promise<Tracing> {
  const tracing = await startTracing(
    { url: `${url}/v1/traces?key=MARKER`, headers: { authorization: 'MARKER' } },
    { roles: ['api'], log },
  );
  if (tracing === undefined) throw new Error('traces are off');
  return tracing;
}

/** Ends a span, and waits until the collector was asked to take it. */
async function export1(tracing: Tracing): Promise<void> {
  const before = collector.requests.length;
  tracing.begin({ name: 'a span', kind: 'internal', parent: null, attributes: {} }).end();
  await until('a request', () => collector.requests.length > before && collector.open === 0);
}

it('a collector that refuses spans is logged once, and once more when it accepts spans again', async () => {
  const tracing = await start(collector.url);
  await export1(tracing);
  expect(lines).toEqual([]);
  collector.answer((response) => response.writeHead(400).end('MARKER'));
  await export1(tracing);
  await export1(tracing);
  await export1(tracing);
  await until('a line', () => lines.length > 0);
  collector.answer(null);
  await export1(tracing);
  await until('another line', () => lines.length > 1);
  await tracing.stop();
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      level: 40,
      reason: 'Bad Request',
      collector: collector.url,
      msg: expect.stringContaining('cannot be sent to the collector'),
    },
    { level: 30, collector: collector.url, msg: expect.stringContaining('again') },
  ]);
  expect(lines.join('')).not.toContain('MARKER');
});

it('a collector that is down is logged, and stops nothing', async () => {
  const tracing = await start('http://127.0.0.1:9');
  tracing.begin({ name: 'a span', kind: 'internal', parent: null, attributes: {} }).end();
  await tracing.stop();
  await until('a line', () => lines.length > 0);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 40,
    reason: expect.stringContaining('ECONNREFUSED'),
    collector: 'http://127.0.0.1:9',
  });
});

it('a collector that hangs does not delay the end of tracing', async () => {
  const tracing = await start(collector.url);
  collector.answer(() => {});
  tracing.begin({ name: 'a span', kind: 'internal', parent: null, attributes: {} }).end();
  await until('a request', () => collector.open === 1);
  await tracing.stop();
  // The SDK itself still waits for the answer.
  expect(collector.open).toBe(1);
});
