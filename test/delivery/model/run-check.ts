import type { Answer } from '../../../src/delivery/posting/types.ts';
import { FAILURES_TO_OPEN } from '../../../src/delivery/run/circuit-breaker.ts';
import { TIMER_LATENESS } from '../../../src/delivery/run/pace.ts';
import type { AttemptResult, RunCommand, RunEvent } from '../../../src/delivery/run/types.ts';
import type { ObservedRun, Post } from './observed-run.ts';
import { violation } from './violation.ts';

/** How a POST with a batch has ended. */
export interface BatchEnd {
  answer: Answer;
  /** The endpoint has answered a 2xx that can be read. */
  isWell: boolean;
  /** Its events come again in smaller batches. */
  isRejected: boolean;
}

/** The rules for one run, whatever its tables contain. */
export interface RunCheck {
  /** Deliveries that the run has finished and not recorded yet. */
  ended: Set<number>;
  /** Until when its circuit is open at least; null: it has not opened. */
  openUntil(): number | null;
  /** The most events of its next batch. */
  batchLimit(): number;
  happens(event: RunEvent, now: number): void;
  commanded(command: RunCommand, now: number): void;
  answered(post: Post, answer: Answer, now: number): void;
  answeredBatch(batch: readonly Post[], ended: BatchEnd, now: number): void;
}

/** The most events in a row that may bring nothing new. */
const EVENTS_WITHOUT_PROGRESS = 60;

/** After these events, a run sends nothing more. */
const ENDING: ReadonlySet<RunEvent['type']> = new Set(['lease lost', 'failed', 'expansion failed', 'stop']);

/** The first opening of the circuit lasts 5 s, less a fifth. Milliseconds. */
const SHORTEST_OPENING = 4_000;

/** A read reports in how many milliseconds the next retry is due, and may itself take this long. */
const SLOWEST_ANSWER = 3_200;

