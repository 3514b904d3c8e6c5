import { Command } from 'commander';
import { formatCount } from '../../counts.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';
import { WebhookAnswer } from './webhooks-view.ts';

/** `ledgerbell webhooks pause` */
export const pauseWebhookCommand = (context: CommandContext) =>
  statusCommand(context, 'paused', new Command('pause')).description(
    'send a webhook nothing for now; its deliveries stay pending',
  );

/** `ledgerbell webhooks enable` */
export const enableWebhookCommand = (context: CommandContext) =>
  statusCommand(context, 'active', new Command('enable')).description(
    'make a paused or disabled webhook active again',
  );

const statusCommand = (context: CommandContext, status: 'active' | 'paused', command: Command) =>
  addAccessOptions(command)
    .argument('<id>', 'of the webhook', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const subject = { kind: 'webhook', id } as const;
      const answer = await withAccess(context, options, { subject, wakes: true }, (api) =>
        api.patch(`/v1/webhooks/${id}`, { status }, WebhookAnswer),
      );
      const pending = formatCount(answer.webhook.deliveries.pending);
      context.terminal.answer(options.json, answer, `Webhook ${id} is ${status}. ${pending} pending.`);
    });
