import { Command, Option } from 'commander';
import * as v from 'valibot';
import { AttemptView } from '../../delivery/attempts.ts';
import { DeliveryView, LISTED_STATUSES } from '../../delivery/delivery.ts';
import { RejectedBatchView } from '../../delivery/rejected-batches.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import {
  addListOptions,
  type CreateCommand,
  type ListOptions,
  printList,
  printRows,
  subjectCommand,
} from '../api-command.ts';
import { withAccess } from '../command-access.ts';
import { type CommandContext, Failure } from '../context.ts';
import { type Column, formatTime, renderColumns, renderFacts } from '../output.ts';
import { parseId, readMomentUtc } from '../values.ts';

/** The commands for deliveries. */

/** A delivery as the API shows it. */
export const Delivery = v.looseObject(DeliveryView.entries);
export type Delivery = v.InferOutput<typeof Delivery>;

export const deliveryColumns = (zone: ZoneOffset): readonly Column<Delivery>[] => [
  ['id', ({ id }) => id],
  ['status', ({ status }) => status],
  ['attempts', ({ attempts }) => attempts, 'right'],
  ['due', ({ due_at }) => formatTime(due_at, zone)],
  ['finished', ({ finished_at }) => formatTime(finished_at, zone)],
  ['last error', ({ last_error }) => last_error],
];

interface Options extends ListOptions {
  webhook?: string;
  movement?: string;
  status?: string;
  account?: string;
  since?: string;
  until?: string;
}

/** `ledgerbell deliveries list` */
const listDeliveriesCommand = (context: CommandContext) =>
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
  if (id === undefined)
    throw new Failure('Say which deliveries: give --webhook <id>, --movement <id>, or both.');
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

const Attempt = v.looseObject(AttemptView.entries);
type Attempt = v.InferOutput<typeof Attempt>;
const RejectedBatch = v.looseObject(RejectedBatchView.entries);
const DeliveryAnswer = v.object({
  delivery: v.looseObject({
    ...Delivery.entries,
    log: v.array(Attempt),
    rejected_batches: v.array(RejectedBatch),
  }),
});

const attemptColumns = (zone: ZoneOffset, attempts: readonly Attempt[]): readonly Column<Attempt>[] => [
  ['attempt', ({ number }) => number, 'right'],
  ['outcome', ({ outcome }) => outcome],
  ['answer', ({ status_code }) => status_code, 'right'],
  ['started', ({ started_at }) => formatTime(started_at, zone)],
  ['ms', ({ duration_ms }) => duration_ms, 'right'],
  ['POSTs', ({ posts }) => posts, 'right'],
  ...(attempts.every(({ batch }) => batch === null)
    ? []
    : [['batch', ({ batch }) => batch] satisfies Column<Attempt>]),
  ['error or response', ({ error, response }) => error ?? response, 'whole'],
];

const rejectedColumns = (zone: ZoneOffset): readonly Column<v.InferOutput<typeof RejectedBatch>>[] => [
  ['rejected batch', ({ batch }) => batch],
  ['events', ({ events }) => events, 'right'],
  ['answer', ({ status_code }) => status_code, 'right'],
  ['started', ({ started_at }) => formatTime(started_at, zone)],
  ['ms', ({ duration_ms }) => duration_ms, 'right'],
  ['response', ({ response }) => response, 'whole'],
];

function describeDelivery(it: v.InferOutput<typeof DeliveryAnswer>['delivery'], zone: ZoneOffset): string {
  const facts = renderFacts([
    ['delivery', it.id],
    ['webhook', it.webhook_id],
    it.event_id === null ? ['movement', it.transaction_id] : ['event', it.event_id],
    ['status', it.status],
    ['attempts', it.attempts],
    ['due', formatTime(it.due_at, zone)],
    ['finished', formatTime(it.finished_at, zone)],
    ['last error', it.last_error],
  ]);
  const { log, rejected_batches: rejected } = it;
  return [
    facts,
    ...(log.length === 0 ? [] : [renderColumns(attemptColumns(zone, log), log)]),
    ...(rejected.length === 0 ? [] : [renderColumns(rejectedColumns(zone), rejected)]),
  ].join('\n\n');
}

/** `ledgerbell deliveries` */
export const deliveries: readonly CreateCommand[] = [
  listDeliveriesCommand,
  subjectCommand('delivery', {
    name: 'show',
    description: 'show a delivery and its attempts',
    request: (api, id) => api.get(`/v1/deliveries/${id}`, DeliveryAnswer),
    text: ({ delivery }, _, zone) => describeDelivery(delivery, zone),
  }),
  subjectCommand('delivery', {
    name: 'redeliver',
    description: 'send one notification again',
    request: (api, id) => api.post(`/v1/deliveries/${id}/redeliver`, {}, v.object({ delivery: Delivery })),
    text: (_, id) => `Delivery ${id} is pending again.`,
  }),
];
