import type { Sql } from '../../database/transaction.ts';
import { readWebhooksBehind } from '../../delivery/reconcile.ts';
import { circuitOpenUntil, hasBacklog, type WebhookState as RunState } from '../../delivery/webhook-state.ts';
import { PENDING, TO_COME } from '../../webhooks/webhook-view.ts';
import { countOf, formatCount, formatDuration, timesInARow } from '../page/elements.tsx';

/** Reads webhooks of all customers, as the console shows them. */

export interface WebhookRow {
  id: string;
  title: string;
  endpoint: string;
  event: string;
  customer_id: string;
  customer: string;
  status: 'active' | 'paused' | 'disabled' | 'deleted';
  /** Why the service has paused or disabled the webhook. null if its owner has paused it. */
  status_reason: string | null;
  failing_since: Date | null;
  consecutive_failures: number;
  circuit_openings: number;
  /** null when the circuit is not open. */
  open_until: Date | null;
  last_error: string | null;
  delivered: string;
  failed: string;
  pending: string;
  /** How many deliveries of replays have still to become pending. null: not counted yet. */
  to_come: string | null;
  /** Since when deliveries have been pending. Set only if they have waited for minutes although the endpoint answers. */
  behindSince?: Date;
}

/** Indexes: the primary keys. */
const ROWS = `
  SELECT w.id, w.title, w.endpoint, w.event, w.customer_id, u.name AS customer, w.status, w.status_reason, c.failing_since,
    c.consecutive_failures, c.circuit_openings, ${circuitOpenUntil('c')} AS open_until,
    c.last_error, c.delivered_count AS delivered, c.failed_count AS failed, ${PENDING} AS pending,
    ${TO_COME} AS to_come
  FROM webhooks w JOIN webhook_cursors c ON c.webhook_id = w.id JOIN webhook_backlogs b ON b.webhook_id = w.id
    JOIN customers u ON u.id = w.customer_id
  WHERE w.id IN (?)`;

