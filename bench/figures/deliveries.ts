import { buildBody } from '../../src/delivering/notification.ts';
import { monotonic } from '../clock.ts';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { newestDelivery, type Subscribed, send, subscribe, untilDelivered, untilDone } from '../load.ts';
import { makeMovements, toNdjson } from '../movements.ts';
import { type Process, startProcess } from '../processes.ts';

/** Webhooks, each of which is told of every movement, and what is wanted of the two ratios. */
const SHAPES = [
  { webhooks: 1, movements: { smoke: 1_000, normal: 20_000 } },
  { webhooks: 2, movements: { smoke: 500, normal: 20_000 }, wanted: { loop: 0.6, jobs: 1.2 } },
  { webhooks: 10, movements: { smoke: 100, normal: 4_000 }, wanted: { loop: 0.6, jobs: 1.2 } },
  { webhooks: 100, movements: { smoke: 10, normal: 400 } },
];

/** What a webhook may have in flight unless its owner says otherwise; the bare loop has as many for each. */
const IN_FLIGHT = 16;
/** Tried from 16 to 400: with more than this in flight in all, the baselines only become slower. */
const MOST_IN_FLIGHT = { loop: 64, jobs: 200 };

interface Shape {
  webhooks: number;
  movements: number;
  wanted: { loop: number; jobs: number } | undefined;
  key: string;
  accountId: string;
  apiSecret: string;
  subscribed: Subscribed[];
}

interface Baselines {
  loop: Process;
  producer: Process;
  worker: Process;
}

/**
 * Deliveries per second, end to end: from the POST of the import until every result and attempt is committed. Two
 * baselines, to the same receiver, which store nothing: a bare undici loop that signs and posts the same bodies, and the
 * common design, one BullMQ job per delivery, from the first job added to the last POST received.
 */
export const deliveries: Figure = {
  about:
    'deliveries/s from the POST of an import to committed results, against bare POSTs and a job for each',
  byDefault: true,
  async prepare(scale: Scale, start) {
    const installation = await start();
    const shapes: Shape[] = [];
    for (const { webhooks, movements, wanted } of SHAPES) {
      const { api_key: key, api_secret: apiSecret, accountId } = await installation.customer();
      const subscribed: Subscribed[] = [];
      for (let i = 0; i < webhooks; i += 1) {
        subscribed.push(
          await subscribe(installation, key, { path: `/${webhooks}/${i}`, account: accountId }),
        );
      }
      const shape = { webhooks, movements: sized(scale, movements), wanted };
      shapes.push({ ...shape, key, accountId, apiSecret, subscribed });
    }
    const baselines = {
      loop: startProcess('./bare-loop.js'),
      producer: startProcess('./bullmq-loop.js', { args: ['producer'] }),
      worker: startProcess('./bullmq-loop.js', { args: ['worker'] }),
    };
    return {
      async round() {
        const measured: Measured[] = [];
        for (const shape of shapes) measured.push(...(await round(installation, baselines, shape)));
        return measured;
      },
      async end() {
        await Promise.all(Object.values(baselines).map((it) => it.end()));
        await installation.end();
      },
    };
  },
};

async function round(installation: Installation, baselines: Baselines, shape: Shape): Promise<Measured[]> {
  const movements = makeMovements(shape.movements, shape.accountId, String(performance.now()));
  const posts = {
    origin: installation.receiver.url,
    secrets: Object.fromEntries(shape.subscribed.map(({ path, secret }) => [path, secret])),
    bodies: movements.map((movement) =>
      buildBody(
        { ...movement, transaction_id: '', currency: 'TRY', account: 'Ana Hesap', bank: 'Garanti BBVA' },
        { encoding: 'json', hashEncoding: 'hex' },
        shape.apiSecret,
      ),
    ),
  };
  const total = shape.movements * shape.webhooks;
  installation.receiver.send({ secrets: posts.secrets });
  const value = total / (await deliver(installation, shape, toNdjson(movements)));
  const loop = total / (await postInLoop(installation, baselines, posts));
  const jobs = total / (await postAsJobs(installation, baselines, posts));
  const measured = { name: `deliveries, ${countOf(shape.webhooks)}`, unit: 'deliveries/s', value };
  const against = (name: string, rate: number, atLeast: number | undefined): Measured => ({
    ...measured,
    baseline: { name, value: rate },
    ...(atLeast === undefined ? {} : { wanted: { atLeast } }),
  });
  return [
    against('a bare undici loop of the same signed POSTs', loop, shape.wanted?.loop),
    against('a BullMQ job per delivery that only posts', jobs, shape.wanted?.jobs),
  ];
}

const countOf = (webhooks: number) => `${webhooks} webhook${webhooks === 1 ? '' : 's'}`;

/** @returns seconds until all of an import is delivered and that is committed. */
async function deliver(installation: Installation, shape: Shape, body: string): Promise<number> {
  const after = await newestDelivery(installation);
  installation.receiver.send({ reset: true });
  const started = performance.now();
  const importId = await send(installation, shape.key, body);
  await untilDelivered(installation, after, shape.movements * shape.webhooks);
  const seconds = (performance.now() - started) / 1_000;
  await untilDone(installation, shape.key, importId, shape.movements);
  return seconds;
}

interface Posts {
  origin: string;
  secrets: Record<string, string>;
  bodies: string[];
}

/** @returns the seconds that the bare loop took. */
async function postInLoop({ receiver }: Installation, { loop }: Baselines, posts: Posts): Promise<number> {
  const paths = Object.keys(posts.secrets).length;
  receiver.send({ reset: true });
  loop.send({ ...posts, inFlight: Math.min(IN_FLIGHT * paths, MOST_IN_FLIGHT.loop) });
  const { seconds } = await loop.receive<{ seconds: number }>();
  await untilReceived(receiver, posts.bodies.length * paths);
  return seconds;
}

/** @returns seconds from the first job added to the last POST received. */
async function postAsJobs(
  { receiver, runtime }: Installation,
  { producer, worker }: Baselines,
  { bodies, ...posts }: Posts,
): Promise<number> {
  receiver.send({ reset: true });
  const task = { ...posts, redisUrl: runtime.config.redisUrl, inFlight: MOST_IN_FLIGHT.jobs };
  const ready = worker.receive();
  worker.send(task);
  await ready;
  const added = producer.receive<{ startedAt: number }>();
  producer.send({ ...task, bodies });
  await untilReceived(receiver, bodies.length * Object.keys(posts.secrets).length);
  const endedAt = monotonic();
  return (endedAt - (await added).startedAt) / 1_000;
}

/** @throws when something came twice or was not signed rightly: the baseline does what the service does, too. */
async function untilReceived(receiver: Installation['receiver'], total: number): Promise<void> {
  for (;;) {
    receiver.send({ ask: true });
    const { count, distinct, verified, wrong } = await receiver.receive<{
      count: number;
      distinct: number;
      verified: number;
      wrong: number;
    }>();
    if (count >= total) {
      if (count === total && distinct === total && verified > 0 && wrong === 0) return;
      throw new Error(`counts do not match: ${JSON.stringify({ total, count, distinct, verified, wrong })}`);
    }
    await pause(20);
  }
}
