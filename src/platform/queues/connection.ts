import { Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl } from '../config/server-urls.ts';

/** A connection to one Redis, or those to the nodes of a Redis Cluster. */
export type RedisClient = Redis | Cluster;

/**
 * Options for ioredis from `redis://:password@host:6379/0`, `rediss://…`, with `?socketPath=/run/redis.sock` for a Unix socket, or from
 * `redis+sentinel://…`. After a failover, the connection goes to the new master.
 */
export function redisOptions(url: string): RedisOptions {
  const { hosts, username, password, database, socketPath, tls, sentinels } = parseRedisUrl(url);
  return {
    ...(sentinels === null
      ? socketPath === null
        ? hosts[0]
        : { path: socketPath }
      : {
          sentinels: sentinels.addresses,
          name: sentinels.name,
          ...(sentinels.password === null ? {} : { sentinelPassword: sentinels.password }),
          ...(tls === null ? {} : { enableTLSForSentinelMode: true, sentinelTLS: tls }),
          sentinelRetryStrategy: retryStrategy,
        }),
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    ...(tls === null ? {} : { tls }),
    db: Number(database || 0),
    reconnectOnError,
  };
}

/** A former master answers READONLY to writes. Whoever waits for a job when a master becomes a replica gets UNBLOCKED. */
function reconnectOnError({ message }: Error): false | 1 | 2 {
  if (message.startsWith('READONLY')) return RECONNECT_AND_RESEND;
  return message.startsWith('UNBLOCKED') ? RECONNECT : false;
}

const RECONNECT = 1;
const RECONNECT_AND_RESEND = 2;

/**
 * For workers. While Redis is unreachable, commands wait until it is back. In a cluster they give up after 20 s, because ioredis (5.11) may
 * forget a command when all nodes were down, and its worker would wait for ever. BullMQ waits for a job for 10 s at most, and repeats what
 * has failed.
 */
export const connectWorker = (url: string): RedisClient =>
  connect(
    url,
    { maxRetriesPerRequest: null, ...(isClusterUrl(url) ? { commandTimeout: 20_000 } : {}) },
    { enableOfflineQueue: true },
  );

const isClusterUrl = (url: string): boolean => parseRedisUrl(url).cluster !== null;

/** For callers that must respond (the API). While Redis is unreachable, commands fail fast, and the reconciler adds the jobs. */
export const connectFailFast = (url: string): RedisClient =>
  connect(url, { maxRetriesPerRequest: 0, commandTimeout: 2_000 }, { enableOfflineQueue: false });

const retryStrategy = (times: number) => Math.min(50 * 2 ** times, 1_000);

function connect(
  url: string,
  options: RedisOptions,
  { enableOfflineQueue }: { enableOfflineQueue: boolean },
): RedisClient {
  const { hosts, cluster } = parseRedisUrl(url);
  if (cluster === null)
    return quiet(new Redis({ ...redisOptions(url), ...options, enableOfflineQueue, retryStrategy }));
  const { host: _host, port: _port, ...nodeOptions } = redisOptions(url);
  return quiet(
    new Cluster(hosts, {
      ...CLUSTER_OPTIONS,
      natMap: cluster.natMap,
      enableOfflineQueue,
      redisOptions: { ...nodeOptions, ...options },
    }),
  );
}

const CLUSTER_OPTIONS: ClusterOptions = {
  clusterRetryStrategy: retryStrategy,
  // Sharded subscriptions follow their slot.
  shardedSubscribers: true,
  // A certificate has a host name, and nodes may announce theirs.
  dnsLookup: (address, callback) => callback(null, address),
  slotsRefreshTimeout: 2_000,
  // While a slot has no master, a command is sent again for 2 s.
  maxRedirections: 20,
  retryDelayOnClusterDown: 100,
  retryDelayOnFailover: 100,
};

/** ioredis reconnects by itself, and each command reports an outage to its caller. */
function quiet<T extends RedisClient>(redis: T): T {
  redis.on('error', () => {});
  return redis;
}
