import { setImmediate } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { monotonic } from '../clock.ts';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { makeMovements } from '../movements.ts';
import { percentile } from '../percentile.ts';
import { startProcess } from '../processes.ts';

const SECOND = 1_000;

/** When nothing has been received for so long, what is missing is lost. */
const PATIENCE = 60 * SECOND;

/** Connections are given up before a server would, so that none is closed under a POST; more wait for a free one. */
const CLIENT = { connections: 256, keepAliveTimeout: 2 * SECOND, keepAliveMaxTimeout: 2 * SECOND };

/** Movements a second, for how long, and what is wanted of which percentile. */
const LOADS = [
  { rate: 1, seconds: 5, wanted: {} },
  { rate: 100, seconds: 8, wanted: { p50: 2, p99: 3 } },
  { rate: 500, seconds: 8, wanted: {} },
] as const;

const PERCENTILES = { p50: 0.5, p99: 0.99, 'p99.9': 0.999 };

/**
 * How long one movement takes from the moment at which it should be sent to its receipt, at a steady rate on a service that
 * does nothing else. The rate is kept whatever the answers do: a service that falls behind is seen to wait. Baseline: the
 * same POSTs to a server that adds a BullMQ job for each, which a worker posts on at once; nothing is stored.
 */
export const latency: Figure = {
  about:
    'milliseconds from a movement in to its POST received, against a BullMQ job that posts and stores nothing',
  byDefault: true,
  async prepare(scale: Scale, start) {
    const installation = await start();
    const { receiver, runtime } = installation;
    const { api_key: key, accountId } = await installation.customer();
    const { webhook } = (await installation.call(key, 'POST', '/v1/webhooks', {
      title: 'Latency',
      endpoint: `${receiver.url}/timed/service`,
      event: 'NEW_TRANSACTION',
      account: 'all',
    })) as { webhook: { secret: string } };
    const task = {
      redisUrl: runtime.config.redisUrl,
      target: `${receiver.url}/timed/relay`,
      secret: webhook.secret,
    };
    const relay = ['producer', 'worker'].map((role) => startProcess('./bullmq-relay.js', { args: [role] }));
    const ready = relay.map((it) => it.receive<{ port: number }>());
    for (const it of relay) it.send(task);
    const [producer] = await Promise.all(ready);
    receiver.send({ secrets: { '/timed/service': webhook.secret, '/timed/relay': webhook.secret } });
    const dispatcher = new Agent(CLIENT);

    return {
      async round() {
        const measured: Measured[] = [];
        for (const { rate, seconds, wanted } of LOADS) {
          const load = {
            installation,
            dispatcher,
            accountId,
            rate,
            seconds: sized(scale, { smoke: 1, normal: seconds }),
          };
          const service = await measure({ ...load, url: installation.url, key });
          const bare = await measure({ ...load, url: `http://127.0.0.1:${producer?.port}` });
          measured.push(...compare(rate, service, bare, wanted));
        }
        return measured;
      },
      async end() {
        await dispatcher.destroy();
        await Promise.all(relay.map((it) => it.end()));
        await installation.end();
      },
    };
  },
};

interface Load {
  installation: Installation;
  dispatcher: Agent;
  /** Who takes the POSTs. */
  url: string;
  /** The service's API key; without one the movements go to the baseline, which stores nothing. */
  key?: string;
  accountId: string;
  rate: number;
  seconds: number;
}

/**
 * Sends single movements at a steady rate.
 * @returns the milliseconds each took, in ascending order.
 * @throws when one is refused, or not received and (by the service) stored exactly once.
 */
