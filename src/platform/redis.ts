import { Cluster, type ClusterNode, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl } from './server-urls.ts';

/** Connects to Redis, in the ways that queues, workers and commands need. */

/** A connection to a single Redis, or the connections to the nodes of a Redis Cluster. */
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

/** A former master answers READONLY to writes. A client that waits for a job while a master becomes a replica gets UNBLOCKED. */
function reconnectOnError({ message }: Error): false | 1 | 2 {
  if (message.startsWith('READONLY')) return RECONNECT_AND_RESEND;
  return message.startsWith('UNBLOCKED') ? RECONNECT : false;
}

const RECONNECT = 1;
const RECONNECT_AND_RESEND = 2;

/** For workers. While Redis is unreachable, commands wait until it is back. */
export const connectWorker = (url: string): RedisClient =>
  connect(url, { maxRetriesPerRequest: null }, { enableOfflineQueue: true });

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
    new ReconnectingCluster(hosts, {
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
  // Host names are kept, because nodes may announce them and certificates contain them.
  dnsLookup: (address, callback) => callback(null, address),
  slotsRefreshTimeout: 2_000,
  // While a slot has no master, a command is repeated for 2 s.
  maxRedirections: 20,
  retryDelayOnClusterDown: 100,
  retryDelayOnFailover: 100,
};

/**
 * A Cluster of ioredis whose connect() always resolves or rejects. In ioredis (5.11), it does neither if a node answers but the
 * cluster is not ready, for example after an outage of all nodes. ioredis then connects again, but the BullMQ (6.7) worker that
 * called connect() would wait forever.
 */
class ReconnectingCluster extends Cluster {
  readonly #nodes: ClusterNode[];

  constructor(nodes: ClusterNode[], options: ClusterOptions) {
    super(nodes, options);
    this.#nodes = nodes;
  }

  override async connect(): Promise<void> {
    let stopListening = () => {};
    const outcome = new Promise<void>((resolve, reject) => {
      const fail = () => reject(new Error('The Redis Cluster is not ready'));
      this.once('ready', resolve).once('end', fail);
      stopListening = () => void this.off('ready', resolve).off('end', fail);
    });
    try {
      await Promise.race([super.connect(), outcome]);
    } finally {
      stopListening();
    }
  }

  override duplicate(nodes: ClusterNode[] = [], options: ClusterOptions = {}): ReconnectingCluster {
    const all = { ...this.options, ...options };
    return quiet(new ReconnectingCluster(nodes.length > 0 ? nodes : this.#nodes, all));
  }
}

/** Ignores error events, because ioredis reconnects by itself and each command reports an outage to its caller. */
function quiet<T extends RedisClient>(redis: T): T {
  redis.on('error', () => {});
  return redis;
}

/**
 * What is wrong with Redis, by the beginning of its error: a code (Redis documentation, "Redis serialization protocol", simple errors),
 * or a text of ioredis or BullMQ. The words continue a sentence that begins with "Redis", and contain no detail.
 */
const PROBLEMS: readonly (readonly [RegExp, string])[] = [
  [/\bOOM\b/, 'is out of memory and refuses writes (maxmemory)'],
  [/\bMISCONF\b/, 'refuses writes: it cannot save to its disk (MISCONF)'],
  [/\bREADONLY\b/, 'refuses writes: it is a read-only replica'],
  [/\bNOREPLICAS\b/, 'refuses writes: it has too few replicas (min-replicas-to-write)'],
  [/\bLOADING\b/, 'is still loading its data'],
  [/\bCLUSTERDOWN\b/, 'refuses commands: its cluster is not complete'],
  [/\b(NOAUTH|WRONGPASS)\b/, 'refuses the user or the password of REDIS_URL'],
  [/\bNOPERM\b/, 'refuses a command: the user of REDIS_URL lacks a permission'],
  [/max number of clients/, 'takes no more connections (maxclients)'],
  [
    /^Missing key for job/,
    'has lost the key of a job: evicted or deleted (maxmemory-policy must be noeviction)',
  ],
  [/^Command timed out/, 'does not answer'],
];

/** What is wrong with Redis, for example "is out of memory and refuses writes". null: the error says nothing that is known. */
export function redisProblem(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const known = PROBLEMS.find(([pattern]) => pattern.test(error.message));
  if (known !== undefined) return known[1];
  const { code } = error as NodeJS.ErrnoException;
  const isUnreachable =
    code?.startsWith('E') || /closed|writeable|max retries|not ready|slots cache/.test(error.message);
  return isUnreachable ? 'cannot be reached' : null;
}
