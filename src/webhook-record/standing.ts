/**
 * How a webhook has fared over the last hour: whether it flaps, and how fast it catches up. The maintenance process looks at webhooks every
 * ten seconds, and keeps what it sees in `webhook_standings`. All of this file is pure.
 */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A backlog of this age needs attention if its endpoint answers. The alert LedgerbellBehind follows it. Seconds. */
const BEHIND_AFTER = 300;

/** A webhook that was behind is not, once its oldest unsent movement is younger than this. Otherwise, it would change all the time. Seconds. */
const CAUGHT_UP_BELOW = 150;

/**
 * Whether a webhook is behind.
 * @param waiting for how many seconds its oldest movement has been waiting although its endpoint answers.
 * @param behindSince since when it was behind; null: it was not.
 */
export const isBehind = (waiting: number, behindSince: Date | null): boolean =>
  waiting >= (behindSince === null ? BEHIND_AFTER : CAUGHT_UP_BELOW);

/** An endpoint that recovers this often within an hour flaps, until an hour after its last change. */
const RECOVERIES = 3;

/** A sample of the counters is used for this long. The pace is that of the last one to two such times. */
const SAMPLED_FOR = 2 * MINUTE;

/** A pace over a shorter time is chance. */
const SHORTEST_PACE = 10 * SECOND;

/** Matched movements, and ended deliveries, at a moment. */
interface Sample {
  at: Date;
  matched: number;
  finished: number;
}

export interface Standing {
  failing: boolean;
  /** When it last failed or recovered; null: not since it is looked at. */
  changedAt: Date | null;
  /** The last recoveries, the newest first. */
  recoveries: readonly Date[];
  flappingSince: Date | null;
  behindSince: Date | null;
  /** The older of the two samples, for the pace, and the newer one, which replaces it. */
  sampled: Sample | null;
  sampledNext: Sample | null;
}

export const UNREMARKABLE: Standing = {
  failing: false,
  changedAt: null,
  recoveries: [],
  flappingSince: null,
  behindSince: null,
  sampled: null,
  sampledNext: null,
};

/** The measurements of one look at an active webhook. */
export interface Look {
  now: Date;
  failing: boolean;
  /** For how many seconds its oldest movement has been waiting although its endpoint answers. null: none waits. */
  waiting: number | null;
  matched: number;
  finished: number;
}

export type Change = 'webhook.behind' | 'webhook.caught_up' | 'webhook.flapping' | 'webhook.stable';

/** The standing after another look, and what has changed. @returns null in place of a standing that has nothing to remember. */
export function look(before: Standing, seen: Look): { standing: Standing | null; changes: Change[] } {
  const { now } = seen;
  const changes: Change[] = [];
  const hasChanged = before.failing !== seen.failing;
  const changedAt = hasChanged ? now : before.changedAt;
  const recoveries =
    hasChanged && !seen.failing ? [now, ...before.recoveries].slice(0, RECOVERIES) : before.recoveries;
  const first = recoveries[RECOVERIES - 1];
  let { flappingSince, behindSince } = before;
  if (flappingSince === null && first !== undefined && now.getTime() - first.getTime() <= HOUR) {
    flappingSince = now;
    changes.push('webhook.flapping');
  } else if (flappingSince !== null && isQuiet(changedAt, now)) {
    flappingSince = null;
    changes.push('webhook.stable');
  }
  const isBehindNow = isBehind(seen.waiting ?? 0, behindSince);
  if (behindSince === null && isBehindNow) {
    behindSince = now;
    changes.push('webhook.behind');
  } else if (behindSince !== null && !isBehindNow) {
    behindSince = null;
    // It has not caught up if its endpoint has begun to fail.
    if (!seen.failing) changes.push('webhook.caught_up');
  }
  const samples = behindSince === null ? { sampled: null, sampledNext: null } : sample(before, seen);
  const standing = { failing: seen.failing, changedAt, recoveries, flappingSince, behindSince, ...samples };
  const isForgotten =
    !seen.failing && flappingSince === null && behindSince === null && isQuiet(changedAt, now);
  return { standing: isForgotten ? null : standing, changes };
}

const isQuiet = (changedAt: Date | null, now: Date): boolean =>
  changedAt === null || now.getTime() - changedAt.getTime() > HOUR;

function sample({ sampled, sampledNext }: Standing, { now, matched, finished }: Look) {
  const next = { at: now, matched, finished };
  if (sampledNext === null) return { sampled, sampledNext: next };
  return now.getTime() - sampledNext.at.getTime() >= SAMPLED_FOR
    ? { sampled: sampledNext, sampledNext: next }
    : { sampled, sampledNext };
}

/** An endpoint that has failed for longer than this fails for good, and does not flap any more. Milliseconds. */
const FAILING_FOR_GOOD = 10 * MINUTE;

/** Whether a webhook flaps. @param failingSince of its endpoint; null: it answers. */
export const isFlapping = (
  { flappingSince, failing, changedAt }: Pick<Standing, 'flappingSince' | 'failing' | 'changedAt'>,
  { now, failingSince }: { now: Date; failingSince: Date | null },
): boolean =>
  flappingSince !== null &&
  (failing || !isQuiet(changedAt, now)) &&
  (failingSince === null || now.getTime() - failingSince.getTime() < FAILING_FOR_GOOD);

/** How fast movements of a webhook have come and gone in the last minutes. */
export interface Pace {
  inPerMinute: number;
  outPerMinute: number;
  /** Seconds until nothing is pending at this pace; null: it does not catch up. */
  caughtUpInSeconds: number | null;
}

/** @returns null if it was not watched for long enough. */
export function paceOf(
  { sampled, sampledNext }: Pick<Standing, 'sampled' | 'sampledNext'>,
  { now, matched, finished }: Omit<Look, 'failing' | 'waiting'>,
): Pace | null {
  const from = sampled ?? sampledNext;
  const elapsed = from === null ? 0 : now.getTime() - from.at.getTime();
  if (from === null || elapsed < SHORTEST_PACE) return null;
  const perMinute = (difference: number) => (Math.max(0, difference) * MINUTE) / elapsed;
  const inPerMinute = perMinute(matched - from.matched);
  const outPerMinute = perMinute(finished - from.finished);
  const gain = outPerMinute - inPerMinute;
  return {
    inPerMinute,
    outPerMinute,
    caughtUpInSeconds: gain > 0 ? Math.round(((matched - finished) / gain) * 60) : null,
  };
}