async function measure(load: Load): Promise<number[]> {
  const { installation, dispatcher, url, key, accountId, rate, seconds } = load;
  const { receiver, runtime } = installation;
  receiver.send({ reset: true });
  const tag = `latency-${monotonic()}`;
  const movements = makeMovements(rate * seconds, accountId, tag);
  const bodies = movements.map((movement) => JSON.stringify({ transactions: [movement] }));
  const headers = {
    'content-type': 'application/json',
    ...(key === undefined ? {} : { authentication: key }),
  };
  const start = monotonic() + 100;
  const sentAt = new Map(movements.map(({ unique_id }, i) => [unique_id, start + (i * SECOND) / rate]));

  const answers: Promise<void>[] = [];
  for (const [i, body] of bodies.entries()) {
    await until(start + (i * SECOND) / rate);
    const answer = post(`${url}/v1/imports`, { dispatcher, headers, body });
    answer.catch(() => {}); // Reported when all are awaited.
    answers.push(answer);
  }
  await Promise.all(answers);

  const { arrivals, count, distinct, wrong } = await allReceived(receiver, movements.length);
  const names = key === undefined ? null : await uniqueIds(runtime, accountId, tag);
  const waits = Object.entries(arrivals).flatMap(([id, arrived]) => {
    const sent = sentAt.get(names === null ? id : (names.get(id) ?? ''));
    return sent === undefined ? [] : [arrived - sent];
  });
  const expected = movements.length;
  const right = [count, distinct, waits.length, names?.size ?? expected].every((it) => it === expected);
  if (!right || wrong > 0) {
    throw new Error(
      `counts do not match: ${JSON.stringify({ expected, count, distinct, wrong, matched: waits.length, stored: names?.size })}`,
    );
  }
  return waits.sort((a, b) => a - b);
}

/** Timers come up to a millisecond late, much of what is measured here: the last millisecond is waited for turn by turn. */
async function until(moment: number): Promise<void> {
  const wait = Math.floor(moment - monotonic()) - 1;
  if (wait > 0) await pause(wait);
  while (monotonic() < moment) await setImmediate();
}

async function post(
  url: string,
  options: { dispatcher: Agent; headers: Record<string, string>; body: string },
): Promise<void> {
  const { statusCode, body } = await request(url, { method: 'POST', ...options });
  await body.dump();
  if (statusCode !== 202) throw new Error(`${url} answered ${statusCode}`);
}

interface Received {
  count: number;
  distinct: number;
  wrong: number;
  arrivals: Record<string, number>;
}

async function allReceived(receiver: Installation['receiver'], expected: number): Promise<Received> {
  for (let [count, since] = [0, monotonic()]; ; ) {
    receiver.send({ ask: true });
    const received = await receiver.receive<Received>();
    if (received.count >= expected) return received;
    if (received.count > count) [count, since] = [received.count, monotonic()];
    if (monotonic() > since + PATIENCE) {
      throw new Error(`only ${count} of ${expected} movements were received`);
    }
    await pause(100);
  }
}

/** The stored movements of a run: unique_id by id. */
async function uniqueIds({ database }: Installation['runtime'], accountId: string, tag: string) {
  const rows = await database.query<{ id: string; unique_id: string }[]>(
    'SELECT id, CONVERT(unique_id USING utf8mb4) AS unique_id FROM transactions WHERE account_id = ? AND unique_id LIKE ?',
    [accountId, `${tag}-%`],
  );
  return new Map(rows.map(({ id, unique_id }) => [id, unique_id]));
}

function compare(
  rate: number,
  service: number[],
  bare: number[],
  wanted: Partial<Record<keyof typeof PERCENTILES, number>>,
): Measured[] {
  return (Object.keys(PERCENTILES) as (keyof typeof PERCENTILES)[]).map((name) => {
    const atMost = wanted[name];
    return {
      name: `latency at ${rate}/s, ${name}`,
      unit: 'ms from POST to receipt',
      value: percentile(service, PERCENTILES[name]),
      baseline: {
        name: 'a BullMQ job that posts and stores nothing',
        value: percentile(bare, PERCENTILES[name]),
      },
      ...(atMost === undefined ? {} : { wanted: { atMost } }),
    };
  });
}
