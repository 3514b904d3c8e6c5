import { Cluster } from 'ioredis';
import type { Sql } from '../database/transaction.ts';
import type { Log } from '../platform/log.ts';
import {
  addDeliveryJobs,
  deliveryQueueNames,
  groupByQueue,
  prefixOf,
  type Queues,
} from '../platform/queues.ts';
import type { RedisClient } from '../platform/redis.ts';
import { circuitOpenUntil, probedUntil } from '../webhook-record/circuit.ts';
import { LEASE_IS_FREE } from '../webhook-record/lease.ts';
import { joinSettings, statusOf } from '../webhook-record/record.ts';

/** Wakes webhooks: notifies active runs and readers of feeds through Redis, and adds a job for each webhook without a run. */

/** Needed to wake. Every `Runtime` has it. */
export interface WakeContext {
  database: Sql;
  queues: Queues;
  redis: RedisClient;
  prefix: string;
}

/** How `wake` reaches MySQL, Redis and the queue. The model test implements it too. */
export interface WakePort {
  /** Tells all delivery processes, and all api processes with readers of feeds. `reread`: the webhooks themselves have changed. */
  publish(webhookIds: readonly string[], reread: boolean): Promise<unknown>;
  /** Reads whether the webhooks have a run or could have one. */
  readLeases(webhookIds: readonly string[]): Promise<WokenWebhook[]>;
  /** Adds their jobs. */
  addJobs(webhookIds: readonly string[]): Promise<void>;
}

interface WokenWebhook {
  id: string;
  isActive: boolean;
  /** Its events are pulled, so it has no runs. */
  isPull: boolean;
  /** A run has its lease. */
  isLeased: boolean;
  /** Its circuit is open, or another webhook of its template probes it. */
  isOpen: boolean;
}

/**
 * Must run after the commit. A webhook whose lease is held needs no job: the job of a run that is just ending reads the webhook's state
 * again after the lease is given back, and finds the movement then. A webhook whose circuit is open needs no job either: nothing can be
 * sent, and the job that opened the circuit has left a job for the moment when the circuit is half-open. The reconciler finds the webhooks of a template
 * when its circuit is closed.
 * Indexes: the primary keys.
 */
const READ_LEASES = `
  SELECT k.webhook_id, ${statusOf('w', 's')} AS status, w.delivery, IF(${LEASE_IS_FREE}, 0, 1) AS leased,
    IF(${circuitOpenUntil('h')} IS NULL AND ${probedUntil('w', 'h')} IS NULL, 0, 1) AS is_open
  FROM webhook_cursors k JOIN webhooks w ON w.id = k.webhook_id ${joinSettings('w', 's')} JOIN webhook_cursors h ON h.webhook_id = s.id
  WHERE k.webhook_id IN (?)`;

/** The Redis channel that delivery processes, and api processes with readers of feeds, listen to. Each delivery queue has one, in the same slot of a Redis Cluster. */
const channelOf = (prefix: string, queue: string): string => `${prefixOf(prefix, queue)}:wake-ups`;

/**
 * Wakes webhooks that may have something to send. Call it after the commit.
 * @param options.reread true: the webhooks themselves have changed, or some of their deliveries are due again. false: new movements match.
 * @throws when MySQL or Redis is unreachable. Nothing is lost, because the webhook's state is read again after each run, and the
 * reconciler finds the rest.
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
  // New movements are published for all webhooks before it is known which of them have a run. This saves active runs a round trip.
  // A run that misses the message reads the log after it has taken its lease, and finds the movements there.
  const published = reread ? undefined : port.publish(webhookIds, false);
  published?.catch(() => {});
  const listening: string[] = [];
  const withoutRun: string[] = [];
  for (const { id, isActive, isPull, isLeased, isOpen } of await port.readLeases(webhookIds)) {
    // Also for a webhook that was paused or deleted, so that its run ends, or the readers of its feed learn of it.
    if (isPull || isLeased) listening.push(id);
    else if (isActive && !isOpen) withoutRun.push(id);
  }
  await Promise.all([
    published,
    reread && listening.length > 0 ? port.publish(listening, true) : undefined,
    withoutRun.length === 0 ? undefined : port.addJobs(withoutRun),
  ]);
}

/**
 * Wakes a webhook that has changed, or that has deliveries due again. If Redis or MySQL is unreachable, this is only logged, because
 * the reconciler finds due deliveries within 10 s.
 */
export async function wakeChangedWebhook(
  runtime: WakeContext & { log: Log },
  webhookId: string,
): Promise<void> {
  await wakeWebhooks(runtime, [webhookId], { reread: true }).catch((err: unknown) =>
    runtime.log.warn({ err, webhookId }, 'webhook not woken yet'),
  );
}

/** Ends the active runs of all webhooks of a template that has changed. It wakes no others, see `wakeDue`. */
export async function wakeTemplate(
  { queues, redis, prefix, log }: Pick<WakeContext, 'queues' | 'redis' | 'prefix'> & { log: Log },
  templateId: string,
): Promise<void> {
  const channels = queues.deliveries.map(({ name }) => channelOf(prefix, name));
  await Promise.all(channels.map((it) => publish(redis, it, `template ${templateId}`))).catch(
    (err: unknown) => log.warn({ err, templateId }, 'runs of a template not told of its change yet'),
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
      {
        webhook_id: string;
        status: string;
        delivery: string;
        leased: string | number;
        is_open: string | number;
      }[]
    >(READ_LEASES, [ids]);
    return rows.map(({ webhook_id: id, status, delivery, leased, is_open }) => ({
      id,
      isPull: delivery === 'pull',
      isActive: status === 'active',
      isLeased: Number(leased) === 1,
      isOpen: Number(is_open) === 1,
    }));
  },
  addJobs: (ids) => addDeliveryJobs(queues, ids),
});

/** In a cluster, a sharded message goes to only one node (Redis 7). Any other message goes to all nodes. */
const publish = (redis: RedisClient, channel: string, message: string): Promise<unknown> =>
  redis instanceof Cluster
    ? redis.spublish(channel, message).catch((error: Error) => {
        if (!isUnknownCommand(error)) throw error;
        return redis.publish(channel, message);
      })
    : redis.publish(channel, message);

const isUnknownCommand = ({ message }: Error): boolean => message.startsWith('ERR unknown command');

/**
 * Receives the messages of `wakeWebhooks`.
 * @param options.connection a connection for this purpose alone, because a subscribed connection can do nothing else.
 */
export function listenForWakeUps(
  { connection, prefix, deliveryQueues }: { connection: RedisClient; prefix: string; deliveryQueues: number },
  onWakeUp: (webhookIds: readonly string[], reread: boolean) => void,
  onTemplate: (templateIds: readonly string[]) => void = () => {},
): void {
  const receive = (_channel: string, message: string) => {
    const [kind, ids = ''] = message.split(' ');
    if (kind === 'template') onTemplate(ids.split(','));
    else onWakeUp(ids.split(','), kind === 'reread');
  };
  const channels = deliveryQueueNames(deliveryQueues).map((name) => channelOf(prefix, name));
  connection.on('message', receive).on('smessage', receive);
  // Waits while Redis is unreachable. After each outage, the connection subscribes again by itself.
  for (const channel of channels) subscribe(connection, channel).catch(() => {});
}

async function subscribe(connection: RedisClient, channel: string): Promise<void> {
  if (!(connection instanceof Cluster)) return void (await connection.subscribe(channel));
  await connection.ssubscribe(channel).catch((error: Error) => {
    if (!isUnknownCommand(error)) throw error;
    return connection.subscribe(channel);
  });
}
