import { Command, Option } from 'commander';
import pRetry from 'p-retry';
import type { DataSource } from 'typeorm';
import { REPLAYABLE, type Replayable, replay } from '../../delivering/replay.ts';
import { connectHasty } from '../../queues/connection.ts';
import { openQueues } from '../../queues/queues.ts';
import { wakeWebhooks } from '../../queues/wake.ts';
import { DEFAULT_PREFIX } from '../../runtime.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { withInstallation } from '../installation.ts';
import { formatCount } from '../terminal.ts';
import { parseId, readMoment } from '../values.ts';

const SECOND = 1_000;
const REDIS_TIMEOUT = 3 * SECOND;

interface Options {
  webhook: string;
  since: string;
  until?: string;
  status?: Replayable;
  json?: boolean;
}

/** `ledgerbell replay` */
export const replayCommand = (context: CommandContext) =>
  new Command('replay')
    .description('send notifications of a webhook again that were delivered or have failed')
    .requiredOption('--webhook <id>', 'whose notifications', parseId)
    .requiredOption('--since <moment>', 'those made from then on: "YYYY-MM-DD HH:mm:ss", or a date')
    .option('--until <moment>', 'and up to then')
    .addOption(new Option('--status <status>', 'only those that ended so').choices([...REPLAYABLE]))
    .option('--json', 'print { "replayed": n }')
    .action(async ({ webhook: webhookId, json, ...options }: Options) => {
      const { zone } = context.readConfig();
      const since = readMoment('--since', options.since, zone);
      const until = options.until === undefined ? undefined : readMoment('--until', options.until, zone);
      const statuses = options.status === undefined ? undefined : [options.status];
      await withInstallation(context, async ({ database, redisUrl }) => {
        const status = await requireWebhook(database, webhookId);
        const replayed = await replay(database, { webhookId, since, until, statuses });
        if (replayed > 0) await tellService(redisUrl, webhookId, context.terminal.note);
        const when =
          status === 'active' ? '' : ` They are sent when the webhook, which is ${status}, is active again.`;
        const text = `${formatCount(replayed)} notifications of webhook ${webhookId} are owed again.${when}`;
        context.terminal.answer(json, { replayed }, text);
      });
    });

async function requireWebhook(database: DataSource, webhookId: string): Promise<string> {
  const [webhook] = await database.query<{ status: string }[]>('SELECT status FROM webhooks WHERE id = ?', [
    webhookId,
  ]);
  if (webhook === undefined || webhook.status === 'deleted') {
    throw new Failure('There is no webhook of that id, or it was deleted.');
  }
  return webhook.status;
}

/** Without Redis nothing is lost: the reconciler finds what is due within 10 s, once the service runs. */
async function tellService(
  redisUrl: string | undefined,
  webhookId: string,
  note: (line: string) => void,
): Promise<void> {
  if (redisUrl === undefined) return note('No service is running: they are sent once it is started.');
  const redis = connectHasty(redisUrl);
  const queues = openQueues(redis, DEFAULT_PREFIX);
  try {
    await pRetry(() => redis.ping(), {
      retries: 30,
      factor: 1,
      minTimeout: 100,
      maxRetryTime: REDIS_TIMEOUT,
    });
    await wakeWebhooks(queues, [webhookId]);
  } catch {
    note('Redis cannot be reached: the service finds them by itself, within 10 s of its return.');
  } finally {
    await queues.close().catch(() => {});
    redis.disconnect();
  }
}
