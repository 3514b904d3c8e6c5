import type { Answer } from '../posting/types.ts';
import { type AttemptContext, afterAnswer, toOutcome, toResult } from './attempt.ts';
import type { Outcome } from './schedule.ts';
import type { AttemptResult, BatchAnswered, EndpointHealth, RejectedBatch } from './types.ts';

/** Decides what the answer to a POST with a batch means for each of its deliveries. */

/** The consequences of a POST with a batch. */
interface BatchEnd {
  results: AttemptResult[];
  /** The batch is to be sent again in smaller ones, because the receiver has rejected it. Then it has no results. null: it was not rejected. */
  rejected: RejectedBatch | null;
  health: EndpointHealth;
  /** The error for people to read. null: no error. */
  lastError: string | null;
  /** Why the webhook is to be disabled; null: it is not. */
  disable: string | null;
}

/** Answers that one bad event can cause: a batch with fewer events may be accepted (RFC 9110, sections 15.5.1, 15.5.14 and 15.5.21). */
const REJECTIONS: readonly number[] = [400, 413, 422];

/** Which events of a batch a 2xx accepts. `error`: it accepts none, for this reason. */
type Acceptance = { failed: ReadonlySet<string> } | { error: string };

const ALL: Acceptance = { failed: new Set() };

/**
 * Reads what a 2xx says of the events of a batch. Losing an event is worse than sending it twice, so an answer that may have named failed
 * events, but cannot be read, accepts nothing.
 * @param ids of the events.
 */
