import type { Sql } from '../database/transaction.ts';
import { readUnreadFeeds, readWaitingWebhooks } from '../delivery/waiting-webhooks.ts';
import { CRASHED, readStates, type WebhookState } from '../delivery/webhook-state.ts';
import { countOf, formatCount, formatDuration, timesInARow } from '../platform/text.ts';
import type { WaitingWebhook } from '../webhook-record/first-not-sent.ts';
import { readWebhooks, type WebhookRecord } from '../webhook-record/record.ts';
import { isBehind, isFlapping, type Pace, paceOf, type Standing } from '../webhook-record/standing.ts';
import { type Limit, limitOf, waitBeforeSending } from '../webhook-record/waiting.ts';
import type { Figures } from './state/figures.ts';
import { othersOf, type Trouble, type TroubleKind, troubleOf } from './trouble.ts';
import { FAILING_WEBHOOKS, type StandingRow, toStanding } from './watch-webhooks.ts';

/** Webhooks that fail, flap, are behind, or were stopped by the service. */

/** `, and 900,000 of a replay still to come`; "": no replay is under way. Follows a number of pending deliveries. */
export function andToCome({ to_come }: Pick<WebhookRecord, 'to_come'>): string {
  if (to_come === null) return ', and those of a replay still to come';
  return Number(to_come) === 0 ? '' : `, and ${formatCount(Number(to_come))} of a replay still to come`;
}

/** What helps against each limit. */
const HELP: Record<Limit, (state: WebhookState) => string> = {
  rate_limit: ({ settings }) =>
    `Its rate_limit holds it: ${settings.rate_limit} per second. Raise the limit, if its endpoint can take more.`,
  max_in_flight: ({ settings }) =>
    `Its max_in_flight holds it: up to ${settings.max_in_flight} at a time. Raise the limit, if its endpoint can take more.`,
  ordered: () => 'It is ordered, so that one POST follows the other. Only a faster endpoint helps.',
  retry: ({ retryIn }) =>
    `It is ordered, and one of its deliveries has failed, so that all that follow wait for it. The next attempt is in ${formatDuration(retryIn ?? 0)}.`,
  recovering: () => 'Its endpoint is new or has just recovered. It is sent more and more by itself.',
  processes: () => 'It waits for its turn in a delivery process. Start more delivery processes.',
};

/** One of the reasons why somebody looks at a webhook, with what its own page needs. */
export interface WebhookTrouble extends Trouble {
  webhook: WebhookRecord;
  /** The sentence without the name of the webhook. */
  what: string;
  /** failing, flapping: milliseconds until the next attempt; null: nothing is due. */
  nextAttemptIn?: number | null;
  /** behind: what holds it. */
  limit?: Limit;
  /** behind: how fast movements come and go; null: not measured yet. */
  pace?: Pace | null;
}

/** The kind without what all have in common: failing, behind … */
export const kindOf = ({ kind }: Pick<WebhookTrouble, 'kind'>): string => kind.replace('webhook_', '');

interface Seen {
  row: WebhookRecord;
  state: WebhookState | null;
  /** Since when its oldest unsent movement has waited. undefined: it is not behind. */
  behindSince: Date | undefined;
  /** Since when its oldest event has waited in a feed that is not read. undefined: it is read. */
  unreadSince: Date | undefined;
  standing: Standing | undefined;
}

/** Index: the primary key. */
const READ_STANDINGS = 'SELECT * FROM webhook_standings WHERE webhook_id IN (?)';

/** Reads the troubles of these webhooks, by their ids. A webhook may have several, the worst first. */
export async function readWebhookTroubles(
  sql: Sql,
  ids: readonly string[],
): Promise<Map<string, WebhookTrouble[]>> {
  if (ids.length === 0) return new Map();
  const rows = await readWebhooks(sql, ids);
  const templates = rows.filter((it) => it.is_template === 1).map(({ id }) => id);
  const [states, waiting, unread, standings] = await Promise.all([
    readStates(sql, ids),
    readFor(ids, templates, (those) =>
      readWaitingWebhooks(sql, { failing: false, ...(those && { ids: those }) }),
    ),
    readFor(ids, templates, (those) => readUnreadFeeds(sql, those)),
    sql.query<StandingRow[]>(READ_STANDINGS, [ids]),
  ]);
  const stateOf = new Map(ids.map((id, index) => [id, states[index] ?? null]));
  const standingOf = new Map(standings.map((it) => [it.webhook_id, toStanding(it)]));
  const behind = new Map(
    waiting
      .filter(({ id, seconds }) => isBehind(seconds, standingOf.get(id)?.behindSince ?? null))
      .map(({ id, since }) => [id, since]),
  );
  return new Map(
    rows.map((row) => [
      row.id,
      troublesOf({
        row,
        state: stateOf.get(row.id) ?? null,
        behindSince: behind.get(row.id),
        unreadSince: unread.find(({ id }) => id === row.id)?.since,
        standing: standingOf.get(row.id),
      }),
    ]),
  );
}

