import { Command, Option } from 'commander';
import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { createReplay, REPLAYABLE, type Replayable } from '../../deliveries/create-replay.ts';
import { connectFailFast } from '../../queues/connection.ts';
import { addDeliveryJobs } from '../../queues/jobs.ts';
import { openQueues } from '../../queues/queues.ts';
import { DEFAULT_PREFIX } from '../../runtime.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { withInstallation } from '../open-service.ts';
import { formatCount } from '../terminal.ts';
import { parseId, readMoment } from '../values.ts';

const SECOND = 1_000;
const REDIS_TIMEOUT = 3 * SECOND;

interface Options {
  webhook: string;
  since: string;
  until?: string;
  status: Replayable;
  json?: boolean;
}

/** `ledgerbell replay` */
export const replayCommand = (context: CommandContext) =>
  new Command('replay')
    .description('send failed or delivered notifications of a webhook again')
    .requiredOption('--webhook <id>', 'the webhook', parseId)
    .requiredOption('--since <moment>', 'only movements stored since then: "YYYY-MM-DD HH:mm:ss", or a date')
    .option('--until <moment>', 'the last moment, inclusive; default: now')
    .addOption(
      new Option('--status <status>', 'which deliveries to send again')
        .choices([...REPLAYABLE])
        .default('failed'),
    )
    .option('--json', 'print { "replay": { … } }')
    .action(async ({ webhook: webhookId, json, ...options }: Options) => {
      const { zone } = context.readConfig();
      const since = readMoment('--since', options.since, zone);
      const until = options.until === undefined ? undefined : readMoment('--until', options.until, zone);
      await withInstallation(context, async ({ database, redisUrl }) => {
        const { customerId, status } = await requireWebhook(database, webhookId);
        const replay = await createReplay(database, {
          webhook: { id: webhookId, customerId },
          since,
          until,
          statuses: [options.status],
        });
        if (replay === 'disabled') throw new Failure(DISABLED);
        if (replay === 'deleted') throw new Failure(NO_WEBHOOK);
        const { id, statuses, matched, createdAt } = replay;
        if (matched !== 0) await notifyService(redisUrl, webhookId, context.terminal.note);
        const answer = {
          id: Number(id),
          webhook_id: Number(webhookId),
          status: statuses,
          matched,
          created_at: createdAt,
        };
        const count = matched === null ? 'More than a thousand' : formatCount(matched);
        const when = status === 'paused' ? ' They are sent when the webhook is active again.' : '';
        const text = `${count} ${options.status} notifications of webhook ${webhookId} are sent again.${when}`;
        context.terminal.answer(json, { replay: answer }, text);
      });
    });

const NO_WEBHOOK = 'There is no webhook of that id, or it was deleted.';
const DISABLED = 'The webhook is disabled: set its status to "active" first.';

async function requireWebhook(
  database: DataSource,
  webhookId: string,
): Promise<{ customerId: string; status: string }> {
  const [webhook] = await database.query<{ customerId: string; status: string }[]>(WEBHOOK, [webhookId]);
  if (webhook === undefined) throw new Failure(NO_WEBHOOK);
  return webhook;
}

/** Index: the primary key. */
const WEBHOOK = 'SELECT customer_id AS customerId, status FROM webhooks WHERE id = ?';

/** Adds a job for the webhook. If that fails, the reconciler finds what is due within 10 s, once the service runs. */
async function notifyService(
  redisUrl: string | undefined,
  webhookId: string,
  note: (line: string) => void,
): Promise<void> {
  if (redisUrl === undefined) return note('No service is running: they are sent when it starts.');
  const redis = connectFailFast(redisUrl);
  const queues = openQueues(redis, DEFAULT_PREFIX);
  try {
    await pRetry(() => redis.ping(), {
      retries: 30,
      factor: 1,
      minTimeout: 100,
      maxRetryTime: REDIS_TIMEOUT,
    });
    await addDeliveryJobs(queues, [webhookId]);
  } catch {
    note('Redis cannot be reached: the service finds them within 10 s after Redis is back.');
  } finally {
    await queues.close().catch(() => {});
    redis.disconnect();
  }
}
