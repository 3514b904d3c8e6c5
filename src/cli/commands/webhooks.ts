import { Command, Option } from 'commander';
import * as v from 'valibot';
import {
  BODIES,
  DELIVERY_WAYS,
  ENCODINGS,
  HASH_ENCODINGS,
  WEBHOOK_EVENTS,
  type WebhookEvent,
} from '../../database/webhook-enums.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { formatCount, formatDuration } from '../../platform/text.ts';
import { StandingWebhookView } from '../../verdict/standing-view.ts';
import { stateWords } from '../../webhook-record/state-words.ts';
import { NewWebhook, WebhookChange } from '../../webhooks/webhook-input.ts';
import {
  type CreateCommand,
  Deleted,
  fieldsOf,
  listCommand,
  printAnswer,
  subjectCommand,
} from '../api-command.ts';
import { type AccessOptions, addAccessOptions } from '../command-access.ts';
import { type CommandContext, Failure, NegativeAnswer, oneLine } from '../context.ts';
import { formatTime, renderFacts } from '../output.ts';
import { parseCount, parseEvents, parseHeader, parseId, readOptions } from '../values.ts';

/** The commands for webhooks. */

/** A webhook as the API shows it. Fields of a newer service are kept for --json. */
export const Webhook = v.looseObject(StandingWebhookView.entries);
export type Webhook = v.InferOutput<typeof Webhook>;
export const WebhookAnswer = v.object({ webhook: Webhook });

/** The status of a webhook, and what is wrong, in the words of the console. */
export const describeStatus = ({
  status,
  standing,
  health: { circuit },
}: Pick<Webhook, 'status' | 'standing' | 'health'>): string => {
  const words = stateWords({ status, kinds: standing.map(({ kind }) => kind), circuit });
  return [status, ...words.filter((word) => word !== status)].join(', ');
};

/** How many deliveries are pending, and how many of a replay are still to come. */
export function describePending({ pending, to_come }: Webhook['deliveries']): string {
  if (to_come === null) return `${formatCount(pending)}, and those of a replay still to come`;
  return `${formatCount(pending)}${to_come === 0 ? '' : `, and ${formatCount(to_come)} of a replay still to come`}`;
}

function describeWebhook(it: Webhook, zone: ZoneOffset): string {
  const { deliveries } = it;
  return renderFacts([
    ['webhook', it.id],
    ['title', it.title],
    ['description', it.description],
    it.feed === null ? ['endpoint', it.endpoint] : ['delivery', it.delivery],
    [it.events.length === 1 ? 'event' : 'events', it.events.join(', ')],
    ['account', it.account],
    ['status', it.status_reason === null ? it.status : `${it.status}: ${it.status_reason}`],
    ...it.standing.map(({ kind, message }) => [kind, message] as const),
    ...(it.secret === undefined ? [] : [['secret', `${it.secret}  (shown only now)`] as const]),
    ['body', `${it.body}, ${it.encoding}, hash in ${it.hash_encoding}`],
    ...(it.feed === null
      ? factsOfPosts(it, zone)
      : [['acknowledged', formatTime(it.feed.acknowledged_at, zone) ?? 'never'] as const]),
    ['pending', describePending(deliveries)],
    ['delivered', formatCount(deliveries.delivered)],
    ['failed', formatCount(deliveries.failed)],
    ['created', formatTime(it.created_at, zone)],
  ]);
}

function describeBatch({ batch }: Pick<Webhook, 'batch'>): string | null {
  if (batch === null) return null;
  const wait = batch.wait_ms === 0 ? '' : `, after at most ${formatDuration(batch.wait_ms)}`;
  return `up to ${formatCount(batch.max)} events in a POST${wait}`;
}

/** The facts that only a webhook with an endpoint has. */
const factsOfPosts = ({ health, ...it }: Webhook, zone: ZoneOffset) =>
  [
    ['ordered', it.ordered ? 'yes' : 'no'],
    ['rate limit', it.rate_limit === null ? null : `${it.rate_limit} per second`],
    ['in flight', `${it.max_in_flight} at most`],
    ['batches', describeBatch(it)],
    ['headers', it.header_names.join(', ')],
    ['circuit', health.circuit.replace('_', '-')],
    ['open until', formatTime(health.open_until, zone)],
    ['failing since', formatTime(health.failing_since, zone)],
    ['last error', health.last_error],
  ] as const;

const eventOption = (description: string) =>
  new Option('--event <event>', description).choices([...WEBHOOK_EVENTS]).argParser(parseEvents);

const EventOption = v.object({ event: WebhookChange.entries.events });

/** The API's field `events`; nothing if no event is given. @throws {Failure} when they do not go together. */
function readEvents(event: readonly WebhookEvent[] | undefined): { events?: WebhookEvent[] } {
  const { event: events } = readOptions(EventOption, { event });
  return events === undefined ? {} : { events };
}

