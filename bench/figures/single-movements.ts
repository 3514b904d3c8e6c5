import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { requireEqual, untilReceived } from '../load.ts';
import { type Process, startProcess } from '../processes.ts';
import { type Relay, startRelay } from '../relay.ts';
import type { Orders, Sent } from '../single-client.ts';
import { type Subscriber, subscribeAll } from '../steady-load.ts';

/** Requests in flight. */
const CONNECTIONS = 64;

const SIZES = {
  smoke: { customers: [1, 3, 20], movements: 300 },
  normal: { customers: [1, 20, 1_000], movements: 8_000 },
};

const RELAY_PATH = '/relay';
const BASELINE = 'a BullMQ job per movement that is only posted';

/** Customers, each with an account, a webhook and an API key of its own. */
export interface Group {
  subscribers: Subscriber[];
  movements: number;
  /** The requests of each customer go to one of the api processes. */
  byAccount?: boolean;
}

interface Context {
  installation: Installation;
  client: Process;
}

interface RelayContext extends Context {
  relay: { url: string; secret: string };
}

/**
 * One movement per POST /v1/imports, 64 requests at a time, from the first request to the last notification received. Measures
 * movements per second with 1, 20 and 1,000 customers, and the time to the 202. Baseline: the same requests to a server that adds a BullMQ job for each, which a worker signs and posts. Its Redis
 * keeps every job that it has acknowledged, and nothing else is stored.
 */
export const singleMovements: Figure = {
  about: 'movements/s that come one per request, from request to subscriber, against a BullMQ job for each',
  onGivenServer: true,
  async prepare(scale: Scale, start) {
    const installation = scale === 'smoke' ? await start() : await start({ rateLimit: 0 });
    const { customers, movements } = sized(scale, SIZES);
    const groups: Group[] = [];
    for (const count of customers) {
      groups.push({ subscribers: await subscribeAll(installation, count, '/single'), movements });
    }
    const secret = groups[0]?.subscribers[0]?.secret ?? '';
    const relay: Relay = await startRelay({ target: installation.receiver.url + RELAY_PATH, secret });
    const client = startProcess('./single-client.js');
    return {
      server: installation.server,
      async round() {
        const measured: Round[number][] = [];
        for (const group of groups) {
          measured.push(...(await round({ installation, relay: { url: relay.url, secret }, client }, group)));
        }
        return measured;
      },
      async end() {
        await client.end();
        await relay.end();
        await installation.end();
      },
    };
  },
};

async function round(context: RelayContext, group: Group): Promise<Round> {
  const service = await measureService(context, group);
  const relay = await measureRelay(context, group);
  const { length } = group.subscribers;
  const name = `single movements, ${length.toLocaleString('en')} customer${length === 1 ? '' : 's'}`;
  return [
    {
      name,
      unit: 'movements/s to the subscriber',
      value: group.movements / service.seconds,
      baseline: { name: BASELINE, value: group.movements / relay.seconds },
      wanted: { atLeast: 0.9 },
    },
    {
      name: `${name}, p99 of the 202`,
      unit: 'ms from request to answer',
      part: 0.99,
      times: service.waits,
      baseline: { name: BASELINE, times: relay.waits },
    },
  ];
}

interface Taken {
  /** From the first request to the last notification received. */
  seconds: number;
  waits: number[];
}

/** Sends single movements to all api processes of an installation, and waits until each is delivered and counted. */
export async function measureService(
  context: Context,
  { subscribers, movements, byAccount = false }: Group,
): Promise<Taken> {
  const { installation } = context;
  const { runtime } = installation;
  const webhookIds = subscribers.map(({ webhookId }) => webhookId);
  const before = await countStored(runtime, webhookIds);
  const taken = await measure(context, {
    secrets: Object.fromEntries(subscribers.map(({ path, secret }) => [path, secret])),
    orders: { origins: installation.urls, accounts: subscribers, movements, byAccount },
  });
  // Wait until the last result is committed: it is part of what a movement costs, and must not overlap the baseline.
  while ((await countStored(runtime, webhookIds)).delivered - before.delivered < movements) await pause(5);
  const after = await countStored(runtime, webhookIds);
  requireEqual({
    expected: movements,
    stored: after.stored - before.stored,
    matched: after.matched - before.matched,
    delivered: after.delivered - before.delivered,
  });
  return taken;
}

function measureRelay(
  { relay, ...context }: RelayContext,
  { subscribers, movements }: Group,
): Promise<Taken> {
  return measure(context, {
    secrets: { [RELAY_PATH]: relay.secret },
    orders: {
      origins: [relay.url],
      accounts: subscribers.map(({ accountId }) => ({ accountId })),
      movements,
    },
  });
}

/** @throws when a movement is refused, is not received exactly once, or has a wrong signature. */
async function measure(
  { installation, client }: Context,
  { secrets, orders }: { secrets: Record<string, string>; orders: Omit<Orders, 'connections' | 'run'> },
): Promise<Taken> {
  installation.receiver.send({ secrets, reset: true });
  const { origins, movements, accounts, byAccount = false } = orders;
  const sent = client.receive<Sent>();
  client.send({
    origins,
    byAccount,
    movements,
    accounts: accounts.map(({ accountId, key }) => ({ accountId, key })),
    connections: CONNECTIONS,
    run: String(performance.now()),
  } satisfies Orders);
  const { startedAt, waits } = await sent;
  const { lastAt, verified } = await untilReceived(installation, movements);
  requireEqual({ expected: movements, answered: waits.length });
  if (verified === 0) throw new Error('no signature was verified');
  return { seconds: (lastAt - startedAt) / 1_000, waits };
}

/** Counts what the customers of these webhooks have stored, and what these webhooks have matched and delivered. */
async function countStored({ database }: Installation['runtime'], webhookIds: readonly string[]) {
  const [row] = await database.query<{ added: string; matched: string; delivered: string }[]>(
    `SELECT SUM(l.movements) AS added, SUM(b.matched_count) AS matched, SUM(c.delivered_count) AS delivered
     FROM webhook_cursors c
     JOIN webhook_backlogs b ON b.webhook_id = c.webhook_id
     JOIN import_locks l ON l.customer_id = c.customer_id WHERE c.webhook_id IN (?)`,
    [webhookIds],
  );
  return {
    stored: Number(row?.added),
    matched: Number(row?.matched),
    delivered: Number(row?.delivered),
  };
}
