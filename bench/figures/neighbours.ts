import { addDeliveryJobs } from '../../src/queues/jobs.ts';
import { monotonic } from '../clock.ts';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { makeMovements } from '../movements.ts';
import { percentile } from '../percentile.ts';

/** Who lives beside the healthy webhooks. */
interface Neighbourhood {
  healthy: number;
  hanging: number;
  /** Webhooks that owe `backlog` deliveries each. */
  huge: number;
  backlog: number;
}

const RATE = 50;

/**
 * How long a healthy webhook waits, from the 202 of a single movement to its receipt, beside bad neighbours. Baseline: the
 * same movements at the same rate without them. Milliseconds.
 */
const figure = (about: string, sizes: { normal: Neighbourhood; smoke: Neighbourhood }): Figure => ({
  about,
  byDefault: true,
  async prepare(scale: Scale, start) {
    const installation = await start();
    const neighbourhood = sizes[scale === 'smoke' ? 'smoke' : 'normal'];
    const seconds = sized(scale, { smoke: 2, normal: 20 });
    return {
      round: () => round(installation, neighbourhood, seconds),
      end: () => installation.end(),
    };
  },
});

export const neighbours = figure(
  'how long single movements wait beside 20 webhooks that hang and 5 that owe 50,000',
  {
    normal: { healthy: 75, hanging: 20, huge: 5, backlog: 50_000 },
    smoke: { healthy: 5, hanging: 2, huge: 1, backlog: 500 },
  },
);

export const hanging = figure('how long single movements wait beside 500 webhooks that hang', {
  normal: { healthy: 50, hanging: 500, huge: 0, backlog: 0 },
  smoke: { healthy: 5, hanging: 20, huge: 0, backlog: 0 },
});

async function round(
  installation: Installation,
  neighbourhood: Neighbourhood,
  seconds: number,
): Promise<Measured[]> {
  const healthy = await subscribeAll(installation, neighbourhood.healthy, '/timed');
  const baseline = await steadyLoad(installation, healthy, 'alone', seconds);
  await startBadNeighbours(installation, neighbourhood);
  const beside = await steadyLoad(installation, healthy, 'beside', seconds);
  await installation.runtime.database.query(
    "UPDATE webhooks SET status = 'deleted', revision = revision + 1",
  );
  const { healthy: well, hanging, huge, backlog } = neighbourhood;
  const others = `${hanging} that hang${huge === 0 ? '' : ` and ${huge} that owe ${backlog.toLocaleString('en')} each`}`;
  return [
    {
      name: `p99 of ${well} healthy webhooks beside ${others}`,
      unit: 'ms from 202 to receipt',
      value: beside,
      baseline: { name: 'the same without the others', value: baseline },
      wanted: { atMost: 1.5 },
    },
  ];
}

interface Subscribed {
  key: string;
  accountId: string;
  webhookId: string;
}

async function subscribeAll(
  { call, customer, receiver }: Installation,
  count: number,
  path: string,
): Promise<Subscribed[]> {
  const all: Subscribed[] = [];
  for (let i = 0; i < count; i += 1) {
    const { api_key: key, accountId } = await customer();
    const { webhook } = (await call(key, 'POST', '/v1/webhooks', {
      title: path,
      endpoint: `${receiver.url}${path}/${accountId}`,
      event: 'NEW_TRANSACTION',
      account: 'all',
    })) as { webhook: { id: string } };
    all.push({ key, accountId, webhookId: webhook.id });
  }
  return all;
}

/** Single movements, one customer after the other, at a steady rate. @returns the 99th percentile of 202 to receipt. */
async function steadyLoad(
  { call, receiver, runtime }: Installation,
  healthy: Subscribed[],
  run: string,
  seconds: number,
): Promise<number> {
  receiver.send({ reset: true });
  const tag = `${run}-${monotonic()}`;
  const accepted = new Map<string, number>();
  const requests: Promise<void>[] = [];
  const start = monotonic();
  for (let i = 0; i < RATE * seconds; i += 1) {
    await pause(Math.max(0, start + (i * 1_000) / RATE - monotonic()));
    const { key, accountId } = healthy[i % healthy.length] as Subscribed;
    const [movement] = makeMovements(1, accountId, `${tag}-${i}`);
    requests.push(
      call(key, 'POST', '/v1/imports', { transactions: [movement] }).then(() => {
        accepted.set(`${tag}-${i}-0`, monotonic());
      }),
    );
  }
  await Promise.all(requests);
  const rows = await untilStored(runtime, tag, accepted.size);
  for (;;) {
    receiver.send({ ask: true });
    const { arrivals } = await receiver.receive<{ arrivals: Record<string, number> }>();
    const waits = rows.flatMap(({ id, unique_id }) => {
      const arrived = arrivals[id];
      return arrived === undefined ? [] : [Math.max(0, arrived - (accepted.get(unique_id) ?? 0))];
    });
    if (waits.length === accepted.size)
      return percentile(
        waits.toSorted((a, b) => a - b),
        0.99,
      );
    await pause(100);
  }
}

async function untilStored({ database }: Installation['runtime'], tag: string, count: number) {
  for (;;) {
    const rows = await database.query<{ id: string; unique_id: string }[]>(
      'SELECT id, CONVERT(unique_id USING utf8mb4) AS unique_id FROM transactions WHERE unique_id LIKE ?',
      [`${tag}-%`],
    );
    if (rows.length === count) return rows;
    await pause(100);
  }
}

/** Hanging endpoints that are owed something, and backlogs that are being sent, all at work before this resolves. */
async function startBadNeighbours(
  installation: Installation,
  { hanging, huge, backlog }: Neighbourhood,
): Promise<void> {
  const { database, queues } = installation.runtime;
  const bad = [
    ...(await subscribeAll(installation, hanging, '/hang')).map((it) => ({ ...it, owed: 100 })),
    ...(await subscribeAll(installation, huge, '/huge')).map((it) => ({ ...it, owed: backlog })),
  ];
  for (const { accountId, webhookId, owed } of bad) {
    const from = await database.query<{ id: string }[]>(
      'SELECT COALESCE(MAX(id), 0) AS id FROM transactions',
    );
    await database.query(
      `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, description, date_issue, date_readed)
       SELECT a.customer_id, a.id, 0, CONCAT('n', numbers.n), 'Debit', '1.00', 'KOMŞU', '2026-01-15', NOW(6)
       FROM accounts a JOIN (
         SELECT o.n * 1000 + h.n * 100 + t.n * 10 + u.n AS n
         FROM (${digits(Math.ceil(owed / 1_000))}) o, (${digits(10)}) h, (${digits(10)}) t, (${digits(10)}) u) numbers
       WHERE a.id = ? AND numbers.n < ?`,
      [accountId, owed],
    );
    await database.query(
      'INSERT INTO deliveries (webhook_id, transaction_id) SELECT ?, id FROM transactions WHERE account_id = ? AND id > ?',
      [webhookId, accountId, from[0]?.id],
    );
  }
  await addDeliveryJobs(
    queues,
    bad.map(({ webhookId }) => webhookId),
  );
  await pause(1_000);
}

const digits = (count: number) =>
  Array.from({ length: count }, (_, n) => `SELECT ${n} AS n`).join(' UNION ALL ');
