import { Command, Option } from 'commander';
import * as v from 'valibot';
import { LISTED_STATUSES } from '../../deliveries/view.ts';
import { withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { Failure } from '../failure.ts';
import { addListOptions, type ListOptions, printList, printRows } from '../list-output.ts';
import { parseId, readMomentUtc } from '../values.ts';
import { Delivery, deliveryColumns } from './deliveries-view.ts';

interface Options extends ListOptions {
  webhook?: string;
  movement?: string;
  status?: string;
  account?: string;
  since?: string;
  until?: string;
}

/** `ledgerbell deliveries list` */
export const listDeliveriesCommand = (context: CommandContext) =>
  addListOptions(
    new Command('list').description('show the deliveries of a webhook, the newest first, or of a movement'),
  )
    .option('--webhook <id>', 'of this webhook', parseId)
    .option('--movement <id>', 'of this movement; without --webhook: one for each webhook', parseId)
    .addOption(new Option('--status <status>', 'only these').choices([...LISTED_STATUSES]))
    .option('--account <id>', 'only of movements of this account', parseId)
    .option('--since <moment>', 'only of movements stored from then on: "YYYY-MM-DD HH:mm:ss", or a date')
    .option('--until <moment>', 'and up to then')
    .action((options: Options) =>
      options.webhook === undefined
        ? printOfMovement(context, options)
        : printOfWebhook(context, options, options.webhook),
    );

async function printOfWebhook(context: CommandContext, options: Options, webhookId: string): Promise<void> {
  const { zone } = context.readConfig();
  const { status, account, movement, since, until } = options;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ status, account, movement })) {
    if (value !== undefined) query.set(name, value);
  }
  if (since !== undefined) query.set('since', readMomentUtc('--since', since, zone));
  if (until !== undefined) query.set('until', readMomentUtc('--until', until, zone));
  await printList(context, options, {
    path: `/v1/webhooks/${webhookId}/deliveries${query.size === 0 ? '' : `?${query}`}`,
    name: 'deliveries',
    row: Delivery,
    columns: deliveryColumns(zone),
    subject: { kind: 'webhook', id: webhookId },
  });
}

async function printOfMovement(context: CommandContext, options: Options): Promise<void> {
  const { movement: id } = options;
  if (id === undefined) throw new Failure('Say which: --webhook <id>, --movement <id>, or both.');
  const answer = v.object({ deliveries: v.array(Delivery) });
  const { deliveries: rows } = await withAccess(
    context,
    options,
    { subject: { kind: 'movement', id } },
    (api) => api.get(`/v1/transactions/${id}/deliveries`, answer),
  );
  const columns = deliveryColumns(context.readConfig().zone);
  printRows(context, options, { name: 'deliveries', rows, columns });
}
