import { Command } from 'commander';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseId } from '../values.ts';
import { WebhookAnswer } from './webhooks-view.ts';

/** `ledgerbell webhooks rotate-secret` */
export const rotateSecretCommand = (context: CommandContext) =>
  addAccessOptions(
    new Command('rotate-secret').description('replace a webhook’s secret; both sign for 24 hours'),
  )
    .argument('<id>', 'of the webhook', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const subject = { kind: 'webhook', id } as const;
      const answer = await withAccess(context, options, { subject, wakes: true }, (api) =>
        api.post(`/v1/webhooks/${id}/rotate-secret`, {}, WebhookAnswer),
      );
      const text = `The secret of webhook ${id} (shown only now; the former one signs for 24 hours too)\n  ${answer.webhook.secret}`;
      context.terminal.answer(options.json, answer, text);
    });
