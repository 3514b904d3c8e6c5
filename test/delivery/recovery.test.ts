import { beforeAll, expect, it } from 'vitest';
import { addDeliveryJobs } from '../../src/platform/queues.ts';
import { useRunners } from '../support/runner.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, cursorOf, setCursor } from '../support/subscriber.ts';
import { until } from '../support/until.ts';
import { useDeliveryWorkers } from '../support/webhooks.ts';
import { expectSlowStart, openings, useEndpoint } from './failing-endpoint.ts';

const service = useService({ roles: ['api'] });
const workers = useDeliveryWorkers(service);

/** Retries are due immediately, so that no test waits for their delay. Circuits are made half-open by SQL instead. */
const tuning = { delays: Array<number>(11).fill(20) };

beforeAll(() => {
  workers.start(tuning);
});

/** Creates a webhook with this many pending deliveries, without waking it. */
async function createBacklog(endpoint: string, count: number, fields: object = {}): Promise<string> {
  const { webhook, store } = await createSubscriber(service, endpoint, fields);
  await store(count);
  return webhook.id;
}

const wake = (webhookId: string) => addDeliveryJobs(service.runtime.queues, [webhookId]);

/** Waits until the webhook's circuit is open and no run has its lease. */
const circuitOpen = (webhookId: string) =>
  until('an open circuit', async () => {
    const rows = await service.runtime.database.query<unknown[]>(
      'SELECT 1 FROM webhook_cursors WHERE webhook_id = ? AND circuit_open_until > NOW(6) AND lease_until IS NULL',
      [webhookId],
    );
    return rows.length > 0;
  });

/** Makes the circuit half-open, as if its time had passed. What is sent next is the probe. */
const halfOpen = (webhookId: string) =>
  setCursor(service, webhookId, 'circuit_open_until = NOW(6) - INTERVAL 1 SECOND');

async function probe(webhookId: string): Promise<void> {
  await halfOpen(webhookId);
  await wake(webhookId);
}

/** Counts the deliveries of a webhook and their attempts. Those that were never attempted have no row. */
async function progressOf(webhookId: string) {
  const [row] = await service.runtime.database.query<Record<string, string>[]>(
    `SELECT COUNT(*) AS tried, COALESCE(SUM(d.status = 'delivered'), 0) AS delivered, COALESCE(SUM(d.attempts), 0) AS attempts,
       (SELECT COUNT(*) FROM attempts a WHERE a.webhook_id = ?) AS failed_attempts,
       (SELECT matched_count FROM webhook_backlogs b WHERE b.webhook_id = ?) AS matched
     FROM deliveries d WHERE d.webhook_id = ?`,
    [webhookId, webhookId, webhookId],
  );
  const count = (name: string) => Number(row?.[name]);
  return {
    delivered: count('delivered'),
    untried: count('matched') - count('tried'),
    attempts: count('attempts'),
    /** One for each successful delivery, and one for each row of a failed attempt. */
    logged: count('delivered') + count('failed_attempts'),
  };
}

/** For twenty thousand POSTs to an endpoint in this same process, on a machine that is busy with other tests. */
const LONG = 150_000;

/** Waits until everything has arrived, and then until it is recorded. MySQL is not asked before that, which would slow it down. */
async function allDelivered(webhookId: string, count: number, arrived: () => number): Promise<void> {
  await until('everything came in', () => arrived() >= count, LONG);
  await until('everything written', async () => (await progressOf(webhookId)).delivered === count);
}

const endpoint = useEndpoint();

