import { wakeWebhooks } from '../../src/delivery/wake.ts';
import { monotonic } from '../clock.ts';
import { type Figure, type Scale, sized } from '../figure.ts';
import { copyWebhook, makePending, rewind, storeReadHistory } from '../filled-tables.ts';
import type { Owner } from '../history.ts';
import { type Installation, pause } from '../installation.ts';
import { requireEqual, subscribe } from '../load.ts';
import { forgetPeak, memoryOf } from '../usage.ts';

/** Customers, each with a webhook of its own, and how many deliveries of each are pending. */
const WEBHOOKS = { smoke: 20, normal: 5_000 };
const PENDING = { smoke: 50, normal: 100, large: 10_000 };

/** Customers are created this many at a time, and webhooks are woken. */
const AT_A_TIME = 8;
const WOKEN = 500;

/**
 * What one delivery process needs to send the backlogs of many customers at the same time, as after an outage: its peak of resident
 * memory, and how fast it sends.
 */
export const outage: Figure = {
  about: 'backlogs of 5,000 customers at the same time: memory of the delivery process, and deliveries/s',
  rounds: 1,
  async prepare(scale: Scale, start) {
    const installation = await start({});
    const owners = await createOwners(installation, sized(scale, WEBHOOKS));
    const webhookIds = await createBacklogs(installation, owners, sized(scale, PENDING));
    const pending = webhookIds.length * sized(scale, PENDING);
    return {
      server: installation.server,
      async round() {
        const pid = installation.pids['delivery 1'] ?? 0;
        await forgetPeak(pid);
        const seconds = await sendAll(installation, webhookIds, pending);
        const name = `backlogs of ${webhookIds.length.toLocaleString('en')} webhooks`;
        return [
          {
            name: `peak of delivery, ${name}`,
            unit: 'MB resident',
            value: (await memoryOf(pid)).peak,
            wanted: { atMost: 350 },
          },
          { name: `sending the ${name}`, unit: 'deliveries/s', value: pending / seconds },
        ];
      },
      end: () => installation.end(),
    };
  },
};

async function createOwners(installation: Installation, count: number): Promise<(Owner & { key: string })[]> {
  const owners: (Owner & { key: string })[] = [];
  while (owners.length < count) {
    const made = await Promise.all(
      Array.from({ length: Math.min(AT_A_TIME, count - owners.length) }, () => installation.customer()),
    );
    owners.push(
      ...made.map(({ customer, accountId, api_key: key }) => ({ customerId: customer.id, accountId, key })),
    );
  }
  return owners;
}

/** @returns the ids of the webhooks: one for each owner. */
async function createBacklogs(
  installation: Installation,
  owners: readonly (Owner & { key: string })[],
  pending: number,
): Promise<string[]> {
  const { runtime, receiver } = installation;
  const [first, ...others] = owners;
  if (first === undefined) throw new Error('a backlog needs an owner');
  await storeReadHistory(runtime.database, owners, owners.length * pending);
  const webhook = await subscribe(installation, first.key, { path: '/outage', account: first.accountId });
  receiver.send({ secrets: { [webhook.path]: webhook.secret } });
  const webhookIds = [webhook.id, ...(await copyWebhook(runtime, webhook, others))];
  await rewind(runtime.database, webhookIds);
  await runtime.database.query('ANALYZE TABLE webhooks, webhook_filters, webhook_backlogs, webhook_cursors');
  return webhookIds;
}

/** Sends everything. @returns the seconds that it took. */
async function sendAll(
  { runtime }: Installation,
  webhookIds: readonly string[],
  pending: number,
): Promise<number> {
  const { database } = runtime;
  requireEqual({ expected: pending, pending: await makePending(database, webhookIds) });
  const began = monotonic();
  for (let at = 0; at < webhookIds.length; at += WOKEN)
    await wakeWebhooks(runtime, webhookIds.slice(at, at + WOKEN), { reread: true });
  for (;;) {
    const [sent] = await database.query<{ delivered: string; failed: string }[]>(
      `SELECT SUM(delivered_count) AS delivered, SUM(failed_count) AS failed FROM webhook_cursors WHERE webhook_id IN (?)`,
      [webhookIds],
    );
    requireEqual({ expected: 0, failed: Number(sent?.failed) });
    if (Number(sent?.delivered) >= pending) return (monotonic() - began) / 1_000;
    await pause(500);
  }
}
