import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Queue, Worker } from 'bullmq';
import { Agent, request } from 'undici';
import { connectFailFast, connectWorker } from '../src/platform/redis.ts';

/**
 * The baseline of single movements: the shortest way through BullMQ from a POST to a signed POST. There are two processes.
 * `producer` takes the same POST as /v1/imports and adds a job with the movement; `worker` signs it and posts it to the
 * receiver. The parent sends { redisUrl, target, secret } and gets { port }, which is 0 for the worker.
 */
interface Task {
  redisUrl: string;
  target: string;
  secret: string;
}

interface Movement {
  unique_id: string;
}

const QUEUE = 'relay';
const PREFIX = 'bench';
const IN_FLIGHT = 16;

process.once('message', async ({ redisUrl, target, secret }: Task) => {
  if (process.argv[2] === 'producer') produce(redisUrl);
  else work(redisUrl, target, Buffer.from(secret.slice('whsec_'.length), 'base64'));
});

function produce(redisUrl: string): void {
  const queue = new Queue<Movement, void, string, Movement, void, string>(QUEUE, {
    connection: connectFailFast(redisUrl),
    prefix: PREFIX,
    defaultJobOptions: { removeOnComplete: true },
  });
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part) => parts.push(part));
    incoming.on('end', async () => {
      const { transactions } = JSON.parse(Buffer.concat(parts).toString()) as { transactions: Movement[] };
      for (const movement of transactions) await queue.add('post', movement);
      response.writeHead(202).end();
    });
  });
  server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
}

function work(redisUrl: string, target: string, key: Buffer): void {
  const dispatcher = new Agent({ connections: IN_FLIGHT });
  const worker = new Worker<Movement>(
    QUEUE,
    async ({ id, data }) => {
      const body = JSON.stringify(data);
      const messageId = `msg_${id}`;
      const timestamp = Math.floor(Date.now() / 1_000);
      const signature = createHmac('sha256', key)
        .update(`${messageId}.${timestamp}.${body}`)
        .digest('base64');
      const answer = await request(target, {
        method: 'POST',
        dispatcher,
        body,
        headers: {
          'content-type': 'application/json',
          'webhook-id': messageId,
          'webhook-timestamp': String(timestamp),
          'webhook-signature': `v1,${signature}`,
          'ledgerbell-transaction-id': data.unique_id,
        },
      });
      await answer.body.dump();
    },
    { connection: connectWorker(redisUrl), prefix: PREFIX, concurrency: IN_FLIGHT },
  );
  worker.on('error', (error) => console.error(error));
  worker.once('ready', () => process.send?.({ port: 0 }));
}
