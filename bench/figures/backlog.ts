import { wakeWebhooks } from '../../src/delivery/wake.ts';
import { monotonic } from '../clock.ts';
import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import { makePending, rewind, storeReadHistory } from '../filled-tables.ts';
import type { Owner } from '../history.ts';
import { type Installation, pause } from '../installation.ts';
import { requireEqual, subscribe } from '../load.ts';
import { deleteAll, type Subscriber, steadyLoad, subscribeAll } from '../steady-load.ts';

/** Single movements per second, to the healthy webhooks in turn. */
const RATE = 100;

interface Shape {
  healthy: number;
  /** Pending deliveries of the webhook with the backlog. */
  pending: number;
  /** Single movements of the run without the backlog: as many as a 99th percentile needs. */
  movements: number;
}

const SHAPES: Record<'smoke' | 'normal', Shape> = {
  smoke: { healthy: 5, pending: 3_000, movements: 40 },
  normal: { healthy: 50, pending: 200_000, movements: 1_000 },
};

/**
 * The cost that a webhook with a large backlog and 50 webhooks that get single movements are to each other. Measures how long a single
 * movement waits from its 202 to its receipt, and how fast the backlog is sent. Baseline: each of the two alone.
 */
export const backlog: Figure = {
  about: 'a backlog of 200,000 beside 50 webhooks that get single movements: what each costs the other',
  async prepare(scale: Scale, start) {
    const installation = await start();
    const shape = SHAPES[scale === 'smoke' ? 'smoke' : 'normal'];
    const { customer: owner, api_key: key, accountId } = await installation.customer();
    const owners: Owner[] = [{ customerId: owner.id, accountId }];
    await storeReadHistory(installation.runtime.database, owners, sized(scale, SIZES));
    const healthy = await subscribeAll(installation, shape.healthy, '/timed');
    return {
      server: installation.server,
      round: () => round(installation, shape, healthy, key),
      async end() {
        await deleteAll(installation, healthy);
        await installation.end();
      },
    };
  },
};

const SIZES = { smoke: SHAPES.smoke.pending, normal: SHAPES.normal.pending };

async function round(
  installation: Installation,
  { healthy: count, pending, movements }: Shape,
  healthy: readonly Subscriber[],
  key: string,
): Promise<Round> {
  const alone = await steadyLoad(installation, healthy, { rate: RATE, goOn: (sent) => sent < movements });
  const backlogAlone = await startBacklog(installation, key, pending);
  const rateAlone = pending / (await backlogAlone.sent);

  const beside = await startBacklog(installation, key, pending);
  let isSending = true;
  const sent = beside.sent.finally(() => {
    isSending = false;
  });
  const waits = await steadyLoad(installation, healthy, { rate: RATE, goOn: () => isSending });
  const rateBeside = pending / (await sent);
  await deleteBacklogs(installation, key);
  const name = `a backlog of ${pending.toLocaleString('en')}`;
  return [
    {
      name: `p99 of ${count} healthy webhooks beside ${name}`,
      unit: 'ms from 202 to receipt',
      part: 0.99,
      times: waits,
      baseline: { name: 'the same without the backlog', times: alone },
      wanted: { atMost: 1.5 },
    },
    {
      name: `${name} beside ${count} webhooks with ${RATE} movements/s`,
      unit: 'deliveries/s',
      value: rateBeside,
      baseline: { name: 'the same backlog alone', value: rateAlone },
      wanted: { atLeast: 0.7 },
    },
  ];
}

/** Milliseconds between two checks whether a backlog is sent. */
const LOOK_EVERY = 20;

/**
 * Creates a webhook for which every stored movement of the customer is pending, and starts sending.
 * @returns `sent`: the seconds until everything is delivered.
 */
async function startBacklog(
  installation: Installation,
  key: string,
  pending: number,
): Promise<{ sent: Promise<number> }> {
  const { database } = installation.runtime;
  const { id } = await subscribe(installation, key, { path: `/backlog/${monotonic()}`, account: 'all' });
  await rewind(database, [id]);
  requireEqual({ expected: pending, pending: await makePending(database, [id]) });
  const started = monotonic();
  await wakeWebhooks(installation.runtime, [id], { reread: true });
  return { sent: untilSent(database, id, pending).then(() => (monotonic() - started) / 1_000) };
}

async function untilSent(
  database: Installation['runtime']['database'],
  webhookId: string,
  pending: number,
): Promise<void> {
  for (;;) {
    const [cursor] = await database.query<{ delivered: string; failed: string }[]>(
      'SELECT delivered_count AS delivered, failed_count AS failed FROM webhook_cursors WHERE webhook_id = ?',
      [webhookId],
    );
    if (Number(cursor?.delivered) >= pending) {
      const [stored] = await database.query<{ count: string }[]>(
        "SELECT COUNT(*) AS count FROM deliveries WHERE webhook_id = ? AND status = 'delivered'",
        [webhookId],
      );
      return requireEqual({
        expected: pending,
        delivered: Number(cursor?.delivered) + Number(cursor?.failed),
        'rows in deliveries': Number(stored?.count),
      });
    }
    await pause(LOOK_EVERY);
  }
}

/** Deletes the webhooks with backlogs. The next round creates new ones. */
async function deleteBacklogs({ call }: Installation, key: string): Promise<void> {
  const { webhooks } = (await call(key, 'GET', '/v1/webhooks')) as { webhooks: { id: number | string }[] };
  for (const { id } of webhooks) await call(key, 'DELETE', `/v1/webhooks/${id}`);
}