/** Reads webhooks, in the order of the ids. */
export async function readWebhookRows(sql: Sql, ids: readonly string[]): Promise<WebhookRow[]> {
  if (ids.length === 0) return [];
  const rows = await sql.query<WebhookRow[]>(ROWS, [ids]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Active webhooks whose last attempts failed, the longest failing first. Index: webhook_cursors_failing. */
const FAILING = `
  SELECT c.webhook_id AS id FROM webhook_cursors c FORCE INDEX (webhook_cursors_failing)
    STRAIGHT_JOIN webhooks w ON w.id = c.webhook_id AND w.status = 'active'
  WHERE c.failing_since IS NOT NULL ORDER BY c.failing_since LIMIT ?`;

/** Webhooks that the service has disabled, or paused because their runs kept crashing. Index: webhooks_status. */
const STOPPED = `
  SELECT id FROM webhooks FORCE INDEX (webhooks_status)
  WHERE status = ? AND status_reason IS NOT NULL ORDER BY id DESC LIMIT ?`;

/** Ids of the webhooks in trouble: first failing webhooks, then webhooks that the service has disabled or quarantined. */
async function findWebhooksInTrouble(sql: Sql, most: number): Promise<string[]> {
  const found: { id: string }[] = await sql.query(FAILING, [most]);
  for (const status of ['paused', 'disabled']) {
    if (found.length < most) {
      found.push(...(await sql.query<{ id: string }[]>(STOPPED, [status, most - found.length])));
    }
  }
  return found.map(({ id }) => id);
}

/** Webhooks in trouble: first failing webhooks, then disabled or quarantined webhooks, then webhooks that fall behind. */
export async function readWebhooksInTrouble(sql: Sql, most: number): Promise<WebhookRow[]> {
  const [ids, waiting] = await Promise.all([findWebhooksInTrouble(sql, most), readWebhooksBehind(sql)]);
  const behind = new Map(waiting.map(({ id, since }) => [id, since]));
  const rows = await readWebhookRows(sql, [...ids, ...behind.keys()].slice(0, most));
  return rows.map((row) => {
    const behindSince = ids.includes(row.id) ? undefined : behind.get(row.id);
    return behindSince === undefined ? row : { ...row, behindSince };
  });
}

/** `, and 900,000 of a replay still to come`; "": no replay is under way. Follows a number of pending deliveries. */
export function andToCome({ to_come }: Pick<WebhookRow, 'to_come'>): string {
  if (to_come === null) return ', and those of a replay still to come';
  return Number(to_come) === 0 ? '' : `, and ${formatCount(Number(to_come))} of a replay still to come`;
}

/** Explains a webhook's state on its page, and what happens next. */

/**
 * @param run null: it is not known whether a run is sending.
 * @param pausedBy the operator who has paused the webhook; null: no operator has.
 */
export function explainWebhook(
  it: WebhookRow,
  run: RunState | null,
  now: Date,
  pausedBy: string | null,
): string {
  const pending = countOf(Number(it.pending), 'delivery is', 'deliveries are');
  const more = andToCome(it);
  const error = it.last_error === null ? '' : `The last error: ${endSentence(it.last_error)}`;
  switch (it.status) {
    case 'deleted':
      return 'It was deleted. Nothing is sent to it. Its log stays until retention.';
    case 'disabled':
      return `It is disabled: ${endSentence(it.status_reason ?? 'no reason was given')} It matches nothing, and is sent nothing, until it is enabled. ${pending} pending${more}.`;
    case 'paused':
      return it.status_reason === null
        ? `${pausedBy ?? 'Its owner'} has paused it. ${pending} pending${more}, and sent when it is enabled.`
        : `The service has paused it: ${endSentence(it.status_reason)} ${pending} pending${more}. Find out why its runs crash before you enable it.`;
    case 'active': {
      const waiting = explainWaiting(it, run, now);
      if (it.failing_since === null)
        return join('Its endpoint answers.', `${pending} pending${more}.`, waiting, error);
      return join(
        `Its endpoint has failed ${timesInARow(it.consecutive_failures)}, for ${formatDuration(now.getTime() - it.failing_since.getTime())}.`,
        error,
        `${pending} pending${more === '' ? '' : `${more},`} and none is lost.`,
        waiting === '' ? 'The next notification is tried as soon as one is due.' : waiting,
        'Once the endpoint answers, everything is sent.',
      );
    }
  }
}

const endSentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

const join = (...sentences: string[]): string => sentences.filter((it) => it !== '').join(' ');

/** Explains why pending deliveries of an active webhook have not been sent yet. A reason that holds back all of them comes first. "": nothing waits. */
function explainWaiting({ open_until, pending }: WebhookRow, run: RunState | null, now: Date): string {
  if (open_until !== null)
    return `Its circuit is open: nothing is sent until the next probe in ${formatDuration(open_until.getTime() - now.getTime())}.`;
  if (run === null || Number(pending) === 0) return '';
  const { settings, retryIn, leasedFor, replaying } = run;
  const when = retryIn === null || retryIn <= 0 ? 'is due now' : `is due in ${formatDuration(retryIn)}`;
  if (settings.ordered === 1 && retryIn !== null)
    return `It is ordered: everything waits for the retry of its oldest delivery, which ${when}.`;
  const hasMore = hasBacklog(run) || replaying;
  if (!hasMore && retryIn !== null && retryIn > 0) return `They wait for retries. The next one ${when}.`;
  if (leasedFor === null) return 'They are due, and wait for their turn in a delivery process.';
  return `They are being sent now, ${describePace(run)}.`;
}

function describePace({ settings }: RunState): string {
  if (settings.rate_limit !== null)
    return `at most ${settings.rate_limit} per second, which is its rate limit`;
  if (settings.ordered === 1) return 'one at a time, because it is ordered';
  if (settings.recovery_successes !== null)
    return 'few at a time, because its endpoint is new or has just recovered';
  return `up to ${settings.max_in_flight} at a time`;
}
