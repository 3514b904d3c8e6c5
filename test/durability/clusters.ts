import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/platform/config.ts';
import { deliveryQueueNames, prefixOf, QUEUES } from '../../src/platform/queues.ts';
import type { ClusterNode } from '../servers/clusters/node.ts';
import { type ClusterName, startCluster } from '../servers/clusters/start-cluster.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startReplication } from '../support/replication.ts';
import { startSentinelCluster } from '../support/sentinel.ts';
import { type ChaosServer, prepareOneMysql, prepareOneRedis, type Recovery } from './servers.ts';

export const MYSQL_SETUPS = ['alone', 'replication', 'group-replication', 'galera'] as const;
export type MysqlSetup = (typeof MYSQL_SETUPS)[number];

export const REDIS_SETUPS = ['alone', 'sentinel', 'cluster'] as const;
export type RedisSetup = (typeof REDIS_SETUPS)[number];

/** Prepares or starts the servers of a run in `directory`. */
export async function prepareServers(
  directory: string,
  {
    mysql,
    redis,
    ...options
  }: { mysql: MysqlSetup; redis: RedisSetup; env: Record<string, string>; announce: (line: string) => void },
): Promise<{ mysql: ChaosServer; redis: ChaosServer }> {
  const dataDir = join(directory, 'data');
  await mkdir(dataDir, { mode: 0o711 });
  const [mysqlServer, redisServer] = await Promise.all([
    mysql === 'alone'
      ? prepareOneMysql(directory, options)
      : mysql === 'replication'
        ? startWithReplica(dataDir)
        : startDatabaseCluster(mysql, directory, options),
    redis === 'alone'
      ? prepareOneRedis(directory, options)
      : redis === 'sentinel'
        ? startWithSentinel(dataDir)
        : startOnCluster(dataDir),
  ]);
  return { mysql: mysqlServer, redis: redisServer };
}

/** Clusters run until they are killed for good. */
const RUNNING = { start: async () => {}, freeze: () => {}, thaw: () => {}, disk: null };

/** A primary of MySQL with a replica, both in the URL. */
async function startWithReplica(dataDir: string): Promise<ChaosServer> {
  const replication = await startReplication(dataDir);
  return {
    ...RUNNING,
    url: replication.urlOfBoth,
    password: new URL(replication.url).password,
    kill: replication.stop,
    faults: {
      'mysql roles change': () => replication.changeRoles().then(() => undefined),
      /** For a while one of them has all transactions of the other, and then neither has. */
      'mysql two writable': (seconds) =>
        replication
          .changeRolesBadly(async (writeToFormer) => {
            await sleep(seconds * SECOND);
            await writeToFormer();
            await sleep(seconds * SECOND);
          })
          .then(() => ({ writableAt: Date.now() })),
    },
  };
}

/** Two servers of Redis with Sentinel. */
async function startWithSentinel(dataDir: string): Promise<ChaosServer> {
  const sentinel = await startSentinelCluster(dataDir);
  return {
    ...RUNNING,
    url: sentinel.url,
    password: null,
    kill: sentinel.stop,
    faults: {
      'redis failover': () => sentinel.failOver().then(() => undefined),
      'redis master kill': () => sentinel.replaceMaster().then(() => undefined),
    },
  };
}

const SLOTS = 16_384;
/** Slots that move at a time: one that has a queue, and those after it. */
const MOVED = 100;

/** How many queues a run on a Redis Cluster has for deliveries. */
export const DELIVERY_QUEUES = 4;
const QUEUE_NAMES = [...deliveryQueueNames(DELIVERY_QUEUES), QUEUES.imports];

/** Three masters of Redis, each with a replica. */
async function startOnCluster(dataDir: string): Promise<ChaosServer> {
  const cluster = await startRedisCluster(dataDir);
  let next = 0;
  const slotOf = async () => {
    next += 1;
    return cluster.slotOf(prefixOf(readConfig({}).redisPrefix, QUEUE_NAMES[next % QUEUE_NAMES.length] ?? ''));
  };
  return {
    ...RUNNING,
    url: cluster.url,
    nodeUrls: cluster.ports.map((port) => `redis://127.0.0.1:${port}`),
    password: null,
    start: cluster.start,
    kill: cluster.stop,
    faults: {
      'redis master kill': async () => {
        await cluster.replaceMaster(await slotOf());
        return undefined;
      },
      'redis slots move': async () => {
        const first = await slotOf();
        await cluster.moveSlots(Array.from({ length: MOVED }, (_, i) => (first + i) % SLOTS));
        return undefined;
      },
      'redis cluster outage': async (seconds) => {
        await cluster.kill();
        await sleep(seconds * SECOND);
        await cluster.start();
        return undefined;
      },
    },
  };
}

const SECOND = 1_000;

/** Three servers of which one takes writes, all in the URL. */
async function startDatabaseCluster(
  name: ClusterName,
  directory: string,
  { announce }: { announce: (line: string) => void },
): Promise<ChaosServer> {
  const home = join(directory, 'cluster');
  await mkdir(home);
  const cluster = await startCluster(name, home, { announce });
  const { cutOff } = cluster;
  /** Does something to the primary, waits until another one takes its place, and restores the cluster after some seconds more. */
  const lose = async (seconds: number, act: (primary: ClusterNode) => Promise<void>): Promise<Recovery> => {
    const former = await cluster.primary();
    await act(former);
    try {
      await cluster.successorOf(former);
      const writableAt = Date.now();
      await sleep(seconds * SECOND);
      return { writableAt };
    } finally {
      await cluster.restore();
    }
  };
  let startsAlone = 0;
  const cut = async (nodes: readonly ClusterNode[]) => {
    if (cutOff === null) throw new Error('this user may not cut connections');
    await cutOff(nodes);
  };
  return {
    url: cluster.url,
    password: cluster.password,
    disk: null,
    start: cluster.restore,
    kill: cluster.stop,
    freeze: () => {},
    thaw: () => {},
    faults: {
      'mysql primary kill': (seconds) => lose(seconds, (primary) => primary.kill()),
      'mysql primary cut off': (seconds) => lose(seconds, (primary) => cut([primary])),
      'mysql primary frozen': (seconds) => lose(seconds, async (primary) => primary.freeze()),
      async 'mysql primary starts alone'(seconds) {
        const former = await cluster.primary();
        await former.kill();
        await sleep(seconds * SECOND);
        startsAlone += 1;
        await former.startWritable({ looksForGroup: startsAlone % 2 === 0 });
        try {
          await cluster.primary();
          return { writableAt: Date.now() };
        } finally {
          await cluster.restore();
        }
      },
      async 'mysql no majority'(seconds) {
        await cut(cluster.nodes);
        try {
          await sleep(seconds * SECOND);
        } finally {
          await cluster.restore();
        }
        await cluster.primary();
        return { writableAt: Date.now() };
      },
      async 'mysql member restart'(seconds) {
        const primary = await cluster.primary();
        const member = cluster.nodes.find((node) => node !== primary);
        await member?.kill();
        await sleep(seconds * SECOND);
        await member?.start();
        return undefined;
      },
    },
  };
}
