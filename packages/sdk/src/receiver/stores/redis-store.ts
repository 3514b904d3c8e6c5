import { type DeduplicationStore, LEASE_SECONDS, RETENTION_SECONDS } from './store.ts';

/** A client of Redis: ioredis has `call`, node-redis has `sendCommand`. */
export type RedisClient =
  | { call(command: string, ...args: string[]): Promise<unknown> }
  | { sendCommand(args: string[]): Promise<unknown> };

export interface RedisStoreOptions {
  /** Before each id. Default: `ledgerbell:`. */
  prefix?: string;
  /** How many seconds a processed id is kept. Default: 14 days. */
  retentionSeconds?: number;
  /** How many seconds a claim lasts. Longer than your handlers take. Default: 60. */
  leaseSeconds?: number;
}

const DONE = 'done';

/** Deletes a claim, but not one that another process has taken since. */
const RELEASE =
  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

/**
 * Creates a store in Redis (`SET key value NX EX`), for any number of processes.
 *
 * It knows a duplicate until `retentionSeconds` after it was processed, unless Redis loses the key: by eviction, or by a failover
 * before it was replicated. If a process ends during a handler, an attempt after `leaseSeconds` calls the handler again.
 */
export function redisStore(
  client: RedisClient,
  {
    prefix = 'ledgerbell:',
    retentionSeconds = RETENTION_SECONDS,
    leaseSeconds = LEASE_SECONDS,
  }: RedisStoreOptions = {},
): DeduplicationStore {
  const send = (command: string, ...args: string[]): Promise<unknown> =>
    'call' in client ? client.call(command, ...args) : client.sendCommand([command, ...args]);
  return {
    async claim(id) {
      const key = prefix + id;
      const token = crypto.randomUUID();
      if ((await send('SET', key, token, 'NX', 'EX', String(leaseSeconds))) === null) {
        return String(await send('GET', key)) === DONE ? 'done' : 'busy';
      }
      return {
        async complete() {
          await send('SET', key, DONE, 'EX', String(retentionSeconds));
        },
        async release() {
          await send('EVAL', RELEASE, '1', key, token);
        },
      };
    },
  };
}
