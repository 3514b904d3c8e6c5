import { addDeliveryJobs } from '../../src/queues/jobs.ts';
import { monotonic } from '../clock.ts';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { storeHistory } from '../history.ts';
import { type Installation, startInstallation } from '../installation.ts';
import { newestDelivery, type Subscribed, subscribe, untilDelivered } from '../load.ts';
import { cpuOf } from '../usage.ts';

/** Delivery processes. A smoke run tries out whether several work together. */
const PROCESSES = { smoke: [2], normal: [1, 2, 4] };

/** With 16 POSTs in flight each they would allow 51,200 a second: neither they nor the 20 ms are what is measured. */
const WEBHOOKS = 64;

/** An installation with so many delivery processes. */
interface Site {
  processes: number;
  installation: Installation;
  webhooks: Subscribed[];
}

/**
 * Deliveries per second with 1, 2 and 4 delivery processes, to receivers that take 20 ms: 64 webhooks owe the same, all
 * of it due at once, until every result is committed. Baseline: one process. The processor time of each process beside
 * it tells what stops the growth.
 */
export const scaleOut: Figure = {
  about: 'deliveries/s with 1, 2 and 4 delivery processes and receivers that take 20 ms; where it stops',
  byDefault: true,
  async prepare(scale: Scale) {
    const sites: Site[] = [];
    const owed = sized(scale, { smoke: 20, normal: 500 });
    for (const processes of sized(scale, PROCESSES)) sites.push(await fill(processes));
    return {
      async round() {
        const measured: Measured[] = [];
        let one: number | undefined;
        for (const site of sites) {
          const { rate, cpu } = await drain(site, owed);
          measured.push(...show(site.processes, rate, one), ...cpu);
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

/** 64 paused webhooks, with which nothing happens until they are told to go on. */
async function fill(processes: number): Promise<Site> {
  const installation = await startInstallation({ deliveries: processes });
  const { customer, receiver } = installation;
  const { api_key: key, accountId } = await customer();
  const webhooks: Subscribed[] = [];
  for (let i = 0; i < WEBHOOKS; i += 1) {
    webhooks.push(await subscribe(installation, key, { path: `/slow/${i}`, account: accountId }));
  }
  receiver.send({ secrets: Object.fromEntries(webhooks.map(({ path, secret }) => [path, secret])) });
  return { processes, installation, webhooks };
}

/** Each webhook comes to owe so many, all at once; measured from when they are told to go on. */
async function drain({ processes, installation, webhooks }: Site, owed: number) {
  const { pids, receiver, runtime } = installation;
  const { database, queues } = runtime;
  const ids = webhooks.map(({ id }) => id);
  const setStatus = (status: string) =>
    database.query('UPDATE webhooks SET status = ?, revision = revision + 1 WHERE id IN (?)', [status, ids]);
  const before = await newestDelivery(installation);
  await setStatus('paused');
  await owe(installation, webhooks, owed);
  receiver.send({ reset: true });

  const watched = Object.entries({ ...pids, receiver: receiver.child.pid ?? 0 });
  const readCpu = () => Promise.all(watched.map(([, pid]) => cpuOf(pid)));
  await setStatus('active');
  const cpuBefore = await readCpu();
  const started = monotonic();
  await addDeliveryJobs(queues, ids);
  await untilDelivered(installation, before, owed * WEBHOOKS);
  const seconds = (monotonic() - started) / 1_000;
  const cpuAfter = await readCpu();
  return {
    rate: (owed * WEBHOOKS) / seconds,
    cpu: watched.flatMap(([name], at): Measured[] =>
      IDLE.includes(name)
        ? []
        : [
            {
              name: `processor of ${name}, ${countOf(processes)}`,
              unit: '% of a core',
              value: (((cpuAfter[at] ?? 0) - (cpuBefore[at] ?? 0)) / seconds) * 100,
            },
          ],
    ),
  };
}

/** Have nothing to do here. */
const IDLE = ['api', 'maintenance'];

/** Movements of their own for each round: a webhook is told of a movement once. */
async function owe({ customer, runtime }: Installation, webhooks: readonly Subscribed[], owed: number) {
  const { customer: owner, accountId } = await customer();
  await storeHistory(runtime.database, [{ customerId: owner.id, accountId }], owed);
  for (const { id } of webhooks) {
    await runtime.database.query(
      'INSERT INTO deliveries (webhook_id, transaction_id) SELECT ?, id FROM transactions WHERE customer_id = ?',
      [id, owner.id],
    );
  }
}

function show(processes: number, rate: number, one: number | undefined): Measured[] {
  const name = `deliveries to slow receivers, ${countOf(processes)}`;
  const measured = { name, unit: 'deliveries/s', value: rate };
  return [
    one === undefined
      ? measured
      : { ...measured, baseline: { name: countOf(PROCESSES.normal[0]), value: one } },
  ];
}

const countOf = (processes = 1) => `${processes} delivery process${processes === 1 ? '' : 'es'}`;
