import { Command } from 'commander';
import * as v from 'valibot';
import { ReplayProgressView } from '../../delivery/replay-view.ts';
import { formatCount } from '../../platform/text.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import {
  addListOptions,
  type Column,
  confirm,
  formatTime,
  type ListOptions,
  printList,
  renderFacts,
} from '../output.ts';
import { parseId } from '../values.ts';

/** A replay as the API shows it. Fields of a newer service are kept for --json. */
const Replay = v.looseObject(ReplayProgressView.entries);
type Replay = v.InferOutput<typeof Replay>;
const ReplayAnswer = v.object({ replay: Replay });

const NOT_COUNTED = 'not counted yet';

const countOr = (count: number | null): string => (count === null ? NOT_COUNTED : formatCount(count));

/** `ledgerbell replays list` */
const listReplaysCommand = (context: CommandContext) =>
  addListOptions(new Command('list').description('show the replays of a webhook, the newest first'))
    .requiredOption('--webhook <id>', 'the webhook', parseId)
    .action((options: ListOptions & { webhook: string }) => {
      const { zone } = context.readConfig();
      const columns: readonly Column<Replay>[] = [
        ['id', ({ id }) => id, 'right'],
        ['state', ({ state }) => state],
        ['of', ({ status }) => status.join(', ')],
        ['total', ({ total }) => countOr(total), 'right'],
        ['sent', ({ sent }) => formatCount(sent), 'right'],
        ['left', ({ left }) => countOr(left), 'right'],
        ['per second', ({ per_second }) => per_second, 'right'],
        ['created', ({ created_at }) => formatTime(created_at, zone)],
      ];
      return printList(context, options, {
        path: `/v1/webhooks/${options.webhook}/replays`,
        name: 'replays',
        row: Replay,
        columns,
        subject: { kind: 'webhook', id: options.webhook },
      });
    });

/** `ledgerbell replays show` */
const showReplayCommand = (context: CommandContext) =>
  addAccessOptions(new Command('show').description('show what is sent and left, and how fast it goes'))
    .argument('<id>', 'of the replay', parseId)
    .action(async (id: string, options: AccessOptions) => {
      const subject = { kind: 'replay', id } as const;
      const answer = await withAccess(context, options, { subject }, (api) =>
        api.get(`/v1/replays/${id}`, ReplayAnswer),
      );
      const { replay: it } = answer;
      const text = renderFacts([
        ['replay', it.id],
        ['webhook', it.webhook_id],
        ['state', it.state],
        ['of', it.status.join(', ')],
        ['total', countOr(it.total)],
        ['sent', formatCount(it.sent)],
        [it.state === 'cancelled' ? 'not sent' : 'left', countOr(it.left)],
        ['per second', it.per_second],
        ['time left', timeLeft(it)],
        ['created', formatTime(it.created_at, context.readConfig().zone)],
      ]);
      context.terminal.answer(options.json, answer, text);
    });

function timeLeft({ left, per_second }: Replay): string | null {
  if (left === null || !per_second) return null;
  const seconds = Math.ceil(left / per_second);
  return seconds < 120 ? `about ${seconds} s` : `about ${formatCount(Math.round(seconds / 60))} min`;
}

/** `ledgerbell replays cancel` */
const cancelReplayCommand = (context: CommandContext) =>
  addAccessOptions(new Command('cancel').description('send nothing more of a replay; what was sent stays'))
    .argument('<id>', 'of the replay', parseId)
    .option('--yes', 'do not ask')
    .action(async (id: string, options: AccessOptions & { yes?: boolean }) => {
      const subject = { kind: 'replay', id } as const;
      const path = `/v1/replays/${id}`;
      const answer = await withAccess(context, options, { subject, wakes: true }, async (api) => {
        const { replay } = await api.get(path, ReplayAnswer);
        const left = countOr(replay.left);
        await confirm(
          context,
          options,
          `Cancel replay ${id} of webhook ${replay.webhook_id}, with ${left} left?`,
        );
        return api.post(`${path}/cancel`, {}, ReplayAnswer);
      });
      const { sent, left } = answer.replay;
      const notSent = left === null ? 'the others were not' : `${formatCount(left)} were not`;
      const text = `Replay ${id} is cancelled. ${formatCount(sent)} were sent, ${notSent}.`;
      context.terminal.answer(options.json, answer, text);
    });

/** `ledgerbell replays` */
export const replays = [listReplaysCommand, showReplayCommand, cancelReplayCommand];
