import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterNode } from '../servers/clusters/node.ts';
import { type ClusterName, startCluster } from '../servers/clusters/start-cluster.ts';
import { startReplication } from '../support/replication.ts';
import { startSentinelCluster } from '../support/sentinel.ts';
import { type ChaosServer, prepareOneMysql, prepareOneRedis, type Recovery } from './servers.ts';

export const MYSQL_SETUPS = ['alone', 'replication', 'group-replication', 'galera'] as const;
export type MysqlSetup = (typeof MYSQL_SETUPS)[number];

export const REDIS_SETUPS = ['alone', 'sentinel'] as const;
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
    redis === 'alone' ? prepareOneRedis(directory, options) : startWithSentinel(dataDir),
  ]);
  return { mysql: mysqlServer, redis: redisServer };
}

/** Clusters run until they are killed for good. */
const RUNNING = { start: async () => {}, freeze: () => {}, thaw: () => {}, disk: null };

/** A primary of MySQL with a replica, behind one address. */
async function startWithReplica(dataDir: string): Promise<ChaosServer> {
  const replication = await startReplication(dataDir);
  return {
    ...RUNNING,
    url: replication.url,
    password: new URL(replication.url).password,
    kill: replication.stop,
    faults: { 'mysql roles change': () => replication.changeRoles().then(() => undefined) },
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
