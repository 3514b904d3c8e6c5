import { setImmediate } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { monotonic } from '../clock.ts';
import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { requireEqual, untilReceived } from '../load.ts';
import { makeMovements } from '../movements.ts';
import { startRelay } from '../relay.ts';

const SECOND = 1_000;

/** Closes idle connections before the server does, so that none is closed during a POST. More POSTs wait for a free connection. */
const CLIENT = { connections: 256, keepAliveTimeout: 2 * SECOND, keepAliveMaxTimeout: 2 * SECOND };

/**
 * Movements per second, for how long, and the targets by percentile. At 100/s each round has enough samples for a 99th
 * percentile.
 */
const LOADS: { rate: number; seconds: number; wanted: Partial<Record<keyof typeof PERCENTILES, number>> }[] =
  [
    { rate: 1, seconds: 5, wanted: {} },
    { rate: 100, seconds: 20, wanted: { p50: 2, p99: 3 } },
  ];

const PERCENTILES = { p50: 0.5, p99: 0.99 };

/**
 * How long one movement takes from the moment at which it should be sent to its receipt, at a steady rate on an otherwise idle
 * service. The rate does not depend on the answers, so the delay of a service that falls behind is measured too. Baseline:
 * the same POSTs to a server that adds a BullMQ job for each, which a worker signs and posts. Its Redis keeps every job that it
 * has acknowledged, and nothing else is stored.
 */
export const latency: Figure = {
  about: 'milliseconds from a movement in to its POST received, against a BullMQ job that is only posted',
  async prepare(scale: Scale, start) {
    const installation = await start();
    const { receiver } = installation;
    const { api_key: key, accountId } = await installation.customer();
    const { webhook } = (await installation.call(key, 'POST', '/v1/webhooks', {
      title: 'Latency',
      endpoint: `${receiver.url}/timed/service`,
      event: 'NEW_TRANSACTION',
      account: 'all',
    })) as { webhook: { secret: string } };
    const relay = await startRelay({ target: `${receiver.url}/timed/relay`, secret: webhook.secret });
    receiver.send({ secrets: { '/timed/service': webhook.secret, '/timed/relay': webhook.secret } });
    const dispatcher = new Agent(CLIENT);

    return {
      server: installation.server,
      async round() {
        const measured: Round[number][] = [];
        for (const shape of LOADS) {
          const { rate, seconds } = shape;
          const load = {
            installation,
            dispatcher,
            accountId,
            rate,
            seconds: sized(scale, { smoke: 1, normal: seconds }),
          };
          const service = await measure({ ...load, url: installation.url, key });
          const bare = await measure({ ...load, url: relay.url });
          measured.push(...compare(shape, service, bare));
        }
        return measured;
      },
      async end() {
        await dispatcher.destroy();
        await relay.end();
        await installation.end();
      },
    };
  },
};

interface Load {
  installation: Installation;
  dispatcher: Agent;
  /** Where the POSTs are sent. */
  url: string;
  /** The service's API key. Without it, the movements go to the baseline, which stores nothing. */
  key?: string;
  accountId: string;
  rate: number;
  seconds: number;
}

/**
 * Sends single movements at a steady rate.
 * @returns the milliseconds each took.
 * @throws when one is refused, or is not received and (by the service) stored exactly once.
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

  const { arrivals } = await untilReceived(installation, movements.length, { every: 100 });
  const names = key === undefined ? null : await uniqueIds(runtime, accountId, tag);
  const waits = Object.entries(arrivals).flatMap(([id, arrived]) => {
    const sent = sentAt.get(names === null ? id : (names.get(id) ?? ''));
    return sent === undefined ? [] : [arrived - sent];
  });
  const expected = movements.length;
  requireEqual({ expected, arrived: waits.length, stored: names?.size ?? expected });
  return waits;
}

/** Timers fire up to a millisecond late, which would distort the result. So the last milliseconds are spent polling the clock. */
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

/** The stored movements of a run: unique_id by id. */
async function uniqueIds({ database }: Installation['runtime'], accountId: string, tag: string) {
  const rows = await database.query<{ id: string; unique_id: string }[]>(
    'SELECT id, CONVERT(unique_id USING utf8mb4) AS unique_id FROM transactions WHERE account_id = ? AND unique_id LIKE ?',
    [accountId, `${tag}-%`],
  );
  return new Map(rows.map(({ id, unique_id }) => [id, unique_id]));
}

function compare(
  { rate, wanted }: (typeof LOADS)[number],
  service: readonly number[],
  relay: readonly number[],
): Round {
  return (Object.keys(PERCENTILES) as (keyof typeof PERCENTILES)[]).map((name) => {
    const atMost = wanted[name];
    return {
      name: `latency at ${rate}/s, ${name}`,
      unit: 'ms from POST to receipt',
      part: PERCENTILES[name],
      times: service,
      baseline: { name: 'a BullMQ job per movement that is only posted', times: relay },
      ...(atMost === undefined ? {} : { wanted: { atMost } }),
    };
  });
}