/** Reads which webhooks wait. A template stands for its webhooks only where all are read. */
async function readFor(
  ids: readonly string[],
  templates: readonly string[],
  read: (ids: readonly string[] | undefined) => Promise<WaitingWebhook[]>,
): Promise<WaitingWebhook[]> {
  const others = ids.filter((id) => !templates.includes(id));
  const [own, all] = await Promise.all([
    others.length === 0 ? [] : read(others),
    templates.length === 0 ? [] : read(undefined),
  ]);
  return [...own, ...all.filter(({ id }) => templates.includes(id))];
}

/** Milliseconds until something is sent; null: nothing is pending. Of a template, when its endpoint is probed. */
function waitOf({ is_template, pending }: WebhookRecord, state: WebhookState | null): number | null {
  if (state === null) return null;
  if (is_template === 0) return waitBeforeSending(state);
  return Number(pending) === 0 ? null : (state.openFor ?? 0);
}

function troublesOf({ row, state, behindSince, unreadSince, standing }: Seen): WebhookTrouble[] {
  const { now } = row;
  const isTemplate = row.is_template === 1;
  const name = isTemplate
    ? `Template ${row.id} “${row.title}”`
    : `${row.customer}: webhook ${row.id} “${row.title}”`;
  const pending = `${countOf(Number(row.pending), 'delivery', 'deliveries')} pending${andToCome(row)}`;
  const error = row.last_error === null ? '' : ` Last error: ${endSentence(row.last_error)}`;
  const of = (
    kind: TroubleKind,
    since: Date | null,
    what: string,
    more: Partial<WebhookTrouble> = {},
  ): WebhookTrouble => ({
    ...troubleOf(kind, {
      subject: { type: 'webhook', id: row.id, title: row.title, customer: row.customer },
      since,
      pending: Number(row.pending),
      sentence: `${name} ${what}`,
      page: isTemplate
        ? { text: `Template ${row.id}`, href: `/ops/templates/${row.id}` }
        : { text: `Webhook ${row.id}`, href: `/ops/webhooks/${row.id}` },
    }),
    webhook: row,
    what,
    ...more,
  });
  if (row.status === 'disabled')
    return [of('webhook_disabled', null, `is disabled: ${endSentence(row.status_reason ?? '')} ${pending}.`)];
  if (row.status === 'paused' && row.status_reason !== null)
    return [
      of('webhook_quarantined', null, `is paused: ${endSentence(row.status_reason)} ${pending}.`, {
        // What MySQL refuses of an endpoint's answers stops no other webhook.
        scope: row.status_reason.startsWith(CRASHED) ? 'installation' : 'endpoint',
      }),
    ];
  if (row.status !== 'active') return [];
  if (unreadSince !== undefined)
    return [
      of(
        'webhook_unread',
        unreadSince,
        `is not read: its oldest event has been waiting for ${formatDuration(now.getTime() - unreadSince.getTime())}, ${pending}.`,
        { oldest: unreadSince },
      ),
    ];
  const troubles: WebhookTrouble[] = [];
  const { failing_since: failingSince } = row;
  const nextAttemptIn = waitOf(row, state);
  const failingFor = failingSince === null ? null : now.getTime() - failingSince.getTime();
  if (standing !== undefined && isFlapping(standing, { now, failingSince }))
    troubles.push(
      of(
        'webhook_flapping',
        standing.flappingSince,
        `is flapping: it has failed and recovered several times within an hour, ${pending}.${describeWait(nextAttemptIn)}${error}`,
        { nextAttemptIn },
      ),
    );
  else if (failingSince !== null && failingFor !== null)
    troubles.push(
      of(
        'webhook_failing',
        failingSince,
        `has been failing for ${formatDuration(failingFor)}, ${timesInARow(row.consecutive_failures + row.consecutive_rejections)}, ${pending}.${describeWait(nextAttemptIn)}${error}`,
        { nextAttemptIn },
      ),
    );
  if (behindSince !== undefined && failingSince === null && state !== null) {
    const limit = limitOf(state, now.getTime() - (row.progressed_at?.getTime() ?? 0));
    const finished = Number(row.delivered) + Number(row.failed);
    const pace =
      standing === undefined
        ? null
        : paceOf(standing, { now, matched: finished + Number(row.pending), finished });
    troubles.push(
      of(
        'webhook_behind',
        behindSince,
        `is behind. Its endpoint answers, but its oldest pending delivery has been waiting for ${formatDuration(now.getTime() - behindSince.getTime())}, ${pending}.${describePace(pace)}`,
        {
          oldest: behindSince,
          scope: limit === 'processes' ? 'installation' : 'endpoint',
          help: HELP[limit](state),
          limit,
          pace,
        },
      ),
    );
  }
  return troubles;
}