export function createRunCheck(run: ObservedRun, delays: readonly number[]): RunCheck {
  const { maxInFlight, rateLimit, health } = run.start;
  const ended = new Set<number>();
  const lastDue = new Set<number>();
  let eventsWithoutProgress = 0;
  let mayNotSend: string | null = null;
  let successes = 0;
  let failuresInRow = 0;
  let openUntil: number | null = null;
  const largestBatch = run.start.batch?.max ?? 1;
  let batchLimit = Math.min(largestBatch, health.batchLimit ?? largestBatch);
  let lastSend = Number.NEGATIVE_INFINITY;
  /** The sources that may have more for the run, and have not been read since. A read that began before the lease does not count. */
  const mustRead = new Set<'log' | 'retries' | 'replay'>();
  let atRelease: string | null = null;
  let hasFirstRead = run.start.hasBacklog;
  /** Deliveries that the run has recorded as due again, and those that are being recorded. */
  const dueAgain = new Map<number, number>();
  let recording: readonly AttemptResult[] = [];

  /** Anything that the run overlooks when it has nothing to do now; null: nothing. */
  function overlooked(now: number): string | null {
    if (mustRead.size > 0) return `has not looked at ${[...mustRead]}`;
    for (const [id, at] of dueAgain)
      if (at < now - SLOWEST_ANSWER) return `${id} has been due for ${now - at} ms`;
    return null;
  }

  function mustNotOverlook(what: string | null): void {
    if (what !== null) violation(`${run.name} has nothing to do, and ${what}`);
  }

  function mayHaveMore(event: RunEvent): void {
    if (event.type === 'woken') mustRead.add('log');
    if (event.type === 'log read' && (!event.complete || hasFirstRead)) mustRead.add('log');
    if (event.type === 'log read') hasFirstRead = false;
    if (event.type === 'retries read' && event.nextIn === 0) mustRead.add('retries');
    if (event.type !== 'replay expanded') return;
    if (event.added > 0) mustRead.add('retries');
    if (event.replaying) mustRead.add('replay');
  }

  function mustBeAllowed(id: number, now: number): void {
    if (mayNotSend !== null) violation(`${run.name} sends ${id} after "${mayNotSend}"`);
    if (run.inFlight >= maxInFlight) violation(`${run.name} has more than ${maxInFlight} in flight`);
    // A half-open circuit doubles its limit after as many successes as the limit was.
    const allowed = 2 ** Math.floor(Math.log2((health.recoverySuccesses ?? 0) + successes + 1));
    if (health.recoverySuccesses !== null && run.inFlight >= allowed)
      violation(`${run.name} has ${run.inFlight + 1} in flight after ${successes} successes`);
    if (openUntil !== null && now < openUntil) violation(`${run.name} sends ${id} through an open circuit`);
    if (rateLimit !== null && now - lastSend < 1_000 / rateLimit - TIMER_LATENESS - 1)
      violation(`${run.name} sends ${id} ${now - lastSend} ms after the one before`);
  }

  return {
    ended,
    openUntil: () => openUntil,
    batchLimit: () => batchLimit,
    happens(event, now) {
      mayHaveMore(event);
      // Another run may have sent retries that are due and were not found: they are not waiting any more.
      if (event.type === 'retries read' && event.nextIn !== 0) {
        const found = new Set(event.deliveries.map(({ subjectId }) => subjectId));
        for (const [id, at] of dueAgain) if (at <= now && !found.has(id)) dueAgain.delete(id);
      }
      if (event.type === 'recorded') {
        for (const { subjectId, retryIn } of recording)
          if (retryIn !== null) dueAgain.set(subjectId, now + retryIn);
      }
      eventsWithoutProgress = isProgress(event, lastDue) ? 0 : eventsWithoutProgress + 1;
      if (eventsWithoutProgress > EVENTS_WITHOUT_PROGRESS) violation(`${run.name} goes round in circles`);
      if (ENDING.has(event.type) || (event.type === 'woken' && event.reread)) mayNotSend = event.type;
    },
    commanded(command, now) {
      if (command.type === 'end' && run.inFlight > 0)
        violation(`${run.name} ends with ${run.inFlight} in flight`);
      if (command.type === 'read log') mustRead.delete('log');
      if (command.type === 'read retries') mustRead.delete('retries');
      if (command.type === 'expand replay') mustRead.delete('replay');
      if (command.type === 'idle' && command.isIdle) mustNotOverlook(overlooked(now));
      if (command.type === 'record') {
        if (command.record.release) atRelease = overlooked(now);
        recording = command.record.results;
        for (const { subjectId } of recording) dueAgain.delete(subjectId);
      }
      if (command.type === 'end' && command.reason === 'idle') mustNotOverlook(atRelease);
      if (command.type !== 'send' && command.type !== 'send batch') return;
      const deliveries = command.type === 'send' ? [command.delivery] : command.deliveries;
      for (const { subjectId } of deliveries) dueAgain.delete(subjectId);
      mustBeAllowed(deliveries[0]?.subjectId ?? 0, now);
      if (deliveries.length > batchLimit)
        violation(`${run.name} sends ${deliveries.length} events where ${batchLimit} are allowed`);
      lastSend = now;
    },
    answered({ id, delivery, isSuccess }, answer, now) {
      if (isSuccess || delivery.failures >= delays.length) ended.add(id);
      endpointAnswered(isSuccess, answer, now);
    },
    answeredBatch(batch, { answer, isWell, isRejected }, now) {
      for (const { id, delivery, isSuccess, state } of batch)
        if (state === 'answered' && (isSuccess || delivery.failures >= delays.length)) ended.add(id);
      if (isRejected) batchLimit = Math.min(batchLimit, Math.ceil(batch.length / 2));
      else if (isWell) batchLimit = Math.min(largestBatch, 2 * batchLimit);
      endpointAnswered(isWell, answer, now);
    },
  };

  function endpointAnswered(isWell: boolean, answer: Answer, now: number): void {
    if (isWell) {
      successes += 1;
      failuresInRow = 0;
      return;
    }
    const { status, retryAfter } = answer;
    const isThrottled = status === 429 || (status === 503 && retryAfter !== undefined);
    if (!isThrottled && status !== null && status >= 400 && status < 500 && status !== 404) return;
    if (!isThrottled) failuresInRow += 1;
    const isHalfOpen = health.circuitOpenings > 0 && successes === 0;
    if (openUntil !== null || !(isThrottled || isHalfOpen || failuresInRow >= FAILURES_TO_OPEN)) return;
    const asked = isThrottled ? Math.min(3_600, Number(retryAfter ?? 0)) * 1_000 : 0;
    openUntil = now + Math.max(SHORTEST_OPENING, asked);
  }
}

/** @param lastDue the retries found by the read before. They are replaced by those that this one finds. */
function isProgress(event: RunEvent, lastDue: Set<number>): boolean {
  switch (event.type) {
    case 'answered':
    case 'batch answered':
    case 'woken':
      return true;
    case 'log read':
      return event.deliveries.length > 0;
    case 'retries read': {
      const ids = event.deliveries.map(({ subjectId }) => subjectId);
      const isNew = ids.some((id) => !lastDue.has(id));
      lastDue.clear();
      for (const id of ids) lastDue.add(id);
      return isNew;
    }
    case 'replay expanded':
      return event.added > 0;
    default:
      return false;
  }
}