it(
  'an endpoint that was down with 5,000 pending deliveries is sent each of them once, slowly at first and never too many at once',
  async () => {
    const PENDING = 5_000;
    const webhookId = await createBacklog(endpoint.url, PENDING);

    // The endpoint refuses connections. One that has never answered is probed by one POST.
    await wake(webhookId);
    await circuitOpen(webhookId);
    const refused = await progressOf(webhookId);
    expect(refused.attempts).toBe(1);
    expect(refused).toEqual({
      delivered: 0,
      untried: expect.any(Number),
      attempts: refused.logged,
      logged: refused.attempts,
    });
    expect(refused.untried).toBe(PENDING - 1);

    // It answers 503. Each time the circuit is half-open, one probe reaches the endpoint, and nothing else.
    await endpoint.listen();
    const PROBES = 3;
    for (let probes = 1; probes <= PROBES; probes += 1) {
      await probe(webhookId);
      await until('the probe', () => endpoint.came(503) === probes);
      await circuitOpen(webhookId);
      expect(endpoint.came(503)).toBe(probes);
    }
    endpoint.take();
    const probed = await progressOf(webhookId);
    expect(probed.attempts).toBe(refused.attempts + PROBES);
    expect(probed.logged).toBe(probed.attempts);
    expect(probed.untried).toBeGreaterThanOrEqual(refused.untried - PROBES);

    // It comes back, and fails again while recovering. By then 4 may be in flight; three failures open the circuit.
    const HEALTHY = 5;
    endpoint.recover(HEALTHY);
    await probe(webhookId);
    await until('failures again', () => endpoint.came(503) > 2);
    await circuitOpen(webhookId);
    const relapse = endpoint.take();
    expectSlowStart(relapse, 16);
    expect(
      relapse.filter(({ kind, status }) => kind === 'came' && status === 503).length,
    ).toBeLessThanOrEqual(4 + 2);
    expect(await progressOf(webhookId)).toMatchObject({ delivered: HEALTHY });

    // It comes back for good, and starts at one POST again.
    endpoint.recover();
    await probe(webhookId);
    await allDelivered(webhookId, PENDING, () => HEALTHY + endpoint.came(200));
    const recovery = endpoint.take();
    expectSlowStart(recovery, 16);
    expect(Math.max(...openings(recovery).map(({ open }) => open))).toBe(16);
    const arrived = [...relapse, ...recovery].filter(({ kind, status }) => kind === 'came' && status === 200);
    expect(arrived).toHaveLength(PENDING);
    expect(new Set(arrived.map(({ id }) => id)).size).toBe(PENDING);
    const end = await progressOf(webhookId);
    expect(end.attempts).toBe(end.logged);
    expect(end.untried).toBe(0);
  },
  LONG,
);

const narrow = useEndpoint();

it.each([
  ['ordered', { ordered: true }, 1, 0],
  ['rate-limited', { rate_limit: 50 }, 16, 1_000 / 50],
])(
  'a delivery run keeps to the limits of an %s webhook, also when it catches up',
  async (_, fields, limit, interval) => {
    const PENDING = 60;
    narrow.take();
    narrow.recover(0);
    const webhookId = await createBacklog(narrow.url, PENDING, fields);
    await wake(webhookId);
    await circuitOpen(webhookId);
    await narrow.listen();
    narrow.take();
    narrow.recover();
    await until('all delivered', async () => {
      await probe(webhookId);
      return (await progressOf(webhookId)).delivered === PENDING;
    });
    const events = narrow.take();
    expectSlowStart(events, limit);
    const came = events.filter(({ kind }) => kind === 'came');
    expect(came).toHaveLength(PENDING);
    if (limit === 1) expect(came.map(({ id }) => id)).toEqual(came.map(({ id }) => id).toSorted());
    // There is no credit for the time in which nothing was sent, except for the timer's lateness.
    expect((came.at(-1)?.at ?? 0) - (came[0]?.at ?? 0)).toBeGreaterThan((PENDING - 1) * interval - 50);
  },
);

const runners = useRunners(service);

it('an ordered webhook keeps the place of a failed delivery each time its circuit is half-open', async () => {
  // A job whose retry is due when it reads the state again makes another run, before the endpoint has recovered.
  const runner = runners.create({ delays: Array<number>(11).fill(1_000) });
  const webhookId = await createBacklog(narrow.url, 3, { ordered: true });
  narrow.take();
  narrow.recover(1);
  await until('all delivered', async () => {
    await runner.runJob(webhookId);
    const { circuit_open_until } = await cursorOf(service, webhookId);
    narrow.recover();
    if (circuit_open_until !== null) await halfOpen(webhookId);
    return (await progressOf(webhookId)).delivered === 3;
  });
  const came = narrow.take().filter(({ kind }) => kind === 'came');
  const [first, second, third] = [...new Set(came.map(({ id }) => id))].toSorted();
  expect(came.map(({ id }) => id)).toEqual([first, second, second, third]);
});
