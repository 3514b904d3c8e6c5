import { Cluster } from 'ioredis';
import type { Sql } from '../platform/database/transaction.ts';
import type { Log } from '../platform/log.ts';
import type { RedisClient } from '../platform/queues/connection.ts';
import {
  addDeliveryJobs,
  deliveryQueueNames,
  groupByQueue,
  prefixOf,
  type Queues,
} from '../platform/queues/queues.ts';
import { LEASE_IS_FREE } from './lease.ts';

/** Wakes webhooks: a run that is active is notified through Redis; for a webhook without one, a job is added. */

/** Needed to wake. Every `Runtime` has it. */
export interface WakeContext {
  database: Sql;
  queues: Queues;
  redis: RedisClient;
  prefix: string;
}

/** MySQL, Redis and the queue, as `wake` reaches them. The model implements it too. */
export interface WakePort {
  /** Tells all delivery processes. `reread`: the webhooks themselves have changed. */
  publish(webhookIds: readonly string[], reread: boolean): Promise<unknown>;
  /** Reads who would send for the webhooks. */
  readLeases(webhookIds: readonly string[]): Promise<WokenWebhook[]>;
  /** Adds their jobs. */
  addJobs(webhookIds: readonly string[]): Promise<void>;
}

interface WokenWebhook {
  id: string;
  isActive: boolean;
  /** A run has its lease. */
  isLeased: boolean;
  /** Its circuit is open. */
  isOpen: boolean;
}

/**
 * Must run after the commit. A webhook whose lease is held needs no job: a run that is just ending reads the webhook's state once
 * more after it has given its lease back, and finds the movement then. While the circuit is open, a run could not send anything, and the
 * run that has opened it has left a job for the moment when it is half-open.
 * Indexes: the primary keys.
 */
const READ = `
  SELECT k.webhook_id, w.status, IF(${LEASE_IS_FREE}, 0, 1) AS leased,
    IF(k.circuit_open_until > NOW(6), 1, 0) AS is_open
  FROM webhook_cursors k JOIN webhooks w ON w.id = k.webhook_id
  WHERE k.webhook_id IN (?)`;

/** The Redis channels that the delivery processes listen to: one for each delivery queue, in the same slot of a Redis Cluster. */
const channelOf = (prefix: string, queue: string): string => `${prefixOf(prefix, queue)}:wake-ups`;

/**
 * Wakes webhooks that may have something to send. Call it after the commit.
 * @param options.reread the webhooks themselves have changed, or some of their deliveries are due again; else new movements match.
 * @throws when MySQL or Redis is unreachable. Nothing is lost then: a run reads the webhook's state once more before it ends, and
 * the reconciler finds the rest.
 */
export async function wakeWebhooks(
  { database, queues, redis, prefix }: WakeContext,
  webhookIds: readonly string[],
  { reread = false } = {},
): Promise<void> {
  await wake(createWakePort({ database, queues, redis, prefix }), webhookIds, reread);
}

/** Decides how webhooks are woken, see `wakeWebhooks`. */
export async function wake(port: WakePort, webhookIds: readonly string[], reread: boolean): Promise<void> {
  if (webhookIds.length === 0) return;
  // New movements are published to all webhooks before it is known which of them have a run: that saves active runs a round trip.
  // A run that began too late for the message reads the log after it has taken its lease, and finds the movements there.
  const published = reread ? undefined : port.publish(webhookIds, false);
  published?.catch(() => {});
  const running: string[] = [];
  const withoutRun: string[] = [];
  for (const { id, isActive, isLeased, isOpen } of await port.readLeases(webhookIds)) {
    // Also for a webhook that was paused or deleted, so that its run ends.
    if (isLeased) running.push(id);
    else if (isActive && !isOpen) withoutRun.push(id);
  }
  await Promise.all([
    published,
    reread && running.length > 0 ? port.publish(running, true) : undefined,
    withoutRun.length === 0 ? undefined : port.addJobs(withoutRun),
  ]);
}

/**
 * Wakes a webhook that has changed, or that has deliveries due again. If Redis or MySQL is unreachable, that is only logged: the
 * reconciler finds what is due within 10 s.
 */
export async function wakeChangedWebhook(
  runtime: WakeContext & { log: Log },
  webhookId: string,
): Promise<void> {
  await wakeWebhooks(runtime, [webhookId], { reread: true }).catch((err: unknown) =>
    runtime.log.warn({ err, webhookId }, 'webhook not woken yet'),
  );
}

const createWakePort = ({ database, queues, redis, prefix }: WakeContext): WakePort => ({
  async publish(ids, reread) {
    const kind = reread ? 'reread' : 'new';
    await Promise.all(
      [...groupByQueue(queues, ids)].map(([queue, of]) =>
        publish(redis, channelOf(prefix, queue.name), `${kind} ${of.join()}`),
      ),
    );
  },
  async readLeases(ids) {
    const rows = await database.query<
      { webhook_id: string; status: string; leased: string | number; is_open: string | number }[]
    >(READ, [ids]);
    return rows.map(({ webhook_id: id, status, leased, is_open }) => ({
      id,
      isActive: status === 'active',
      isLeased: Number(leased) === 1,
      isOpen: Number(is_open) === 1,
    }));
  },
  addJobs: (ids) => addDeliveryJobs(queues, ids),
});

/** In a cluster, a sharded message goes to one node only (Redis 7), and any other one to all nodes. */
const publish = (redis: RedisClient, channel: string, message: string): Promise<unknown> =>
  redis instanceof Cluster
    ? redis.spublish(channel, message).catch((error: Error) => {
        if (!isUnknownCommand(error)) throw error;
        return redis.publish(channel, message);
      })
    : redis.publish(channel, message);

const isUnknownCommand = ({ message }: Error): boolean => message.startsWith('ERR unknown command');

/**
 * Receives what `wakeWebhooks` publishes.
 * @param options.connection one of its own: once it is subscribed it can do nothing else.
 */
export function listenForWakeUps(
  { connection, prefix, deliveryQueues }: { connection: RedisClient; prefix: string; deliveryQueues: number },
  onWakeUp: (webhookIds: readonly string[], reread: boolean) => void,
): void {
  const receive = (_channel: string, message: string) => {
    const [kind, ids = ''] = message.split(' ');
    onWakeUp(ids.split(','), kind === 'reread');
  };
  const channels = deliveryQueueNames(deliveryQueues).map((name) => channelOf(prefix, name));
  connection.on('message', receive).on('smessage', receive);
  // While Redis is unreachable this waits. After each outage the connection subscribes again by itself.
  for (const channel of channels) subscribe(connection, channel).catch(() => {});
}

async function subscribe(connection: RedisClient, channel: string): Promise<void> {
  if (!(connection instanceof Cluster)) return void (await connection.subscribe(channel));
  await connection.ssubscribe(channel).catch((error: Error) => {
    if (!isUnknownCommand(error)) throw error;
    return connection.subscribe(channel);
  });
}
