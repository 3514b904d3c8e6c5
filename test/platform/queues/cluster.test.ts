import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deliveryQueueNames, prefixOf } from '../../../src/platform/queues.ts';
import { createAccount, movement } from '../../support/movements.ts';
import { useReceiver } from '../../support/receiver.ts';
import { type RedisCluster, startRedisCluster } from '../../support/redis-cluster.ts';
import { useOwnService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { subscribe } from '../../support/webhooks.ts';

const QUEUES = 4;

let directory: string;
let cluster: RedisCluster;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ledgerbell-redis-cluster-'));
  cluster = await startRedisCluster(directory);
});

// Registered before the service's hook, and so run after it, because hooks run in reverse order.
afterAll(async () => {
  await cluster?.stop();
  await rm(directory, { recursive: true, force: true });
});

const receiver = useReceiver();
const service = useOwnService({
  because: 'it has a Redis of its own',
  config: {
    deliveryQueues: QUEUES,
    get redisUrl() {
      return cluster.url;
    },
  },
});

/** A connection to the first node. */
async function withNode<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis({ port: cluster.ports[0] ?? 0 });
  try {
    return await work(redis);
  } finally {
    redis.disconnect();
  }
}

const slotOf = (redis: Redis, key: string) => redis.cluster('KEYSLOT', key) as Promise<number>;
const slotsOfQueues = () =>
  withNode((redis) =>
    Promise.all(
      ['imports', ...deliveryQueueNames(QUEUES)].map((name) =>
        slotOf(redis, `${prefixOf(service.runtime.prefix, name)}:${name}`),
      ),
    ),
  );

/** As many webhooks as there are queues; each has a queue of its own, since their ids follow each other. */
async function prepare(path: string) {
  const { api_key: key } = await service.customer();
  const { id: account } = await createAccount(service, key);
  for (let i = 0; i < QUEUES; i += 1) await subscribe(service, key, `${receiver.url}${path}/${i}`);
  const received = (i: number) =>
    new Set(receiver.at(`${path}/${i}`).map(({ body }) => JSON.parse(body).description as string));
  const send = (description: string) =>
    service.call('POST', '/v1/imports', {
      key,
      body: { transactions: [movement(account, { unique_id: description, description })] },
    });
  const allHave = (description: string) =>
    Array.from({ length: QUEUES }, (_, i) => received(i)).every((names) => names.has(description));
  return { send, allHave, received };
}

/**
 * Passes on each command that a node gets, except those of scripts. ioredis takes a command that comes in one packet with the answer to
 * MONITOR for a second answer, and throws.
 */
async function monitor(port: number, pass: (args: string[]) => void): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write('MONITOR\r\n');
  createInterface(socket).on('line', (line) => {
    const [, source = '', words = ''] = /^\+\d+\.\d+ \[\d+ ([^\]]+)\] (.*)$/.exec(line) ?? [];
    if (source === 'lua' || words === '') return;
    pass([...words.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) => word));
  });
  return socket;
}

it('every Redis command stays in one slot, and the delivery queues lie on several nodes', async () => {
  const { send, allHave } = await prepare('/slots');
  const commands = new Map<string, string[]>();
  const monitors = await Promise.all(
    cluster.ports.map((port) => monitor(port, (args) => commands.set(args.join(' '), args))),
  );
  for (let i = 0; i < 20; i += 1) expect((await send(`m${i}`)).status).toBe(202);
  await until('all are delivered', () => allHave('m19'));
  for (const socket of monitors) socket.destroy();
  await withNode(async (redis) => {
    const { prefix } = service.runtime;
    const ours = [...commands.values()].filter((args) => args.some((arg) => arg.includes(prefix)));
    expect(ours.length).toBeGreaterThan(50);
    for (const args of ours) {
      const keys = (await redis.call('COMMAND', 'GETKEYS', ...args).catch(() => [])) as string[];
      const slots = await Promise.all(keys.map((key) => slotOf(redis, key)));
      expect(new Set(slots).size, args.slice(0, 3).join(' ')).toBeLessThanOrEqual(1);
    }
    const used = [...commands.keys()].join('\n');
    for (const name of deliveryQueueNames(QUEUES))
      expect(used).toContain(`${prefixOf(prefix, name)}:${name}`);
  });
  expect(new Set(await slotsOfQueues()).size).toBe(QUEUES + 1);
});

it('movements are accepted and delivered while masters are killed, slots are moved and all nodes are down', async () => {
  const { send, allHave, received } = await prepare('/cluster');
  const sent: string[] = [];
  let isOver = false;
  const client = (async () => {
    for (let i = 0; !isOver; i += 1) {
      expect((await send(`m${i}`)).status).toBe(202);
      sent.push(`m${i}`);
      await sleep(20);
    }
  })();
  /** Waits until the next movement to be sent is delivered. */
  const goesOn = async (after: string) => {
    const next = `m${sent.length + 1}`;
    await until(`${next} is delivered after ${after}`, () => allHave(next), 60_000);
  };
  try {
    await goesOn('the start');
    const slots = await slotsOfQueues();
    for (const slot of new Set(slots)) {
      await cluster.moveSlots([slot]);
      await goesOn(`slot ${slot} was moved`);
    }
    for (const slot of slots.slice(0, 3)) {
      await cluster.replaceMaster(slot);
      await goesOn('a master was killed');
    }
    await cluster.kill();
    await sleep(3_000);
    await cluster.start();
    await goesOn('all nodes were down');
  } finally {
    isOver = true;
    await client;
  }
  for (let i = 0; i < QUEUES; i += 1)
    await until('all are delivered', () => received(i).size === sent.length, 60_000);
}, 240_000);
