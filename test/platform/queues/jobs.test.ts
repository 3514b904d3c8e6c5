import { randomBytes } from 'node:crypto';
import { Worker } from 'bullmq';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import {
  addDeliveryJobs,
  countCustomersWithoutJob,
  countWebhooksWithoutJob,
  openQueues,
  prefixOf,
  QUEUES,
  type Queues,
  queueImports,
  WORKER_OPTIONS,
} from '../../../src/platform/queues.ts';
import { connectFailFast, connectWorker, type RedisClient } from '../../../src/platform/redis.ts';
import { startRedisRelay } from '../../support/relay.ts';
import { until } from '../../support/until.ts';

const prefix = `test-${randomBytes(6).toString('hex')}`;
let redis: RedisClient;
let queues: Queues;
let worker: Worker;
const runs: string[] = [];
/** The work of a run before it ends. */
let during: (webhookId: string) => Promise<void> = async () => {};

beforeAll(async () => {
  redis = connectFailFast(inject('redisUrl'));
  await until('Redis', () => redis.status === 'ready');
  queues = openQueues(redis, { prefix, deliveryQueues: 1 });
  worker = new Worker(
    QUEUES.deliveries,
    async (job) => {
      runs.push(job.data.webhookId);
      await during(job.data.webhookId);
    },
    {
      ...WORKER_OPTIONS,
      connection: connectWorker(inject('redisUrl')),
      prefix: prefixOf(prefix, QUEUES.deliveries),
    },
  );
});
afterAll(async () => {
  await worker.close();
  await queues.close();
  redis.disconnect();
});
const runsOf = (webhookId: string) => runs.filter((id) => id === webhookId).length;

describe('waking a webhook', () => {
  it('many times at once adds one job', async () => {
    await worker.pause();
    for (let i = 0; i < 20; i += 1) await addDeliveryJobs(queues, ['1', '2']);
    expect(await queues.deliveries[0].getWaitingCount()).toBe(2);
    worker.resume();
    await until('both ran', () => runsOf('1') === 1 && runsOf('2') === 1);
  });

  it('that sleeps brings its job forward', async () => {
    await addDeliveryJobs(queues, ['3'], 3_600_000);
    expect(await queues.deliveries[0].getDelayedCount()).toBe(1);
    await addDeliveryJobs(queues, ['3']);
    await until('it ran', () => runsOf('3') === 1);
    expect(await queues.deliveries[0].getDelayedCount()).toBe(0);
  });

  it('that is running makes its job run once more at its end', async () => {
    during = async (id) => {
      if (id === '4' && runsOf('4') === 1) await addDeliveryJobs(queues, ['4']);
    };
    await addDeliveryJobs(queues, ['4']);
    await until('it ran twice', () => runsOf('4') === 2);
  });

  it('that goes to sleep during its run makes it run again immediately, not after the sleep', async () => {
    during = async (id) => {
      if (id !== '5' || runsOf('5') > 1) return;
      await addDeliveryJobs(queues, ['5'], 3_600_000);
      await addDeliveryJobs(queues, ['5']);
    };
    await addDeliveryJobs(queues, ['5']);
    await until('it ran twice', () => runsOf('5') === 2);
  });

  it('whose job was removed by hand adds a new job', async () => {
    during = async () => {};
    await addDeliveryJobs(queues, ['6'], 3_600_000);
    const [job] = await queues.deliveries[0].getDelayed();
    // Removes the job by hand, which leaves the deduplication key behind.
    await redis.del(`${prefixOf(prefix, 'deliveries')}:deliveries:${job?.id}`);
    await redis.zrem(`${prefixOf(prefix, 'deliveries')}:deliveries:delayed`, job?.id ?? '');
    await addDeliveryJobs(queues, ['6']);
    await until('it ran', () => runsOf('6') === 1);
  });
});

describe('the count of work without a job', () => {
  it('includes a webhook whose job is neither waiting, delayed nor active', async () => {
    const count = () => countWebhooksWithoutJob(queues, redis, ['7', '8', '9']);
    expect(await count()).toBe(3);
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    during = (id) => (id === '7' ? finished : Promise.resolve());
    await addDeliveryJobs(queues, ['7']);
    await until('it is active', () => runsOf('7') === 1);
    await addDeliveryJobs(queues, ['8'], 3_600_000);
    expect(await count()).toBe(1);
    await worker.pause(true);
    await addDeliveryJobs(queues, ['9']);
    expect(await count()).toBe(0);
    finish();
    worker.resume();
    await until('all ended but the delayed one', async () => (await count()) === 2);
    expect(await countWebhooksWithoutJob(queues, redis, [])).toBe(0);
  });

  it('includes a customer whose imports are not in the queue', async () => {
    await queueImports(queues, ['1', '2']);
    expect(await countCustomersWithoutJob(queues, redis, ['1', '2', '3'])).toBe(1);
  });
});

it('queues opened while Redis hangs work again after Redis answers', async () => {
  const relay = await startRedisRelay();
  const hung = connectFailFast(relay.url);
  await until('Redis', () => hung.status === 'ready');
  relay.hang(true);
  const opened = openQueues(hung, { prefix: `${prefix}-hung`, deliveryQueues: 1 });
  onTestFinished(async () => {
    await opened.close();
    hung.disconnect();
  });
  await expect(hung.ping()).rejects.toThrow('Command timed out');
  relay.hang(false);
  await until('Redis answers', () => hung.ping().catch(() => null));
  for (const queue of opened.all) expect(await queue.getWaitingCount()).toBe(0);
});
