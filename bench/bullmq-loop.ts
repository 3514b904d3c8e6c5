import { Queue, Worker } from 'bullmq';
import { connectWorker } from '../src/platform/redis.ts';
import { monotonic } from './clock.ts';
import { createSignedPoster, type SignedPost, type SignedPosts } from './signed-post.ts';

const QUEUE = { name: 'posts', prefix: 'bench-posts' };
/** Jobs added to Redis in one pipeline. */
const PIPELINE = 1_000;

/**
 * The common design, as a baseline: one BullMQ job per delivery. There are two processes. `producer` adds a job with the body
 * for each body and path; `worker` signs and posts it. Nothing is stored. The parent sends { redisUrl } and SignedPosts to
 * both, any number of times, and { bodies } to the producer. It gets { ready } from the worker. When all jobs are added, it gets
 * { startedAt } from the producer: when it began, on the monotonic clock.
 */
interface Task extends SignedPosts {
  redisUrl: string;
  bodies: string[];
}

let close = async () => {};

process.on('message', async (task: Task) => {
  await close();
  if (process.argv[2] === 'producer') await produce(task);
  else await work(task);
});

async function produce({ redisUrl, secrets, bodies }: Task): Promise<void> {
  const connection = connectWorker(redisUrl);
  const queue = new Queue<SignedPost, void, string, SignedPost, void, string>(QUEUE.name, {
    connection,
    prefix: QUEUE.prefix,
    defaultJobOptions: { removeOnComplete: true },
  });
  close = async () => {
    await queue.close();
    connection.disconnect();
  };
  const paths = Object.keys(secrets);
  const count = bodies.length * paths.length;
  const startedAt = monotonic();
  for (let start = 0; start < count; start += PIPELINE) {
    await queue.addBulk(
      Array.from({ length: Math.min(PIPELINE, count - start) }, (_, i) => {
        const index = start + i;
        const body = bodies[Math.floor(index / paths.length)] ?? '';
        return { name: 'post', data: { path: paths[index % paths.length] ?? '', body, index } };
      }),
    );
  }
  process.send?.({ startedAt });
}

async function work({ redisUrl, bodies: _, ...posts }: Task): Promise<void> {
  const poster = createSignedPoster(posts);
  const connection = connectWorker(redisUrl);
  const worker = new Worker<SignedPost>(QUEUE.name, ({ data }) => poster.post(data), {
    connection,
    prefix: QUEUE.prefix,
    concurrency: posts.inFlight,
  });
  worker.on('error', (error) => console.error(error));
  close = async () => {
    await worker.close();
    connection.disconnect();
    await poster.close();
  };
  await worker.waitUntilReady();
  process.send?.({ ready: true });
}
