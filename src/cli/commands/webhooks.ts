import { Command, Option } from 'commander';
import * as v from 'valibot';
import { BODIES, ENCODINGS, HASH_ENCODINGS, WEBHOOK_EVENTS } from '../../database/webhook-enums.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { formatCount } from '../../platform/text.ts';
import { WebhookChange } from '../../webhooks/webhook-input.ts';
import { WebhookView } from '../../webhooks/webhook-view.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { Failure, NegativeAnswer } from '../failure.ts';
import {
  addListOptions,
  type Column,
  confirm,
  formatTime,
  type ListOptions,
  printList,
  renderFacts,
} from '../output.ts';
import { oneLine } from '../text.ts';
import { parseHeader, parseId, parseWholeNumber, readOptions } from '../values.ts';

/** A webhook as the API shows it. Fields of a newer service are kept for --json. */
export const Webhook = v.looseObject(WebhookView.entries);
export type Webhook = v.InferOutput<typeof Webhook>;
export const WebhookAnswer = v.object({ webhook: Webhook });

const WEBHOOK_COLUMNS: readonly Column<Webhook>[] = [
  ['id', ({ id }) => id, 'right'],
  ['title', ({ title }) => title],
  ['event', ({ event }) => event],
  ['account', ({ account }) => account],
  ['status', (it) => describeStatus(it)],
  ['pending', ({ deliveries }) => formatCount(deliveries.pending), 'right'],
  ['failed', ({ deliveries }) => formatCount(deliveries.failed), 'right'],
  ['endpoint', ({ endpoint }) => endpoint],
];

const describeStatus = ({ status, health }: Webhook): string =>
  status !== 'active' || health.circuit === 'closed' || health.consecutive_failures === 0
    ? status
    : `${status}, circuit ${health.circuit.replace('_', '-')}`;

function describePending({ pending, to_come }: Webhook['deliveries']): string {
  if (to_come === null) return `${formatCount(pending)}, and those of a replay still to come`;
  return `${formatCount(pending)}${to_come === 0 ? '' : `, and ${formatCount(to_come)} of a replay still to come`}`;
}

function describeWebhook(it: Webhook, zone: ZoneOffset): string {
  const { health, deliveries } = it;
  return renderFacts([
    ['webhook', it.id],
    ['title', it.title],
    ['description', it.description],
    ['endpoint', it.endpoint],
    ['event', it.event],
    ['account', it.account],
    ['status', it.status_reason === null ? it.status : `${it.status}: ${it.status_reason}`],
    ...(it.secret === undefined ? [] : [['secret', `${it.secret}  (shown only now)`] as const]),
    ['body', `${it.body}, ${it.encoding}, hash in ${it.hash_encoding}`],
    ['ordered', it.ordered ? 'yes' : 'no'],
    ['rate limit', it.rate_limit === null ? null : `${it.rate_limit} per second`],
    ['in flight', `${it.max_in_flight} at most`],
    ['headers', it.header_names.join(', ')],
    ['circuit', health.circuit.replace('_', '-')],
    ['open until', formatTime(health.open_until, zone)],
    ['failing since', formatTime(health.failing_since, zone)],
    ['last error', health.last_error],
    ['pending', describePending(deliveries)],
    ['delivered', formatCount(deliveries.delivered)],
    ['failed', formatCount(deliveries.failed)],
    ['created', formatTime(it.created_at, zone)],
  ]);
}

interface CreateOptions extends AccessOptions {
  title: string;
  description?: string;
  endpoint: string;
  event: string;
  account: string;
  encoding?: string;
  hashEncoding?: string;
  body?: string;
  ordered?: boolean;
  rateLimit?: number;
  maxInFlight?: number;
  header?: Record<string, string>;
}

/** `ledgerbell webhooks create` */
const createWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('create').description('subscribe an endpoint to new movements'))
    .requiredOption('--title <title>', 'what the webhook is called')
    .option('--description <text>', 'what you want to note about it, at most 500 characters')
    .requiredOption('--endpoint <url>', 'where notifications are sent')
    .addOption(
      new Option('--event <event>', 'which movements')
        .choices([...WEBHOOK_EVENTS])
        .default('NEW_TRANSACTION'),
    )
    .option('--account <id>', 'of which account, or "all"', 'all')
    .addOption(new Option('--encoding <encoding>', 'of the body').choices([...ENCODINGS]))
    .addOption(
      new Option('--body <body>', 'extended: with what the bank says beyond the twelve fields').choices([
        ...BODIES,
      ]),
    )
    .addOption(new Option('--hash-encoding <encoding>', 'of the field hash').choices([...HASH_ENCODINGS]))
    .option('--ordered', 'send one notification at a time, in order')
    .option('--rate-limit <number>', 'how many notifications per second at most', parseWholeNumber)
    .option('--max-in-flight <number>', 'how many notifications at the same time at most', parseWholeNumber)
    .option('--header <header>', 'a header of its own, "Name: value"; may be repeated', parseHeader)
    .action(async (options: CreateOptions) => {
      const { title, description, endpoint, event, account, encoding, hashEncoding, body: kind } = options;
      const { ordered, rateLimit, maxInFlight, header } = options;
      const body = {
        title,
        description,
        endpoint,
        event,
        account,
        encoding,
        body: kind,
        hash_encoding: hashEncoding,
        ordered,
        rate_limit: rateLimit,
        max_in_flight: maxInFlight,
        headers: header,
      };
      const answer = await withAccess(context, options, {}, (api) =>
        api.post('/v1/webhooks', body, WebhookAnswer),
      );
      const { zone } = context.readConfig();
      context.terminal.answer(options.json, answer, describeWebhook(answer.webhook, zone));
    });