const bodyOption = () =>
  new Option('--body <body>', 'extended: with what the bank says beyond the twelve fields').choices([
    ...BODIES,
  ]);
const hashEncodingOption = () =>
  new Option('--hash-encoding <encoding>', 'of the field hash').choices([...HASH_ENCODINGS]);
const BATCH_WAIT = 'how long a batch that is not full waits for more events, in milliseconds';

interface BatchOptions {
  batchMax?: number | 'none' | undefined;
  batchWaitMs?: number | undefined;
}

/** The API's field `batch`; nothing if it is not given. @throws {Failure} naming the option that is wrong. */
function readBatch({ batchMax, batchWaitMs }: BatchOptions): {
  batch?: v.InferOutput<typeof Batch>['batch'];
} {
  if (batchMax === undefined && batchWaitMs !== undefined)
    throw new Failure('--batch-wait-ms needs --batch-max.');
  if (batchMax === undefined) return {};
  if (batchMax === 'none') return { batch: null };
  const wait = batchWaitMs === undefined ? {} : { wait_ms: batchWaitMs };
  return readOptions(Batch, { batch: { max: batchMax, ...wait } });
}

const Batch = v.object({ batch: NewWebhook.entries.batch });

const ORDERED = 'send one notification at a time, in order';

interface EventOptions {
  event?: WebhookEvent[] | undefined;
}

type CreateOptions = AccessOptions & BatchOptions & EventOptions & { header?: Record<string, string> };

/** `ledgerbell webhooks create` */
const createWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('create').description('subscribe an endpoint, or a reader, to new movements'))
    .requiredOption('--title <title>', 'what the webhook is called')
    .option('--description <text>', 'what you want to note about it, at most 500 characters')
    .addOption(
      new Option('--delivery <way>', 'pull: no endpoint, its reader gets the events').choices([
        ...DELIVERY_WAYS,
      ]),
    )
    .option('--endpoint <url>', 'where notifications are sent; required, unless the delivery is pull')
    .addOption(
      eventOption(
        'what it is sent; WITHDRAWN_TRANSACTION may be given beside one of the first three; default: NEW_TRANSACTION',
      ),
    )
    .option('--account <id>', 'of which account, or "all"', 'all')
    .addOption(new Option('--encoding <encoding>', 'of the body').choices([...ENCODINGS]))
    .addOption(bodyOption())
    .addOption(hashEncodingOption())
    .option('--ordered', ORDERED)
    .option('--rate-limit <number>', 'how many notifications per second at most', parseCount)
    .option('--max-in-flight <number>', 'how many notifications at the same time at most', parseCount)
    .option('--batch-max <number>', 'send up to so many events in one POST', parseCount)
    .option('--batch-wait-ms <number>', BATCH_WAIT, parseCount)
    .option('--header <header>', 'a header of its own, "Name: value"; may be repeated', parseHeader)
    .action(async ({ header: headers, event, batchMax, batchWaitMs, ...options }: CreateOptions) => {
      const events = readEvents(event ?? ['NEW_TRANSACTION']);
      const body = { ...fieldsOf(options), ...events, ...readBatch({ batchMax, batchWaitMs }), headers };
      await printAnswer(
        context,
        options,
        {},
        {
          request: (api) => api.post('/v1/webhooks', body, WebhookAnswer),
          text: ({ webhook }, zone) => describeWebhook(webhook, zone),
        },
      );
    });

const parseNumberOrNone = (text: string): number | 'none' => (text === 'none' ? text : parseCount(text));

type ChangeOptions = AccessOptions & BatchOptions & EventOptions;

/** `ledgerbell webhooks change` */
const changeWebhookCommand = (context: CommandContext) =>
  addAccessOptions(new Command('change').description('change where, how fast and how notifications are sent'))
    .argument('<id>', 'of the webhook', parseId)
    .option('--title <title>', 'what the webhook is called')
    .option('--description <text>', 'what you want to note about it, at most 500 characters; "": nothing')
    .option('--endpoint <url>', 'where notifications are sent, also those that are pending')
    .addOption(eventOption('what it is sent from now on, in place of its events; may be repeated'))
    .addOption(bodyOption())
    .addOption(hashEncodingOption())
    .option('--ordered', ORDERED)
    .option('--no-ordered', 'send several at the same time')
    .option(
      '--rate-limit <number>',
      'how many notifications per second at most; "none": any',
      parseNumberOrNone,
    )
    .option('--max-in-flight <number>', 'how many notifications at the same time at most', parseCount)
    .option(
      '--batch-max <number>',
      'send up to so many events in one POST; "none": a POST for each',
      parseNumberOrNone,
    )
    .option('--batch-wait-ms <number>', BATCH_WAIT, parseCount)
    .action(async (id: string, { event, batchMax, batchWaitMs, ...options }: ChangeOptions) => {
      const given = { ...fieldsOf(options), ...readEvents(event), ...readBatch({ batchMax, batchWaitMs }) };
      if (Object.keys(given).length === 0)
        throw new Failure('Say what to change, such as --max-in-flight 16. --help lists the options.');
      // Checked before anything is connected to or started.
      const change = readOptions(WebhookChange, {
        ...given,
        ...('rate_limit' in given && given.rate_limit === 'none' ? { rate_limit: null } : {}),
      });
      await printAnswer(
        context,
        options,
        { subject: { kind: 'webhook', id } },
        {
          request: (api) => api.patch(`/v1/webhooks/${id}`, change, WebhookAnswer),
          text: ({ webhook }, zone) => describeWebhook(webhook, zone),
        },
      );
    });

