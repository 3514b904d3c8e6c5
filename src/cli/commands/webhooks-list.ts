import { Command } from 'commander';
import type { CommandContext } from '../context.ts';
import { addListOptions, type ListOptions, printList } from '../list-output.ts';
import { WEBHOOK_COLUMNS, Webhook } from './webhooks-view.ts';

/** `ledgerbell webhooks list` */
export const listWebhooksCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show webhooks, the oldest first')).action(
    (options: ListOptions) =>
      printList(context, options, {
        path: '/v1/webhooks',
        name: 'webhooks',
        row: Webhook,
        columns: WEBHOOK_COLUMNS,
      }),
  );
