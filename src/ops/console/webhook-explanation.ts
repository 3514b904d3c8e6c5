import { hasBacklog, type WebhookState as RunState } from '../../delivering/webhook-state.ts';
import type { WebhookRow } from './webhook-rows.ts';
import { countOf, formatDuration, timesInARow } from './wording.ts';

/** What the page of a webhook says about its state, and about what happens next. */

/** @param run null: what is being sent now is not known. */
export function explainWebhook(it: WebhookRow, run: RunState | null, now: Date): string {
  const pending = countOf(Number(it.pending), 'delivery is', 'deliveries are');
  const error = it.last_error === null ? '' : `The last error: ${endSentence(it.last_error)}`;
  switch (it.status) {
    case 'deleted':
      return 'It was deleted. Nothing is sent to it. Its log stays until retention.';
    case 'disabled':
      return `It is disabled: ${endSentence(it.status_reason ?? 'no reason was given')} It matches nothing, and is sent nothing, until it is enabled. ${pending} pending.`;
    case 'paused':
      return it.status_reason === null
        ? `Its owner has paused it. ${pending} pending, and sent when it is enabled.`
        : `The service has paused it: ${endSentence(it.status_reason)} ${pending} pending. Find out why its runs crash before you enable it.`;
    case 'active': {
      const waiting = explainWaiting(it, run, now);
      if (it.failing_since === null)
        return join('Its endpoint answers.', `${pending} pending.`, waiting, error);
      return join(
        `Its endpoint has failed ${timesInARow(it.consecutive_failures)}, for ${formatDuration(now.getTime() - it.failing_since.getTime())}.`,
        error,
        `${pending} pending and none is lost.`,
        waiting === '' ? 'The next notification is tried as soon as one is due.' : waiting,
        'Once the endpoint answers, everything is sent.',
      );
    }
  }
}

const endSentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

const join = (...sentences: string[]): string => sentences.filter((it) => it !== '').join(' ');

/** Why the pending deliveries of an active webhook have not been sent yet: what holds back all of them comes first. "": nothing waits. */
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