const TestAnswer = v.object({
  test: v.looseObject({
    status_code: v.nullable(v.number()),
    error: v.nullable(v.string()),
    reason: v.optional(v.string()), // Only for the operator.
  }),
});

type Test = v.InferOutput<typeof TestAnswer>['test'];

/** A feed has the sample. Nothing was sent. */
const isInFeed = ({ status_code, error }: Test) => status_code === null && error === null;

function describe({ status_code: status, error, reason }: Test): string {
  const problem = error === null ? '' : oneLine(error);
  const because = reason === undefined ? '' : oneLine(reason);
  if (isInFeed({ status_code: status, error })) return 'The sample is the next event of the feed.';
  if (status !== null) return problem === '' ? `Answered ${status}.` : `Answered ${status}: ${problem}.`;
  if (problem !== '' && problem !== 'no answer') return `Not sent: ${problem}.`;
  return because === '' ? 'No answer.' : `No answer: ${because}.`;
}

const statusCommand = (name: string, status: 'active' | 'paused', description: string) =>
  subjectCommand('webhook', {
    name,
    description,
    request: (api, id) => api.patch(`/v1/webhooks/${id}`, { status }, WebhookAnswer),
    text: ({ webhook }, id) =>
      `Webhook ${id} is ${status}. ${formatCount(webhook.deliveries.pending)} pending.`,
  });

/** `ledgerbell webhooks` */
export const webhooks: readonly CreateCommand[] = [
  createWebhookCommand,
  changeWebhookCommand,
  listCommand({
    description: 'show webhooks, the oldest first',
    path: '/v1/webhooks',
    name: 'webhooks',
    row: Webhook,
    ofAll: true,
    columns: () => [
      ['id', ({ id }) => id, 'right'],
      ['title', ({ title }) => title],
      ['event', ({ events }) => events.join(', ')],
      ['account', ({ account }) => account],
      ['status', describeStatus],
      ['pending', ({ deliveries }) => formatCount(deliveries.pending), 'right'],
      ['failed', ({ deliveries }) => formatCount(deliveries.failed), 'right'],
      ['endpoint', ({ endpoint }) => endpoint ?? 'pull'],
    ],
  }),
  subjectCommand('webhook', {
    name: 'show',
    description: 'show a webhook, its health or feed, and its deliveries by number',
    request: (api, id) => api.get(`/v1/webhooks/${id}`, WebhookAnswer),
    text: ({ webhook }, _, zone) => describeWebhook(webhook, zone),
  }),
  subjectCommand('webhook', {
    name: 'test',
    description: 'send a sample notification now, and show the answer; or put it into the feed',
    request: (api, id) => api.post(`/v1/webhooks/${id}/test`, {}, TestAnswer),
    text: ({ test }) => describe(test),
    judge({ test }) {
      const { status_code: status } = test;
      if (isInFeed(test)) return;
      if (status === null || status < 200 || status > 299) throw new NegativeAnswer();
    },
  }),
  statusCommand('pause', 'paused', 'send a webhook nothing for now; its deliveries stay pending'),
  statusCommand('enable', 'active', 'make a paused or disabled webhook active again'),
  subjectCommand('webhook', {
    name: 'rotate-secret',
    description: 'replace a webhook’s secret; both sign for 24 hours',
    request: (api, id) => api.post(`/v1/webhooks/${id}/rotate-secret`, {}, WebhookAnswer),
    text: ({ webhook }, id) =>
      `The secret of webhook ${id} (shown only now; the former one signs for 24 hours too)\n  ${webhook.secret}`,
  }),
  subjectCommand('webhook', {
    name: 'delete',
    description: 'delete a webhook; what is pending is cancelled',
    async question(api, id) {
      const { webhook } = await api.get(`/v1/webhooks/${id}`, WebhookAnswer);
      return `Delete webhook ${id}, ${webhook.title}, with ${formatCount(webhook.deliveries.pending)} pending?`;
    },
    request: (api, id) => api.delete(`/v1/webhooks/${id}`, Deleted),
    text: (_, id) => `Webhook ${id} is deleted.`,
  }),
];
