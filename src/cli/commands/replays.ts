import { Command, Option } from 'commander';
import * as v from 'valibot';
import { REPLAYABLE, type Replayable } from '../../delivery/delivery.ts';
import { ReplayProgressView, ReplayView } from '../../delivery/replay-view.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { countOf, formatCount } from '../../platform/text.ts';
import {
  addListOptions,
  type CreateCommand,
  type ListOptions,
  printList,
  subjectCommand,
} from '../api-command.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { type Column, formatTime, renderFacts } from '../output.ts';
import { parseId, readMomentUtc } from '../values.ts';
import { WebhookAnswer } from './webhooks.ts';

/** The commands for replays. */

/** A replay as the API shows it. Fields of a newer service are kept for --json. */
const Replay = v.looseObject(ReplayProgressView.entries);
type Replay = v.InferOutput<typeof Replay>;
const ReplayAnswer = v.object({ replay: Replay });

const countOr = (count: number | null): string => (count === null ? 'not counted yet' : formatCount(count));

const replayColumns = (zone: ZoneOffset): readonly Column<Replay>[] => [
  ['id', ({ id }) => id, 'right'],
  ['state', ({ state }) => state],
  ['of', ({ status }) => status.join(', ')],
  ['total', ({ total }) => countOr(total), 'right'],
  ['sent', ({ sent }) => formatCount(sent), 'right'],
  ['left', ({ left }) => countOr(left), 'right'],
  ['per second', ({ per_second }) => per_second, 'right'],
  ['created', ({ created_at }) => formatTime(created_at, zone)],
];

const describeReplay = (it: Replay, zone: ZoneOffset): string =>
  renderFacts([
    ['replay', it.id],
    ['webhook', it.webhook_id],
    ['state', it.state],
    ['of', it.status.join(', ')],
    ['total', countOr(it.total)],
    ['sent', formatCount(it.sent)],
    [it.state === 'cancelled' ? 'not sent' : 'left', countOr(it.left)],
    ['per second', it.per_second],
    ['time left', timeLeft(it)],
    ['created', formatTime(it.created_at, zone)],
  ]);

function timeLeft({ left, per_second }: Replay): string | null {
  if (left === null || !per_second) return null;
  const seconds = Math.ceil(left / per_second);
  return seconds < 120 ? `about ${seconds} s` : `about ${formatCount(Math.round(seconds / 60))} min`;
}

/** `ledgerbell replays` */
export const replays: readonly CreateCommand[] = [
  (context) =>
    addListOptions(new Command('list').description('show the replays of a webhook, the newest first'))
      .requiredOption('--webhook <id>', 'the webhook', parseId)
      .action((options: ListOptions & { webhook: string }) =>
        printList(context, options, {
          path: `/v1/webhooks/${options.webhook}/replays`,
          name: 'replays',
          row: Replay,
          columns: replayColumns(context.readConfig().zone),
          subject: { kind: 'webhook', id: options.webhook },
        }),
      ),
  subjectCommand('replay', {
    name: 'show',
    description: 'show what is sent and left, and how fast it goes',
    request: (api, id) => api.get(`/v1/replays/${id}`, ReplayAnswer),
    text: ({ replay }, _, zone) => describeReplay(replay, zone),
  }),
  subjectCommand('replay', {
    name: 'cancel',
    description: 'send nothing more of a replay; what was sent stays',
    async question(api, id) {
      const { replay } = await api.get(`/v1/replays/${id}`, ReplayAnswer);
      return `Cancel replay ${id} of webhook ${replay.webhook_id}, with ${countOr(replay.left)} left?`;
    },
    request: (api, id) => api.post(`/v1/replays/${id}/cancel`, {}, ReplayAnswer),
    text({ replay: { sent, left } }, id) {
      const notSent = left === null ? 'the others were not' : `${formatCount(left)} were not`;
      return `Replay ${id} is cancelled. ${formatCount(sent)} were sent, ${notSent}.`;
    },
  }),
];

const ReplayRequest = v.looseObject(ReplayView.entries);

interface ReplayOptions extends AccessOptions {
  webhook: string;
  since: string;
  until?: string;
  status?: Replayable;
  dryRun?: boolean;
}

/** `ledgerbell replay` */
export const defineReplay = (command: Command, context: CommandContext) =>
  addAccessOptions(command)
    .requiredOption('--webhook <id>', 'the webhook', parseId)
    .requiredOption('--since <moment>', 'only movements stored since then: "YYYY-MM-DD HH:mm:ss", or a date')
    .option('--until <moment>', 'the last moment, inclusive; default: now')
    .addOption(
      new Option('--status <status>', 'which deliveries to send again; default: failed').choices([
        ...REPLAYABLE,
      ]),
    )
    .option('--dry-run', 'only count them')
    .action(async (options: ReplayOptions) => {
      const { webhook: id, dryRun = false } = options;
      const { zone } = context.readConfig();
      const body = {
        since: readMomentUtc('--since', options.since, zone),
        until: options.until === undefined ? undefined : readMomentUtc('--until', options.until, zone),
        status: options.status,
      };
      const about = { subject: { kind: 'webhook', id } } as const;
      const answer = await withAccess(context, options, about, async (api) => {
        const { webhook } = await api.get(`/v1/webhooks/${id}`, WebhookAnswer);
        const path = `/v1/webhooks/${id}/replay${dryRun ? '?dry_run=true' : ''}`;
        const { replay } = await api.post(path, body, v.object({ replay: ReplayRequest }));
        return { webhook, replay };
      });
      const { replay, webhook } = answer;
      if (webhook.feed !== null) {
        const count = replay.matched ?? 0;
        const events = `${countOf(count, 'event')} of webhook ${id}`;
        const text = dryRun
          ? `${events} would be in its feed again. Nothing was changed.`
          : `${events} ${count === 1 ? 'is' : 'are'} in its feed again.`;
        return context.terminal.answer(options.json, { replay }, text);
      }
      const { status = 'failed' } = options;
      const many = dryRun ? 'More than 100,000' : 'More than a thousand';
      const found =
        replay.matched === null
          ? `${many} ${status} notifications`
          : countOf(replay.matched, `${status} notification`);
      const what = `${found} of webhook ${id}`;
      const when = webhook.status === 'paused' ? ' They are sent when the webhook is active again.' : '';
      const follow = replay.matched === 0 ? '' : ` Follow it with: ledgerbell replays show ${replay.id}`;
      const { pending } = webhook.deliveries;
      const help =
        replay.matched !== 0 || pending === 0
          ? ''
          : ` ${countOf(pending, 'delivery is', 'deliveries are')} pending, and sent without a replay. Why they wait: ledgerbell webhooks show ${id}`;
      const text = dryRun
        ? `${what} would be sent again. Nothing was sent.${help}`
        : `${what} ${replay.matched === 1 ? 'is' : 'are'} sent again.${when}${follow}${help}`;
      context.terminal.answer(options.json, { replay }, text);
    });
