import { Command } from 'commander';
import { requestCustomerDeletion } from '../../deleting/request-deletion.ts';
import { wakeWebhooks } from '../../delivering/wake.ts';
import { byOperator, recordChange } from '../../http/audit.ts';
import { openQueues } from '../../queues/queues.ts';
import { DEFAULT_PREFIX } from '../../runtime.ts';
import { confirm } from '../confirm.ts';
import type { CommandContext } from '../context.ts';
import { requireCustomer } from '../customer.ts';
import { type Installation, withInstallation } from '../open-service.ts';
import { operatorName } from '../operator-name.ts';
import { connectToService } from '../redis-access.ts';
import { parseId } from '../values.ts';

/** `ledgerbell customers delete` */
export const deleteCustomerCommand = (context: CommandContext) =>
  new Command('delete')
    .description('delete a customer with everything that belongs to it')
    .argument('<id>', 'of the customer', parseId)
    .option('--yes', 'do not ask')
    .option('--json', 'print { "customer": { "id", "status" } }')
    .action(async (id: string, options: { yes?: boolean; json?: boolean }) =>
      withInstallation(context, async (installation) => {
        await requireCustomer(installation.database, id);
        const question = `Delete customer ${id} with its API keys, accounts, movements, webhooks and imports?`;
        await confirm(context, options, question);
        const operator = { source: 'command line', name: operatorName() } as const;
        const running = await requestCustomerDeletion(installation.database, id, (sql) =>
          recordChange(sql, byOperator(operator, id), { action: 'delete', subject: `customer ${id}` }),
        );
        await endRuns(installation, running, context.terminal.note);
        const lines = [
          `Customer ${id} is being deleted. Its API keys do not work any more, and nothing of it is stored or sent.`,
          `See how far it is with: npm run cli -- status`,
        ];
        const answer = { customer: { id: Number(id), status: 'deleting' } };
        context.terminal.answer(options.json, answer, lines.join('\n'));
      }),
    );

/** Without this, delivery runs end by themselves within a minute. */
async function endRuns(
  { database, redisUrl }: Installation,
  webhookIds: readonly string[],
  note: (line: string) => void,
): Promise<void> {
  if (webhookIds.length === 0) return;
  const redis = await connectToService(redisUrl, note);
  const queues = openQueues(redis, DEFAULT_PREFIX);
  try {
    await wakeWebhooks({ database, queues, redis, prefix: DEFAULT_PREFIX }, webhookIds, { reread: true });
  } catch {
    note('The service has not been told: what its delivery runs have begun to send, they send.');
  } finally {
    redis.disconnect();
    await queues.close().catch(() => {});
  }
}
