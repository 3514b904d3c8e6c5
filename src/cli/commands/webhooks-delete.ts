import { Command } from 'commander';
import * as v from 'valibot';
import { formatCount } from '../../counts.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import { confirm } from '../confirm.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';
import { WebhookAnswer } from './webhooks-view.ts';

/** `ledgerbell webhooks delete` */
export const deleteWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('delete').description('delete a webhook; what is pending is cancelled'))
    .argument('<id>', 'of the webhook', parseId)
    .option('--yes', 'do not ask')
    .action(async (id: string, options: AccessOptions & { yes?: boolean }) => {
      const subject = { kind: 'webhook', id } as const;
      const path = `/v1/webhooks/${id}`;
      const answer = await withAccess(context, options, { subject, wakes: true }, async (api) => {
        const { webhook } = await api.get(path, WebhookAnswer);
        const pending = formatCount(webhook.deliveries.pending);
        await confirm(context, options, `Delete webhook ${id}, ${webhook.title}, with ${pending} pending?`);
        return api.delete(path, v.looseObject({ status: v.string() }));
      });
      context.terminal.answer(options.json, answer, `Webhook ${id} is deleted.`);
    });
