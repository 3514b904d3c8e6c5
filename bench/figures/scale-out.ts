import { wakeWebhooks } from '../../src/delivery/wake.ts';
import { monotonic } from '../clock.ts';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { makePending, storeReadHistory } from '../filled-tables.ts';
import { type Installation, type InstallationOptions, startInstallation } from '../installation.ts';
import { addAccount, markDeliveries, requireEqual, subscribe, untilDelivered } from '../load.ts';

/** Numbers of delivery processes. A smoke run only checks that two work together. */
const PROCESSES = { smoke: [2], normal: [1, 2, 4] };

/** With 16 POSTs in flight each, they allow 51,200 deliveries/s in spite of the 20 ms, so they do not limit the result. */
const WEBHOOKS = 64;

/** An installation with webhooks and no movements. */
export interface Site {
  installation: Installation;
  key: string;
  customerId: string;
  webhookIds: string[];
}

/**
 * Deliveries per second with 1, 2 and 4 delivery processes, to receivers that take 20 ms. 64 webhooks have the same backlog, all
 * of it due, which is sent until every result is committed. Baseline: one process.
 */
export const scaleOut: Figure = {
  about: 'deliveries/s with 1, 2 and 4 delivery processes and receivers that take 20 ms',
  async prepare(scale: Scale) {
    const sites: (Site & { processes: number })[] = [];
    const pending = sized(scale, { smoke: 20, normal: 500 });
    for (const processes of sized(scale, PROCESSES))
      sites.push({ processes, ...(await startSite({ deliveries: processes }, WEBHOOKS)) });
    return {
      server: sites[0]?.installation.server ?? '',
      async round() {
        const measured: Measured[] = [];
        let one: number | undefined;
        for (const site of sites) {
          const rate = await deliverAll(site, pending);
          measured.push(show(site.processes, rate, one));
          one ??= rate;
        }
        return measured;
      },
      async end() {
        for (const { installation } of sites) await installation.end();
      },
    };
  },
};

/** Starts an installation whose webhooks match all movements, and have receivers that take 20 ms. */
export async function startSite(options: InstallationOptions, webhooks: number): Promise<Site> {
  const installation = await startInstallation(options);
  const { customer, receiver } = installation;
  const { api_key: key, customer: owner } = await customer();
  const secrets: Record<string, string> = {};
  const webhookIds: string[] = [];
  for (let i = 0; i < webhooks; i += 1) {
    const { id, path, secret } = await subscribe(installation, key, { path: `/slow/${i}`, account: 'all' });
    webhookIds.push(id);
    secrets[path] = secret;
  }
  receiver.send({ secrets });
  return { installation, key, customerId: owner.id, webhookIds };
}

/** Gives each webhook a backlog of `pending` deliveries. @returns deliveries/s from the moment at which the webhooks become active. */
export async function deliverAll(site: Site, pending: number): Promise<number> {
  const { installation, key, customerId, webhookIds } = site;
  const { runtime } = installation;
  const { database } = runtime;
  const setStatus = (status: string) =>
    database.query('UPDATE webhooks SET status = ?, revision = revision + 1 WHERE id IN (?)', [
      status,
      webhookIds,
    ]);
  const total = pending * webhookIds.length;
  await setStatus('paused');
  const mark = await markDeliveries(installation, webhookIds);
  // A new account for each round, because each history begins with the same unique_id.
  const accountId = await addAccount(installation, key);
  await storeReadHistory(database, [{ customerId, accountId }], pending);
  requireEqual({ expected: total, pending: await makePending(database, webhookIds) });

  await setStatus('active');
  const started = monotonic();
  await wakeWebhooks(runtime, webhookIds, { reread: true });
  await untilDelivered(installation, mark, total);
  return total / ((monotonic() - started) / 1_000);
}

function show(processes: number, rate: number, one: number | undefined): Measured {
  const name = `deliveries to slow receivers, ${countOf(processes)}`;
  const measured = { name, unit: 'deliveries/s', value: rate };
  return one === undefined
    ? measured
    : { ...measured, baseline: { name: countOf(PROCESSES.normal[0]), value: one } };
}

const countOf = (processes = 1) => `${processes} delivery process${processes === 1 ? '' : 'es'}`;
