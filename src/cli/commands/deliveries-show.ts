import { Command } from 'commander';
import * as v from 'valibot';
import { AttemptView } from '../../deliveries/view.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { type Column, formatTime, renderColumns, renderFacts } from '../table-output.ts';
import { parseDeliveryKey } from '../values.ts';
import { Delivery } from './deliveries-view.ts';

const Attempt = v.looseObject(AttemptView.entries);
type Attempt = v.InferOutput<typeof Attempt>;
const DeliveryAnswer = v.object({ delivery: v.looseObject({ ...Delivery.entries, log: v.array(Attempt) }) });

/** `ledgerbell deliveries show` */
export const showDeliveryCommand = (context: CommandContext) =>
  addAccessOptions(new Command('show').description('show a delivery and its attempts'))
    .argument('<id>', 'of the delivery: <webhook id>-<movement id>', parseDeliveryKey)
    .action(async (id: string, options: AccessOptions) => {
      const [webhookId = ''] = id.split('-');
      const subject = { kind: 'delivery', id: webhookId } as const;
      const answer = await withAccess(context, options, { subject }, (api) =>
        api.get(`/v1/deliveries/${id}`, DeliveryAnswer),
      );
      const { zone } = context.readConfig();
      const { delivery: it } = answer;
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
      const columns: readonly Column<Attempt>[] = [
        ['attempt', ({ number }) => number, 'right'],
        ['outcome', ({ outcome }) => outcome],
        ['answer', ({ status_code }) => status_code, 'right'],
        ['started', ({ started_at }) => formatTime(started_at, zone)],
        ['ms', ({ duration_ms }) => duration_ms, 'right'],
        ['error or response', ({ error, response }) => error ?? response, 'whole'],
      ];
      const log = it.log.length === 0 ? '' : `\n\n${renderColumns(columns, it.log)}`;
      context.terminal.answer(options.json, answer, `${facts}${log}`);
    });
