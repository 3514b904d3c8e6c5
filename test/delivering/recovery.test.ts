import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/delivering/address-guard.ts';
import { createPoster } from '../../src/delivering/post.ts';
import { createPump } from '../../src/delivering/pump.ts';
import { addDeliveryJobs } from '../../src/queues/jobs.ts';
import { createAccount, movement } from '../support/movements.ts';
import { reservePort } from '../support/reserved-port.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe, useDeliveryWorkers } from '../support/webhooks.ts';

const service = useService({ roles: ['api'] });
const workers = useDeliveryWorkers(service);

/** A retry is due at once, so that its delay is not what a test waits for; pauses are ended by SQL instead. */
const tuning = { delays: Array<number>(11).fill(20) };

beforeAll(() => {
  workers.start(tuning);
});

/** What an endpoint writes down, in the order in which it happened. */
interface Event {
  kind: 'came' | 'answered';
  id: string;
  status: number;
  at: number;
}

/** An HTTP server of the test's own: down at first, since nothing listens on its port. */
function useEndpoint() {
  const events: Event[] = [];
  let wellFor = 0;
  const server = createServer((request, response) => {
    const id = String(request.headers['webhook-id']);
    const status = wellFor > 0 ? 200 : 503;
    wellFor -= 1;
    events.push({ kind: 'came', id, status, at: performance.now() });
    request.resume();
    // Failures take longer than all that was well before them: no success is told after the failures that follow it.
    setTimeout(
      () => {
        events.push({ kind: 'answered', id, status, at: performance.now() });
        response.writeHead(status).end();
      },
      status === 200 ? 3 : 50,
    );
  });
  let port = 0;
  const listen = async () => {
    if (server.listening) return;
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  beforeAll(async () => {
    port = await reservePort();
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    get url() {
      return `http://127.0.0.1:${port}/`;
    },
    /** All that has happened since the last `take`. */
    take: () => events.splice(0),
    /** Takes connections again, and answers 503. */
    listen,
    /** Answers 200 to the next `count`, and 503 to what follows. */
    beWell(count = Number.POSITIVE_INFINITY) {
      wellFor = count;
    },
    came: (status: number) => events.filter((it) => it.kind === 'came' && it.status === status).length,
  };
}

/** How many were open at each arrival, and how many had been answered by then. */
function openings(events: readonly Event[]): { open: number; answered: number }[] {
  let open = 0;
  let answered = 0;
  return events.flatMap(({ kind }) => {
    open += kind === 'came' ? 1 : -1;
    if (kind === 'answered') answered += 1;
    return kind === 'came' ? [{ open, answered }] : [];
  });
}

/** One alone, then at most 2, 4, 8 …: each step when as many have been answered as it allows at once. */
function expectSlowStart(events: readonly Event[], maxInFlight: number): void {
  const tooEarly = openings(events).filter(
    ({ open, answered }) => open > Math.min(maxInFlight, 2 ** Math.floor(Math.log2(answered + 1))),
  );
  expect(tooEarly).toEqual([]);
}

/** A webhook that is owed `count` movements, as rows; nobody has been woken for it. */
async function owe(endpoint: string, count: number, fields: object = {}): Promise<string> {
  const { database } = service.runtime;
  const { api_key: key, customer } = await service.customer();
  const account = await createAccount(service, key);
  const { id } = await subscribe(service, key, endpoint, fields);
  const { dc, amount, description, date_issue } = movement(account.id);
  await database.query(
    `INSERT INTO transactions
     (customer_id, account_id, import_id, unique_id, dc, amount, description, date_issue, date_readed) VALUES ?`,
    [
      Array.from({ length: count }, (_, i) => [
        customer.id,
        account.id,
        0,
        `r${i}`,
        dc,
        amount,
        description,
        date_issue,
        '2026-01-15 09:00:00',
      ]),
    ],
  );
  await database.query(
    'INSERT INTO deliveries (webhook_id, transaction_id) SELECT ?, id FROM transactions WHERE account_id = ? ORDER BY id',
    [id, account.id],
  );
  return id;
}

const wake = (webhookId: string) => addDeliveryJobs(service.runtime.queues, [webhookId]);

/** Waits until the webhook rests after failures, and no run is at it. */
const resting = (webhookId: string) =>
  until('a pause', async () => {
    const rows = await service.runtime.database.query<unknown[]>(
      'SELECT 1 FROM pumps WHERE webhook_id = ? AND paused_until > NOW(6) AND lease_token IS NULL',
      [webhookId],
    );
    return rows.length > 0;
  });

/** As if the pause had passed: what runs next is the probe. */
async function endPause(webhookId: string): Promise<void> {
  await service.runtime.database.query('UPDATE pumps SET paused_until = NULL WHERE webhook_id = ?', [
    webhookId,
  ]);
  await wake(webhookId);
}

/** How the deliveries of a webhook stand, and how many attempts their rows and their log tell of. */
async function standing(webhookId: string) {
  const [row] = await service.runtime.database.query<Record<string, string>[]>(
    `SELECT COUNT(*) AS deliveries, SUM(status = 'delivered') AS delivered, SUM(attempts > 0) AS tried,
       SUM(attempts) AS attempts, (SELECT COUNT(*) FROM attempts a JOIN deliveries d ON d.id = a.delivery_id
       WHERE d.webhook_id = ?) AS logged
     FROM deliveries WHERE webhook_id = ?`,
    [webhookId, webhookId],
  );
  const count = (name: string) => Number(row?.[name]);
  return {
    delivered: count('delivered'),
    untried: count('deliveries') - count('tried'),
    attempts: count('attempts'),
    logged: count('logged'),
  };
}

/** Twenty thousand POSTs to an endpoint in this same process, on a machine that is busy with other tests. */
const LONG = 150_000;

/** Waits until everything has come in, and then until it is written: MySQL is not asked meanwhile, which would slow it down. */
async function allDelivered(webhookId: string, count: number, arrived: () => number): Promise<void> {
  await until('everything came in', () => arrived() >= count, LONG);
  await until('everything written', async () => (await standing(webhookId)).delivered === count);
}

const endpoint = useEndpoint();

it(
  'sends an endpoint that was down with 20,000 pending each of them once, slowly at first and never too many at once',
  async () => {
    const OWED = 20_000;
    const webhookId = await owe(endpoint.url, OWED);

    // It refuses. An endpoint that has never answered begins with 2; the first two failures each make room for one more.
    await wake(webhookId);
    await resting(webhookId);
    const refused = await standing(webhookId);
    expect(refused.attempts).toBeLessThanOrEqual(4);
    expect(refused).toEqual({
      delivered: 0,
      untried: expect.any(Number),
      attempts: refused.logged,
      logged: refused.attempts,
    });
    expect(refused.untried).toBeGreaterThanOrEqual(OWED - 4);

    // It answers 503: after each pause one probe reaches it, and nothing else.
    await endpoint.listen();
    const PROBES = 3;
    for (let probe = 1; probe <= PROBES; probe += 1) {
      await endPause(webhookId);
      await until('a probe', () => endpoint.came(503) === probe);
      await resting(webhookId);
      expect(endpoint.came(503)).toBe(probe);
    }
    endpoint.take();
    const probed = await standing(webhookId);
    expect(probed.attempts).toBe(refused.attempts + PROBES);
    expect(probed.logged).toBe(probed.attempts);
    expect(probed.untried).toBeGreaterThanOrEqual(refused.untried - PROBES);

    // It comes back, and fails again on its way up: by then 4 may be in flight, of which three failures are enough.
    const WELL = 5;
    endpoint.beWell(WELL);
    await endPause(webhookId);
    await until('failures again', () => endpoint.came(503) > 2);
    await resting(webhookId);
    const relapse = endpoint.take();
    expectSlowStart(relapse, 16);
    expect(
      relapse.filter(({ kind, status }) => kind === 'came' && status === 503).length,
    ).toBeLessThanOrEqual(4 + 2);
    expect(await standing(webhookId)).toMatchObject({ delivered: WELL });

    // It comes back for good, and is begun with at one again.
    endpoint.beWell();
    await endPause(webhookId);
    await allDelivered(webhookId, OWED, () => WELL + endpoint.came(200));
    const recovery = endpoint.take();
    expectSlowStart(recovery, 16);
    expect(Math.max(...openings(recovery).map(({ open }) => open))).toBe(16);
    const arrived = [...relapse, ...recovery].filter(({ kind, status }) => kind === 'came' && status === 200);
    expect(arrived).toHaveLength(OWED);
    expect(new Set(arrived.map(({ id }) => id)).size).toBe(OWED);
    const end = await standing(webhookId);
    expect(end.attempts).toBe(end.logged);
    expect(end.untried).toBe(0);
  },
  LONG,
);

const narrow = useEndpoint();

it.each([
  ['ordered', { ordered: true }, 1, 0],
  ['rate-limited', { rate_limit: 50 }, 16, 1_000 / 50],
])('keeps to what an %s webhook asks for, also when it catches up', async (_, fields, limit, interval) => {
  const OWED = 60;
  narrow.take();
  narrow.beWell(0);
  const webhookId = await owe(narrow.url, OWED, fields);
  await wake(webhookId);
  await resting(webhookId);
  await narrow.listen();
  narrow.take();
  narrow.beWell();
  await until('all delivered', async () => {
    await endPause(webhookId);
    return (await standing(webhookId)).delivered === OWED;
  });
  const events = narrow.take();
  expectSlowStart(events, limit);
  const came = events.filter(({ kind }) => kind === 'came');
  expect(came).toHaveLength(OWED);
  if (limit === 1) expect(came.map(({ id }) => id)).toEqual(came.map(({ id }) => id).toSorted());
  // No credit for the time in which nothing was sent, but for the timer's lateness.
  expect((came.at(-1)?.at ?? 0) - (came[0]?.at ?? 0)).toBeGreaterThan((OWED - 1) * interval - 50);
});

/** A pump whose runs the test starts itself, and which nobody wakes; the schedule is the real one. */
function usePump() {
  const runs = new AbortController();
  const ends: (() => unknown)[] = [];
  afterAll(async () => {
    for (const end of ends) await end();
  });
  return {
    run(webhookId: string): Promise<void> {
      const { database, secrets, log } = service.runtime;
      const poster = createPoster({ guard: createAddressGuard({ allow: ['127.0.0.0/8'] }) });
      const pump = createPump({ database, secrets, poster, log, wake: async () => {} });
      ends.push(pump.close, poster.close);
      return pump.run(webhookId, runs.signal);
    },
  };
}

const pump = usePump();

it('is not woken out of its pause by new movements', async () => {
  const webhookId = await owe('http://127.0.0.1:9/', 10);
  await pump.run(webhookId);
  const before = await standing(webhookId);
  expect(before.attempts).toBeGreaterThan(0);
  await pump.run(webhookId);
  expect(await standing(webhookId)).toEqual(before);
});

it('keeps the place of a failed delivery in an ordered webhook, whenever its pause ends', async () => {
  const webhookId = await owe(narrow.url, 3, { ordered: true });
  narrow.take();
  narrow.beWell(1);
  await pump.run(webhookId);
  narrow.beWell();
  await service.runtime.database.query('UPDATE pumps SET paused_until = NULL WHERE webhook_id = ?', [
    webhookId,
  ]);
  await pump.run(webhookId);
  const came = narrow.take().filter(({ kind }) => kind === 'came');
  const [first, second, third] = [...new Set(came.map(({ id }) => id))].toSorted();
  expect(came.map(({ id }) => id)).toEqual([first, second, second, third]);
});
