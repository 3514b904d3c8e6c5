import { Command } from 'commander';
import * as v from 'valibot';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseDeliveryKey } from '../values.ts';
import { Delivery } from './deliveries-view.ts';

/** `ledgerbell deliveries redeliver` */
export const redeliverCommand = (context: CommandContext) =>
  addAccessOptions(new Command('redeliver').description('send one notification again'))
    .argument('<id>', 'of the delivery: <webhook id>-<movement id>', parseDeliveryKey)
    .action(async (id: string, options: AccessOptions) => {
      const [webhookId = ''] = id.split('-');
      const subject = { kind: 'delivery', id: webhookId } as const;
      const answer = await withAccess(context, options, { subject, wakes: true }, (api) =>
        api.post(`/v1/deliveries/${id}/redeliver`, {}, v.object({ delivery: Delivery })),
      );
      context.terminal.answer(options.json, answer, `Delivery ${id} is pending again.`);
    });