export function readAcceptance(answer: Answer, ids: readonly string[]): Acceptance {
  if (answer.error !== null) return { error: answer.error };
  if (answer.isCut === true) return { error: 'the answer is longer than 64 KiB' };
  if (answer.isUnreadable === true) return { error: 'the coding of the answer cannot be read' };
  const text = answer.body.replace(/^\uFEFF/, '').trim();
  const saysJson = /[/+]json\b/i.test(answer.contentType ?? '');
  if (text === '' && saysJson && answer.isOpenEnded === true)
    return { error: 'the answer says that it is JSON, and is empty when the connection closes' };
  const isJson = text !== '' && (saysJson || /^[{[]/.test(text));
  const value = isJson ? parseJson(text) : { json: undefined };
  const own = value === null ? undefined : failedOf(value.json);
  if (own === undefined) {
    if (namesFailed(text)) return { error: 'the answer has a member failed that cannot be read' };
    if (value === null) return { error: 'the answer is JSON that cannot be read' };
    return answer.status === 207
      ? { error: 'the answer 207 does not say in failed which events failed' }
      : ALL;
  }
  return readFailed(own, ids);
}

function parseJson(text: string): { json: unknown } | null {
  try {
    return { json: JSON.parse(text) };
  } catch {
    return null;
  }
}

/** The member `failed` of an object. undefined: there is none. */
function failedOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'failed' in value ? value.failed : undefined;
}

/** `"failed":`, also within a text of JSON, and what follows it where nothing has failed. */
const FAILED_MEMBER = /"failed\\*"\s*:\s*(null|false|-?\d|\[\s*\])?/g;

/** Whether a text names failed events somewhere: in a text before the JSON, deeper in it, or in JSON within JSON. */
const namesFailed = (text: string): boolean =>
  [...text.matchAll(FAILED_MEMBER)].some(([, nothing]) => nothing === undefined);

/** Reads `failed`. null is an empty list, as some languages write it. */
function readFailed(failed: unknown, ids: readonly string[]): Acceptance {
  if (failed === null) return ALL;
  if (!Array.isArray(failed) || !failed.every((id) => typeof id === 'string'))
    return { error: 'failed, in the answer, is no list of ids' };
  const known = new Set(ids);
  const isUnknown = failed.some((id: string) => !known.has(id));
  return isUnknown
    ? { error: 'failed, in the answer, names an id that is not in the batch' }
    : { failed: new Set(failed) };
}

/** The answer for an event that the receiver has named in `failed`. */
const NAMED = 'the receiver named it in failed';

/**
 * Turns the answer to a batch into the results of its deliveries. The endpoint's health counts it as one POST.
 *
 * A rejected batch uses up no attempts: its deliveries are sent again, half as many at a time. In an ordered webhook, only the first delivery
 * that was not accepted gets a result: what follows it stays unsent, and so is sent after it.
 */
export function endBatch(
  attempt: BatchAnswered,
  health: EndpointHealth,
  context: AttemptContext & { ordered: boolean; batchMax: number },
): BatchEnd {
  const { deliveries, ids, answer, startedAt, durationMs } = attempt;
  const outcome = toOutcome(answer, startedAt + durationMs);
  const rejected = toRejected(attempt);
  if (rejected !== null) {
    const after = afterAnswer(outcome, answer, health, context);
    return { ...after, health: halve(after.health, deliveries.length), results: [], rejected };
  }
  const acceptance = outcome.kind === 'delivered' ? readAcceptance(answer, ids) : null;
  const error = acceptance !== null && 'error' in acceptance ? acceptance.error : null;
  const ofPost: Outcome = error === null ? outcome : { kind: 'failed', cause: 'endpoint' };
  const seen = error === null ? answer : { ...answer, error };
  const answered = afterAnswer(ofPost, seen, health, context);
  const after =
    ofPost.kind === 'delivered'
      ? { ...answered, health: double(answered.health, context.batchMax) }
      : answered;
  const results: AttemptResult[] = [];
  const batchFirst = deliveries[0]?.subjectId ?? null;
  // Deliveries that failed together come back together.
  const random = context.random();
  for (const [index, delivery] of deliveries.entries()) {
    const isNamed = acceptance !== null && 'failed' in acceptance && acceptance.failed.has(ids[index] ?? '');
    const isAccepted = ofPost.kind === 'delivered' && !isNamed;
    const own: Outcome = isNamed ? { kind: 'failed', cause: 'body' } : ofPost;
    const result = toResult(
      { ...attempt, delivery, answer: isNamed ? { ...seen, error: NAMED } : seen },
      own,
      { before: health, after: after.health },
      { ...context, random: () => random },
    );
    const isFirst = results.length === 0;
    results.push({
      ...result,
      batchFirst,
      // The answer, and what it says of the endpoint, is kept once.
      response: isFirst ? (answer.shown ?? answer.body) : '',
      logged: isFirst
        ? result.logged
        : { ...result.logged, bytes: 0, isFirstFailure: false, circuit: undefined },
    });
    if (!isAccepted && context.ordered) break;
  }
  return { results, rejected: null, ...after };
}

/** @param events of the batch that was rejected. Other batches may have been rejected since it was sent. */
const halve = (health: EndpointHealth, events: number): EndpointHealth => ({
  ...health,
  batchLimit: Math.min(health.batchLimit ?? events, Math.ceil(events / 2)),
});

const double = (health: EndpointHealth, batchMax: number): EndpointHealth =>
  health.batchLimit === null
    ? health
    : { ...health, batchLimit: 2 * health.batchLimit < batchMax ? 2 * health.batchLimit : null };

/** null: the receiver has not rejected the batch. What it answers to a single event is the result of this event. */
function toRejected({ deliveries, answer, startedAt, durationMs }: BatchAnswered): RejectedBatch | null {
  const { status } = answer;
  const [first] = deliveries;
  const last = deliveries.at(-1);
  if (status === null || !REJECTIONS.includes(status)) return null;
  if (first === undefined || last === undefined || first === last) return null;
  return {
    firstId: first.subjectId,
    lastId: last.subjectId,
    events: deliveries.length,
    statusCode: status,
    startedAt,
    durationMs: Math.round(durationMs),
    response: answer.shown ?? answer.body,
  };
}
