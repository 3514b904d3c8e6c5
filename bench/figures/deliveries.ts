import { buildBody } from '../../src/delivery/posting/body.ts';
import { startDurableRedis } from '../durable-redis.ts';
import { type Figure, type Measured, type Scale, sized } from '../figure.ts';
import type { Installation } from '../installation.ts';
import {
  markDeliveries,
  type Subscribed,
  send,
  subscribe,
  untilDelivered,
  untilDone,
  untilReceived,
} from '../load.ts';
import { makeMovements, toNdjson } from '../movements.ts';
import { type Process, startProcess } from '../processes.ts';

/** Number of webhooks that match every movement, and the targets for the two ratios. */
const SHAPES: {
  webhooks: number;
  movements: { smoke: number; normal: number };
  wanted: { loop?: number; jobs?: number };
}[] = [
  { webhooks: 1, movements: { smoke: 1_000, normal: 20_000 }, wanted: {} },
  { webhooks: 2, movements: { smoke: 500, normal: 20_000 }, wanted: { loop: 0.7, jobs: 1.2 } },
  { webhooks: 10, movements: { smoke: 100, normal: 4_000 }, wanted: { loop: 0.8, jobs: 1.2 } },
  { webhooks: 100, movements: { smoke: 10, normal: 400 }, wanted: { loop: 0.65 } },
];

/** Default `max_in_flight` of a webhook. The bare loop has as many in flight for each webhook. */
const IN_FLIGHT = 16;
/** Most POSTs in flight in all, found by trying 16 to 400. With more, the baselines only become slower. */
const MOST_IN_FLIGHT = { loop: 64, jobs: 200 };

export interface Shape {
  webhooks: number;
  movements: number;
  wanted: { loop?: number; jobs?: number };
  key: string;
  accountId: string;
  apiSecret: string;
  subscribed: Subscribed[];
}

interface Baselines {
  redisUrl: string;
  loop: Process;
  producer: Process;
  worker: Process;
}

/**
 * Deliveries per second, end to end: from the POST of the import until every result is committed. Two baselines post to the
 * same receiver and store nothing. One is a bare undici loop that signs and posts the same bodies. The other is the common
 * design, one BullMQ job per delivery, measured from the first job added to the last POST received. Its Redis keeps every job
 * that it has acknowledged, because the job is the only copy.
 */
export const deliveries: Figure = {
  about:
    'deliveries/s from the POST of an import to committed results, against bare POSTs and a job for each',
  onGivenServer: true,
  async prepare(scale: Scale, start) {
    const installation = await start();
    const shapes = await subscribeShapes(installation, scale);
    const redis = await startDurableRedis();
    const processes = {
      loop: startProcess('./bare-loop.js'),
      producer: startProcess('./bullmq-loop.js', { args: ['producer'] }),
      worker: startProcess('./bullmq-loop.js', { args: ['worker'] }),
    };
    const baselines = { ...processes, redisUrl: redis.url };
    return {
      server: installation.server,
      async round() {
        const measured: Measured[] = [];
        for (const shape of shapes) measured.push(...(await round(installation, baselines, shape)));
        return measured;
      },
      async end() {
        await Promise.all(Object.values(processes).map((it) => it.end()));
        await redis.end();
        await installation.end();
      },
    };
  },
};

/** Subscribes a customer for each shape. */
export async function subscribeShapes(installation: Installation, scale: Scale): Promise<Shape[]> {
  const shapes: Shape[] = [];
  for (const { webhooks, movements, wanted } of SHAPES) {
    const { api_key: key, api_secret: apiSecret, accountId } = await installation.customer();
    const subscribed: Subscribed[] = [];
    for (let i = 0; i < webhooks; i += 1) {
      subscribed.push(await subscribe(installation, key, { path: `/${webhooks}/${i}`, account: accountId }));
    }
    const shape = { webhooks, movements: sized(scale, movements), wanted };
    shapes.push({ ...shape, key, accountId, apiSecret, subscribed });
  }
  return shapes;
}

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
    against('a bare undici loop of the same signed POSTs', loop, shape.wanted.loop),
    against('a BullMQ job per delivery that only posts', jobs, shape.wanted.jobs),
  ];
}

const countOf = (webhooks: number) => `${webhooks} webhook${webhooks === 1 ? '' : 's'}`;

/** @returns seconds until every delivery of an import is committed as delivered. */
export async function deliver(installation: Installation, shape: Shape, body: string): Promise<number> {
  const mark = await markDeliveries(
    installation,
    shape.subscribed.map(({ id }) => id),
  );
  const started = performance.now();
  const importId = await send(installation, shape.key, body);
  await untilDelivered(installation, mark, shape.movements * shape.webhooks);
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
async function postInLoop(installation: Installation, { loop }: Baselines, posts: Posts): Promise<number> {
  const paths = Object.keys(posts.secrets).length;
  installation.receiver.send({ reset: true });
  const done = loop.receive<{ seconds: number }>();
  loop.send({ ...posts, inFlight: Math.min(IN_FLIGHT * paths, MOST_IN_FLIGHT.loop) });
  const { seconds } = await done;
  await untilReceived(installation, posts.bodies.length * paths);
  return seconds;
}

/** @returns seconds from the first job added to the last POST received. */
async function postAsJobs(
  installation: Installation,
  { producer, worker, redisUrl }: Baselines,
  { bodies, ...posts }: Posts,
): Promise<number> {
  installation.receiver.send({ reset: true });
  const task = { ...posts, redisUrl, inFlight: MOST_IN_FLIGHT.jobs };
  const ready = worker.receive();
  worker.send(task);
  await ready;
  const added = producer.receive<{ startedAt: number }>();
  producer.send({ ...task, bodies });
  const total = bodies.length * Object.keys(posts.secrets).length;
  const { lastAt } = await untilReceived(installation, total);
  return (lastAt - (await added).startedAt) / 1_000;
}
