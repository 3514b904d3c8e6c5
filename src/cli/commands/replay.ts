import { type Command, Option } from 'commander';
import * as v from 'valibot';
import { REPLAYABLE, type Replayable } from '../../delivery/delivery.ts';
import { ReplayView } from '../../delivery/replay-view.ts';
import { countOf } from '../../platform/text.ts';
import { type AccessOptions, addAccessOptions, withAccess } from '../command-access.ts';
import type { CommandContext } from '../context.ts';
import { parseId, readMomentUtc } from '../values.ts';
import { WebhookAnswer } from './webhooks.ts';

const Replay = v.looseObject(ReplayView.entries);

interface Options extends AccessOptions {
  webhook: string;
  since: string;
  until?: string;
  status: Replayable;
  dryRun?: boolean;
}

/** `ledgerbell replay` */
export const defineReplay = (command: Command, context: CommandContext) =>
  addAccessOptions(command)
    .requiredOption('--webhook <id>', 'the webhook', parseId)
    .requiredOption('--since <moment>', 'only movements stored since then: "YYYY-MM-DD HH:mm:ss", or a date')
    .option('--until <moment>', 'the last moment, inclusive; default: now')
    .addOption(
      new Option('--status <status>', 'which deliveries to send again')
        .choices([...REPLAYABLE])
        .default('failed'),
    )
    .option('--dry-run', 'only count them')
    .action(async (options: Options) => {
      const { webhook: id, status, dryRun = false } = options;
      const { zone } = context.readConfig();
      const body = {
        since: readMomentUtc('--since', options.since, zone),
        until: options.until === undefined ? undefined : readMomentUtc('--until', options.until, zone),
        status,
      };
      const about = { subject: { kind: 'webhook', id }, wakes: !dryRun } as const;
      const answer = await withAccess(context, options, about, async (api) => {
        const { webhook } = await api.get(`/v1/webhooks/${id}`, WebhookAnswer);
        const path = `/v1/webhooks/${id}/replay${dryRun ? '?dry_run=true' : ''}`;
        const { replay } = await api.post(path, body, v.object({ replay: Replay }));
        return { webhook, replay };
      });
      const { replay, webhook } = answer;
      const many = dryRun ? 'More than 100,000' : 'More than a thousand';
      const found =
        replay.matched === null
          ? `${many} ${status} notifications`
          : countOf(replay.matched, `${status} notification`);
      const what = `${found} of webhook ${id}`;
      const when = webhook.status === 'paused' ? ' They are sent when the webhook is active again.' : '';
      const follow = replay.matched === 0 ? '' : ` Follow it with: ledgerbell replays show ${replay.id}`;
      const text = dryRun
        ? `${what} would be sent again. Nothing was sent.`
        : `${what} ${replay.matched === 1 ? 'is' : 'are'} sent again.${when}${follow}`;
      context.terminal.answer(options.json, { replay }, text);
    });
