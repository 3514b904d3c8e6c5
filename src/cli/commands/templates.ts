import { Command } from 'commander';
import * as v from 'valibot';
import type { ZoneOffset } from '../../platform/moment.ts';
import { formatCount } from '../../platform/text.ts';
import { TemplateView, TemplateWebhookView } from '../../verdict/template-view.ts';
import { printRows } from '../api-command.ts';
import { withOperator } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { formatTime, renderColumns, renderFacts } from '../output.ts';
import { parseId } from '../values.ts';
import { describePending, describeStatus } from './webhooks.ts';

/** The commands for webhook templates, each of which stands for one webhook per customer. */

/** A template as the API shows it. Fields of a newer service are kept for --json. */
const Template = v.looseObject(TemplateView.entries);
type Template = v.InferOutput<typeof Template>;
const TemplateAnswer = v.looseObject({ webhook_template: Template });

const TemplateWebhook = v.looseObject(TemplateWebhookView.entries);
type TemplateWebhook = v.InferOutput<typeof TemplateWebhook>;

/** `ledgerbell templates list` */
const listTemplatesCommand = (context: CommandContext) =>
  new Command('list')
    .description('show webhook templates, the oldest first')
    .option('--json', 'print { "webhook_templates" } as the API answers')
    .action(async (options: { json?: boolean }) => {
      const [name, all] = ['webhook_templates', Number.POSITIVE_INFINITY];
      const { rows } = await withOperator(context, (api) =>
        api.list('/v1/webhook-templates', name, Template, all, context.signal),
      );
      printRows(context, options, {
        name,
        rows,
        columns: [
          ['id', ({ id }) => id, 'right'],
          ['title', ({ title }) => title],
          ['event', ({ events }) => events.join(', ')],
          ['status', describeStatus],
          ['customers', ({ webhooks }) => formatCount(webhooks.active), 'right'],
          ['pending', ({ deliveries }) => formatCount(deliveries.pending), 'right'],
          ['failed', ({ deliveries }) => formatCount(deliveries.failed), 'right'],
          ['endpoint', endpointOf],
        ],
      });
    });

/** How many customers with failed deliveries are shown. */
const MOST_CUSTOMERS = 10;

/** `ledgerbell templates show` */
const showTemplateCommand = (context: CommandContext) =>
  new Command('show')
    .description('show a webhook template, its health, its deliveries by number, and where deliveries failed')
    .argument('<id>', 'of the template', parseId)
    .option(
      '--json',
      `print { "webhook_template", "webhooks" }: the template, and its first ${MOST_CUSTOMERS} webhooks with failed deliveries`,
    )
    .action(async (id: string, { json }: { json?: boolean }) => {
      const path = `/v1/webhook-templates/${id}`;
      const { webhook_template, rows, more } = await withOperator(context, async (api) => ({
        ...(await api.get(path, TemplateAnswer)),
        ...(await api.list(
          `${path}/webhooks?having=failed`,
          'webhooks',
          TemplateWebhook,
          MOST_CUSTOMERS,
          context.signal,
        )),
      }));
      const text = describeTemplate(webhook_template, rows, context.readConfig().zone);
      context.terminal.answer(json, { webhook_template, webhooks: rows }, text);
      if (more)
        context.terminal.note(
          `There are more customers with failed deliveries than these ${MOST_CUSTOMERS}. The page of the template in the console has all.`,
        );
    });

/** Only where it is, because its path is long, and the same for all. */
const endpointOf = ({ endpoint }: Template): string =>
  endpoint === null ? 'pull' : new URL(endpoint).origin;

function describeCustomers({ customers }: Template): string {
  if (customers === 'all') return 'all';
  const asked = Object.entries(customers.metadata).map(([name, value]) => `${name}=${value}`);
  return `with ${asked.join(', ')}`;
}

function describeTemplate(it: Template, failed: readonly TemplateWebhook[], zone: ZoneOffset): string {
  const { deliveries, health, webhooks } = it;
  const facts = renderFacts([
    ['template', it.id],
    ['title', it.title],
    ['description', it.description],
    it.endpoint === null ? ['delivery', it.delivery] : ['endpoint', endpointOf(it)],
    [it.events.length === 1 ? 'event' : 'events', it.events.join(', ')],
    ['status', it.status_reason === null ? it.status : `${it.status}: ${it.status_reason}`],
    ...it.standing.map(({ kind, message }) => [kind, message] as const),
    ...(it.endpoint === null
      ? []
      : ([
          ['circuit', health.circuit.replace('_', '-')],
          ['open until', formatTime(health.open_until, zone)],
          ['failing since', formatTime(health.failing_since, zone)],
          ['last error', health.last_error],
        ] as const)),
    ['customers', describeCustomers(it)],
    ['webhooks', formatCount(webhooks.active)],
    ['ended', formatCount(webhooks.ended)],
    ['customers left', formatCount(webhooks.customers_left)],
    ['pending', describePending(deliveries)],
    ['delivered', formatCount(deliveries.delivered)],
    ['failed', formatCount(deliveries.failed)],
    ['created', formatTime(it.created_at, zone)],
  ]);
  if (failed.length === 0) return facts;
  const table = renderColumns(
    [
      ['customer', ({ customer }) => customer.id, 'right'],
      ['external id', ({ customer }) => customer.external_id],
      ['name', ({ customer }) => customer.name],
      ['webhook', ({ id }) => id, 'right'],
      ['status', ({ status }) => status],
      ['pending', (row) => formatCount(row.deliveries.pending), 'right'],
      ['failed', (row) => formatCount(row.deliveries.failed), 'right'],
    ],
    failed,
  );
  return `${facts}\n\n${table}`;
}

/** `ledgerbell templates` */
export const templates = [listTemplatesCommand, showTemplateCommand];
