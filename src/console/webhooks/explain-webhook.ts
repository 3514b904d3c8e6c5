import type { WebhookState } from '../../delivery/webhook-state.ts';
import { countOf, formatCount, formatDuration } from '../../platform/text.ts';
import { andToCome, describeNextAttempt, endSentence, type WebhookTrouble } from '../../verdict/webhooks.ts';
import type { WebhookRecord } from '../../webhook-record/record.ts';
import { paceLimitOf, waitsFor } from '../../webhook-record/waiting.ts';

/** Says in sentences what a webhook waits for, or why it is not sent anything. */

/** Says whether a webhook has a feed. */
export const isPulled = ({ delivery }: Pick<WebhookRecord, 'delivery'>): boolean => delivery === 'pull';

type Named = Pick<WebhookRecord, 'id' | 'title' | 'customer' | 'is_template'>;

/** The word for a webhook or a template in a sentence. */
export const nounOf = ({ is_template }: Pick<Named, 'is_template'>): 'template' | 'webhook' =>
  is_template === 1 ? 'template' : 'webhook';

/** Names a webhook with its customer, or a template, in a question. */
export const nameOf = (it: Named): string =>
  `${nounOf(it)} ${it.id} “${it.title}”${it.is_template === 1 ? '' : ` of ${it.customer}`}`;

/**
 * Explains a webhook's state on its page: its troubles with what helps, or else what happens next.
 * @param run null: it is not known whether a run is sending.
 */
export function explainWebhook(
  it: WebhookRecord,
  troubles: readonly WebhookTrouble[],
  run: WebhookState | null,
): string {
  if (troubles.length > 0) return troubles.map(({ sentence, help }) => `${sentence} ${help}`).join(' ');
  if (isPulled(it)) return explainFeed(it);
  const pending = countOf(Number(it.pending), 'delivery is', 'deliveries are');
  switch (it.status) {
    case 'deleted':
      return 'It was deleted. Nothing is sent to it. Its log stays until retention.';
    case 'paused':
      return `${it.paused_by ?? 'Its owner'} has paused it. ${pending} pending${andToCome(it)}, and sent when it is enabled.`;
    case 'disabled':
    case 'active': {
      const error = it.last_error === null ? '' : `The last error: ${endSentence(it.last_error)}`;
      return ['Its endpoint answers.', `${pending} pending${andToCome(it)}.`, explainWaiting(it, run), error]
        .filter((sentence) => sentence !== '')
        .join(' ');
    }
  }
}

/** A reader that has acknowledged something within this time is at work. Milliseconds. */
const RECENTLY = 5 * 60_000;

/** Explains what a feed waits for: always its reader, because nothing is sent. */
function explainFeed({ status, pending, progressed_at, paused_by, now }: WebhookRecord): string {
  const waiting = countOf(Number(pending), 'delivery waits', 'deliveries wait');
  if (status === 'deleted') return 'It was deleted. Its feed cannot be read any more.';
  if (status === 'paused')
    return `${paused_by ?? 'Its owner'} has paused it. Its feed is empty until it is enabled, and ${waiting}.`;
  if (Number(pending) === 0) return 'Its events are pulled. Nothing waits for its reader.';
  const age = progressed_at === null ? null : now.getTime() - progressed_at.getTime();
  if (age !== null && age < RECENTLY)
    return `Its events are pulled. ${waiting} for its reader, which has acknowledged others within the last ${formatDuration(RECENTLY)}.`;
  const since =
    age === null ? 'has never acknowledged an event' : `last acknowledged events ${formatDuration(age)} ago`;
  return `Its events are pulled. ${waiting} for its reader, which ${since}. If nobody reads the feed, tell its owner.`;
}

/** Explains why pending deliveries of a healthy webhook have not been sent yet. "": nothing waits. */
function explainWaiting({ pending }: WebhookRecord, run: WebhookState | null): string {
  if (run === null || Number(pending) === 0) return '';
  const { settings, retryIn, batchIn } = run;
  const isOne = Number(pending) === 1;
  const when = retryIn === null || retryIn <= 0 ? 'is due now' : `is due in ${formatDuration(retryIn)}`;
  switch (waitsFor(run)) {
    case 'circuit':
      return `Its circuit is open.${describeNextAttempt(run)}`;
    case 'ordered_retry':
      return `It is ordered: everything waits for the retry of its oldest delivery, which ${when}.`;
    case 'retries':
      return isOne
        ? `The delivery waits for its retry, which ${when}.`
        : `They wait for retries. The next one ${when}.`;
    case 'batch':
      return `${isOne ? 'It waits' : 'They wait'} for more, to be sent in a batch: until there are ${formatCount(settings.batch_max ?? 0)}, but not longer than ${formatDuration(batchIn)} from now.`;
    case 'process':
      return isOne
        ? 'It is due, and waits for its turn in a delivery process.'
        : 'They are due, and wait for their turn in a delivery process.';
    case 'sending': {
      const inBatches =
        settings.batch_max === null ? '' : `in batches of up to ${formatCount(settings.batch_max)}, `;
      return `${isOne ? 'It is' : 'They are'} being sent now, ${inBatches}${PACE[paceLimitOf(settings)](settings)}.`;
    }
  }
}

/** How fast a webhook is sent while a run sends for it. */
const PACE: Record<ReturnType<typeof paceLimitOf>, (settings: WebhookState['settings']) => string> = {
  rate_limit: ({ rate_limit }) => `at most ${rate_limit} per second, which is its rate limit`,
  ordered: () => 'one at a time, because it is ordered',
  recovering: () => 'few at a time, because its endpoint is new or has just recovered',
  max_in_flight: ({ max_in_flight }) => `up to ${max_in_flight} at a time`,
};
