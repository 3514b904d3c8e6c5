import * as v from 'valibot';
import type { Runtime } from '../database/runtime.ts';
import { Count, Timestamp, withExample } from '../platform/validation.ts';
import { LIMITS } from '../webhook-record/waiting.ts';
import { viewWebhooks, WebhookView } from '../webhooks/webhook-view.ts';
import { kindOf, readWebhookTroubles, type WebhookTrouble } from './webhooks.ts';

/** What the API shows of a webhook: its settings and counts, and what is wrong with it. */

const KINDS = ['failing', 'flapping', 'behind', 'unread', 'disabled', 'quarantined'] as const;

const StandingView = withExample(
  v.object({
    kind: v.pipe(
      v.picklist(KINDS),
      v.description(
        'failing: its last attempts failed. flapping: it has failed and recovered several times within an hour. behind: its endpoint answers, but a movement has been waiting for more than 5 minutes. unread: an event has been waiting in its feed for more than a day, and its reader has acknowledged nothing since. quarantined: the service has paused it, because its delivery runs kept crashing.',
      ),
    ),
    since: v.nullable(Timestamp),
    message: v.pipe(v.string(), v.description('The same in a sentence.')),
    next_attempt_at: v.pipe(
      v.nullable(Timestamp),
      v.description('failing, flapping: when something is sent again. null: nothing is pending.'),
    ),
    limit: v.pipe(
      v.nullable(v.picklist(LIMITS)),
      v.description(
        'behind: what holds it. recovery: its endpoint is new or has just recovered, and is sent more and more. processes: it waits for its turn in a delivery process.',
      ),
    ),
    in_per_minute: v.pipe(
      v.nullable(Count),
      v.description('behind: movements that came per minute in the last minutes. null: not measured yet.'),
    ),
    out_per_minute: v.pipe(v.nullable(Count), v.description('behind: deliveries that ended per minute.')),
    caught_up_at: v.pipe(
      v.nullable(Timestamp),
      v.description('behind: when it has caught up at this pace. null: it does not, or it is not known.'),
    ),
  }),
  {
    kind: 'behind',
    since: '2025-11-30T18:20:00.000Z',
    message: 'It has been behind for 12 minutes.',
    next_attempt_at: '2025-11-30T18:33:00.000Z',
    limit: 'rate_limit',
    in_per_minute: 120,
    out_per_minute: 60,
    caught_up_at: '2025-11-30T19:10:00.000Z',
  },
);

/** A webhook as the API shows it. */
export const StandingWebhookView = v.object({
  ...WebhookView.entries,
  standing: v.pipe(v.array(StandingView), v.description('What is wrong with it. Empty: nothing is.')),
});
export type StandingWebhookView = v.InferOutput<typeof StandingWebhookView>;

function viewTrouble(it: WebhookTrouble, now: Date): v.InferOutput<typeof StandingView> {
  const after = (milliseconds: number | null | undefined) =>
    milliseconds == null ? null : new Date(now.getTime() + milliseconds).toISOString();
  const { pace } = it;
  return {
    kind: kindOf(it) as (typeof KINDS)[number],
    since: it.since?.toISOString() ?? null,
    message: `It ${it.what}`,
    next_attempt_at: after(it.nextAttemptIn),
    limit: it.limit ?? null,
    in_per_minute: pace ? Math.round(pace.inPerMinute) : null,
    out_per_minute: pace ? Math.round(pace.outPerMinute) : null,
    caught_up_at: after(pace?.caughtUpInSeconds == null ? null : pace.caughtUpInSeconds * 1_000),
  };
}

/** Shows webhooks with their health, counts and troubles, in the order of the ids. */
export async function viewStandings(
  runtime: Pick<Runtime, 'database' | 'secrets'>,
  ids: readonly string[],
): Promise<StandingWebhookView[]> {
  const [views, troubles] = await Promise.all([
    viewWebhooks(runtime, ids),
    readWebhookTroubles(runtime.database, ids),
  ]);
  const now = new Date();
  return views.map((view) => ({
    ...view,
    standing: (troubles.get(String(view.id)) ?? []).map((it) => viewTrouble(it, now)),
  }));
}

/** Shows one webhook. @param secret shown in this answer only. */
export async function viewStanding(
  runtime: Pick<Runtime, 'database' | 'secrets'>,
  id: string,
  secret?: string,
): Promise<StandingWebhookView> {
  const [only] = await viewStandings(runtime, [id]);
  if (only === undefined) throw new Error(`webhook ${id} has no cursor`);
  return secret === undefined ? only : { ...only, secret };
}
