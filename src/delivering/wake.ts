import type { Redis } from 'ioredis';
import type { Sql } from '../database/transaction.ts';
import { addDeliveryJobs } from '../queues/jobs.ts';
import type { Queues } from '../queues/queues.ts';
import { LEASE_IS_FREE } from './lease.ts';

/** What waking needs; every runtime has it. */
export interface WakeContext {
  database: Sql;
  queues: Queues;
  redis: Redis;
  prefix: string;
}

/**
 * The commit comes first, then this read. Where the lease is held, its run is told; should it be ending, the look that follows its
 * release finds the movement. While the circuit is open, a run could not do anything. By the primary keys.
 */
const READ = `
  SELECT k.webhook_id, w.status, IF(${LEASE_IS_FREE}, 0, 1) AS leased,
    TIMESTAMPDIFF(MICROSECOND, NOW(6), k.circuit_open_until) / 1000 AS open_for
  FROM webhook_cursors k JOIN webhooks w ON w.id = k.webhook_id
  WHERE k.webhook_id IN (?)`;

/** Where the runs of all processes hear of new movements. */
const channelOf = (prefix: string): string => `${prefix}:wake-ups`;

/**
 * Has the webhooks looked at: tells the runs that are active, and adds a job where there is none. Call it after the commit.
 * @param options.reread the webhooks themselves have changed, or some of their deliveries are due again; else new movements match.
 * @throws when MySQL or Redis is away. Nothing is lost then: a run looks once more before it ends, and the reconciler finds the rest.
 */
export async function wakeWebhooks(
  { database, queues, redis, prefix }: WakeContext,
  webhookIds: readonly string[],
  { reread = false } = {},
): Promise<void> {
  if (webhookIds.length === 0) return;
  const rows = await database.query<
    { webhook_id: string; status: string; leased: string | number; open_for: string | null }[]
  >(READ, [webhookIds]);
  const active: string[] = [];
  const absent: string[] = [];
  const delayed: { id: string; delay: number }[] = [];
  for (const { webhook_id: id, status, leased, open_for } of rows) {
    // Also of a webhook that was paused or deleted: its run is to end.
    if (Number(leased) === 1) active.push(id);
    else if (status !== 'active') continue;
    else if (Number(open_for ?? 0) > 0) delayed.push({ id, delay: Math.ceil(Number(open_for)) });
    else absent.push(id);
  }
  await Promise.all([
    active.length === 0
      ? undefined
      : redis.publish(channelOf(prefix), `${reread ? 'reread' : 'new'} ${active.join()}`),
    absent.length === 0 ? undefined : addDeliveryJobs(queues, absent),
    ...delayed.map(({ id, delay }) => addDeliveryJobs(queues, [id], delay)),
  ]);
}

/** Hears what `wakeWebhooks` tells active runs. @param connection one of its own, since it can do nothing else from then on. */
export function listenForWakeUps(
  { connection, prefix }: { connection: Redis; prefix: string },
  heard: (webhookIds: readonly string[], reread: boolean) => void,
): void {
  connection.on('message', (_channel, message: string) => {
    const [kind, ids = ''] = message.split(' ');
    heard(ids.split(','), kind === 'reread');
  });
  // While Redis is away it waits, and it subscribes again by itself after each outage.
  connection.subscribe(channelOf(prefix)).catch(() => {});
}