export const endSentence = (text: string): string => (/[.!?…]$/.test(text) ? text : `${text}.`);

/** When the next notification is sent, whatever holds it back: the circuit, or the schedule of the retries. */
export const describeNextAttempt = (state: WebhookState | null): string =>
  describeWait(state === null ? null : waitBeforeSending(state));

function describeWait(wait: number | null): string {
  if (wait === null) return '';
  return wait === 0 ? ' The next attempt is due now.' : ` The next attempt is in ${formatDuration(wait)}.`;
}

function describePace(pace: Pace | null): string {
  if (pace === null) return '';
  const { inPerMinute, outPerMinute, caughtUpInSeconds } = pace;
  const rates = ` In the last minutes, ${formatCount(Math.round(inPerMinute))} came and ${formatCount(Math.round(outPerMinute))} were sent per minute`;
  return caughtUpInSeconds === null
    ? `${rates}: it does not catch up.`
    : `${rates}: it has caught up in about ${formatDuration(caughtUpInSeconds * 1_000)}.`;
}

/** Webhooks that the service has disabled, or paused because their runs kept crashing. Index: webhooks_status. */
const FIND_STOPPED_WEBHOOKS = `
  SELECT id FROM webhooks FORCE INDEX (webhooks_status)
  WHERE status = ? AND status_reason IS NOT NULL ORDER BY id DESC LIMIT ?`;

/** Reads the whole table, which has a row only for webhooks that have failed or been behind within the last hour. */
const READ_ALL_STANDINGS = `
  SELECT n.*, c.failing_since, NOW(6) AS now
  FROM webhook_standings n JOIN webhooks w ON w.id = n.webhook_id AND w.status = 'active'
    JOIN webhook_cursors c ON c.webhook_id = n.webhook_id
  ORDER BY n.flapping_since, n.webhook_id`;

const LIST = { text: 'Webhooks', href: '/ops/webhooks' };

/**
 * Finds the webhooks in trouble of all customers. The first of each kind are named. The others are counted.
 * @param most how many of each kind are named.
 */
export async function findWebhookTroubles(sql: Sql, figures: Figures, most: number): Promise<Trouble[]> {
  const { troubles, behind, unread, unstable } = await nameWebhookTroubles(sql, most);
  const all: [TroubleKind, number][] = [
    [
      'webhook_failing',
      figures.failing - unstable.filter(({ failing_since }) => failing_since !== null).length,
    ],
    ['webhook_flapping', unstable.length],
    ['webhook_quarantined', figures.webhooks.quarantined],
    ['webhook_disabled', figures.webhooks.disabled],
    ['webhook_behind', behind],
    ['webhook_unread', unread],
  ];
  const others = all.flatMap(([kind, count]) =>
    othersOf(kind, count - troubles.filter((it) => it.kind === kind).length, LIST),
  );
  return [...troubles, ...others];
}

/** Reads the troubles of the first webhooks of each kind, and how many are behind, unread and unstable in all. */
export async function nameWebhookTroubles(sql: Sql, most: number) {
  const idsOf = async (statement: string, ...values: unknown[]) =>
    (await sql.query<{ id: string }[]>(statement, values)).map(({ id }) => id);
  const [failing, quarantined, disabled, waiting, unread, standings] = await Promise.all([
    idsOf(FAILING_WEBHOOKS, most),
    idsOf(FIND_STOPPED_WEBHOOKS, 'paused', most),
    idsOf(FIND_STOPPED_WEBHOOKS, 'disabled', most),
    readWaitingWebhooks(sql, { failing: false }),
    readUnreadFeeds(sql),
    sql.query<(StandingRow & { failing_since: Date | null; now: Date })[]>(READ_ALL_STANDINGS),
  ]);
  const behindSince = new Map(standings.map((it) => [it.webhook_id, it.behind_since]));
  const behind = waiting.filter(({ id, seconds }) => isBehind(seconds, behindSince.get(id) ?? null));
  const unstable = standings.filter((it) =>
    isFlapping(toStanding(it), { now: it.now, failingSince: it.failing_since }),
  );
  const named = [
    ...failing,
    ...unstable.slice(0, most).map(({ webhook_id }) => webhook_id),
    ...quarantined,
    ...disabled,
    ...behind.slice(0, most).map(({ id }) => id),
    ...unread.slice(0, most).map(({ id }) => id),
  ];
  const troubles = [...(await readWebhookTroubles(sql, [...new Set(named)])).values()].flat();
  return { troubles, behind: behind.length, unread: unread.length, unstable };
}
