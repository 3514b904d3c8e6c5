import { Command } from 'commander';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';
import { describeWebhook, WebhookAnswer } from './webhooks-view.ts';

/** `ledgerbell webhooks show` */
export const showWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('show').description('show a webhook, its health and its deliveries by number'))
    .argument('<id>', 'of the webhook', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'webhook', id } }, (api) =>
        api.get(`/v1/webhooks/${id}`, WebhookAnswer),
      );
      const { zone } = context.readConfig();
      context.terminal.answer(options.json, answer, describeWebhook(answer.webhook, zone));
    });