interface ChangeOptions extends AccessOptions {
  title?: string;
  description?: string;
  endpoint?: string;
  hashEncoding?: string;
  body?: string;
  ordered?: boolean;
  rateLimit?: number | 'none';
  maxInFlight?: number;
}

const parseRateLimit = (text: string): number | 'none' => (text === 'none' ? text : parseWholeNumber(text));

/** `ledgerbell webhooks change` */
const changeWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('change').description('change where, how fast and how notifications are sent'))
    .argument('<id>', 'of the webhook', parseId)
    .option('--title <title>', 'what the webhook is called')
    .option('--description <text>', 'what you want to note about it, at most 500 characters; "": nothing')
    .option('--endpoint <url>', 'where notifications are sent, also those that are pending')
    .addOption(
      new Option('--body <body>', 'extended: with what the bank says beyond the twelve fields').choices([
        ...BODIES,
      ]),
    )
    .addOption(new Option('--hash-encoding <encoding>', 'of the field hash').choices([...HASH_ENCODINGS]))
    .option('--ordered', 'send one notification at a time, in order')
    .option('--no-ordered', 'send several at the same time')
    .option('--rate-limit <number>', 'how many notifications per second at most; "none": any', parseRateLimit)
    .option('--max-in-flight <number>', 'how many notifications at the same time at most', parseWholeNumber)
    .action(async (id: string, options: ChangeOptions) => {
      const { title, description, endpoint, hashEncoding, ordered, rateLimit, maxInFlight, body } = options;
      const given = Object.entries({
        title,
        description,
        endpoint,
        body,
        hash_encoding: hashEncoding,
        ordered,
        rate_limit: rateLimit === 'none' ? null : rateLimit,
        max_in_flight: maxInFlight,
      }).filter(([, value]) => value !== undefined);
      if (given.length === 0)
        throw new Failure('Say what to change, such as --max-in-flight 16. --help lists the options.');
      // Checked before anything is connected to or started.
      const change = readOptions(WebhookChange, Object.fromEntries(given));
      const subject = { kind: 'webhook', id } as const;
      const answer = await withAccess(context, options, { subject, wakes: true }, (api) =>
        api.patch(`/v1/webhooks/${id}`, change, WebhookAnswer),
      );
      const { zone } = context.readConfig();
      context.terminal.answer(options.json, answer, describeWebhook(answer.webhook, zone));
    });

/** `ledgerbell webhooks list` */
const listWebhooksCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show webhooks, the oldest first')).action(
    (options: ListOptions) =>
      printList(context, options, {
        path: '/v1/webhooks',
        name: 'webhooks',
        row: Webhook,
        columns: WEBHOOK_COLUMNS,
      }),
  );

/** `ledgerbell webhooks show` */
const showWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('show').description('show a webhook, its health and its deliveries by number'))
    .argument('<id>', 'of the webhook', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'webhook', id } }, (api) =>
        api.get(`/v1/webhooks/${id}`, WebhookAnswer),
      );
      const { zone } = context.readConfig();
      context.terminal.answer(options.json, answer, describeWebhook(answer.webhook, zone));
    });

const TestAnswer = v.object({
  test: v.looseObject({
    status_code: v.nullable(v.number()),
    error: v.nullable(v.string()),
    reason: v.optional(v.string()), // Only for the operator.
  }),
});

/** `ledgerbell webhooks test` */
const testWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('test').description('send a sample notification now, and show the answer'))
    .argument('<id>', 'of the webhook', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const answer = await withAccess(context, options, { subject: { kind: 'webhook', id } }, (api) =>
        api.post(`/v1/webhooks/${id}/test`, {}, TestAnswer),
      );
      const { status_code: status } = answer.test;
      context.terminal.answer(options.json, answer, describe(answer.test));
      if (status === null || status < 200 || status > 299) throw new NegativeAnswer();
    });

function describe({ status_code: status, error, reason }: v.InferOutput<typeof TestAnswer>['test']): string {
  const problem = error === null ? '' : oneLine(error);
  const because = reason === undefined ? '' : oneLine(reason);
  if (status !== null) return problem === '' ? `Answered ${status}.` : `Answered ${status}: ${problem}.`;
  if (problem !== '' && problem !== 'no answer') return `Not sent: ${problem}.`;
  return because === '' ? 'No answer.' : `No answer: ${because}.`;
}

/** `ledgerbell webhooks pause` */
const pauseWebhookCommand = (context: CommandContext) =>
  statusCommand(context, 'paused', new Command('pause')).description(
    'send a webhook nothing for now; its deliveries stay pending',
  );

/** `ledgerbell webhooks enable` */
const enableWebhookCommand = (context: CommandContext) =>
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

/** `ledgerbell webhooks rotate-secret` */
const rotateSecretCommand = (context: CommandContext) =>
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

/** `ledgerbell webhooks delete` */
const deleteWebhookCommand = (context: CommandContext) =>
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

/** `ledgerbell webhooks` */
export const webhooks = [
  createWebhookCommand,
  changeWebhookCommand,
  listWebhooksCommand,
  showWebhookCommand,
  testWebhookCommand,
  pauseWebhookCommand,
  enableWebhookCommand,
  rotateSecretCommand,
  deleteWebhookCommand,
];
