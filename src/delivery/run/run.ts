import { type AnsweredAttempt, endAttempt, failedWithoutMovement } from './attempt.ts';
import { endBatch } from './batch.ts';
import { inFlightLimit } from './circuit-breaker.ts';
import { createSources } from './next-delivery.ts';
import { createPace } from './pace.ts';
import { createRecording } from './recording.ts';
import type {
  AttemptResult,
  BatchAnswered,
  Delivery,
  RunCommand,
  RunEnd,
  RunEvent,
  RunStart,
} from './types.ts';

/**
 * The state machine of a delivery run: it decides what to send next, what to record and when to end. It has no I/O.
 *
 *     sending → idle           Everything is sent and recorded.
 *     idle → sending           There is something to send.
 *     sending, idle → ending   For a reason of RunEnd. Nothing more is sent.
 *     ending → releasing       The POSTs in flight are answered. The last record, which gives the lease back, is under way.
 *     releasing → over         That record is committed.
 *     ending → over            The lease is lost: nothing can be recorded.
 */
type Phase =
  /** Reads, sends and records. */
  | { name: 'sending'; sliceEnd: number }
  /** Waits for new movements. */
  | { name: 'idle'; since: number }
  /** Waits for the POSTs in flight, and for a record that is under way. */
  | { name: 'ending'; reason: RunEnd }
  | { name: 'releasing'; reason: RunEnd }
  | { name: 'over' };

/** If the rate limit or a batch requires a longer wait, the run ends and a delayed job follows, which occupies no slot of the worker. */
const LONGEST_WAIT = 500;

/** Time and randomness come in as arguments. `now` is milliseconds since 1970 and never goes back; `random` is in [0, 1). */
interface RunContext {
  now: number;
  random: () => number;
  /** The most POSTs that a run of this process may have in flight, at least 1. The limit of the webhook also applies. */
  mostInFlight: number;
}

export interface Run {
  /** Handles an event. @returns what to do now. */
  handle(event: RunEvent, context: RunContext): RunCommand[];
}

/**
 * Creates the state machine of a delivery run. It takes events and returns commands. The same events give the same commands.
 *
 * While deliveries are in flight, the next ones are read and the results of others are recorded. With nothing left to send, the run
 * waits briefly for new movements. Its last record gives the lease back, and `end` is its last command.
 *
 * @param now when the run begins, on the same clock as the contexts of its events.
 */
export function createRun(start: RunStart, now: number): Run {
  const { ordered, maxInFlight, retryDelays, revision } = start;
  const sources = createSources(start, now);
  const pace = createPace(start.rateLimit, now + start.rateWait);
  const recording = createRecording();
  const longestRunEnd = now + start.longestRun;
  let phase: Phase = { name: 'sending', sliceEnd: now + start.sliceLength };
  let inFlight = 0;
  let timerAt: number | null = null;
  let { health, lastError } = start;
  let recordedHealth = health;
  /** Why the webhook is to be disabled; null: it is not. */
  let disable: string | null = null;
  let hasSent = false;
  let hasGivenBack = false;

  /** Ends the run. Only the first reason counts. */
  const end = (reason: RunEnd) => {
    if (phase.name === 'sending' || phase.name === 'idle') phase = { name: 'ending', reason };
  };

  function applyEvent(event: RunEvent, context: RunContext): void {
    const { now } = context;
    switch (event.type) {
      case 'started':
        return;
      case 'woken':
        if (event.reread) end('changed');
        sources.expectMore();
        return;
      case 'log read':
        // The filters have changed since this run began. The read may lack movements that only the new filters match, and the cursor
        // would pass them.
        if (event.filtersVersion > start.filtersVersion) end('changed');
        else sources.addMovements(event, now);
        return;
      case 'retries read':
        sources.addRetries(event, now);
        return;
      case 'replay expanded':
        sources.replayExpanded(event, now);
        return;
      case 'expansion failed':
        sources.replayExpanded({ added: 0, replaying: true }, now);
        end('failed');
        return;
      case 'answered':
        inFlight -= 1;
        // If our own shutdown cut the POST short, it says nothing about the endpoint and does not count as an attempt.
        if (!event.answer.aborted) applyAnswer(event, context);
        return;
      case 'batch answered':
        inFlight -= 1;
        if (!event.answer.aborted) applyBatchAnswer(event, context);
        return;
      case 'flush due':
        recording.flush();
        return;
      case 'recorded':
        sources.recorded(recording.committed(), now);
        if (event.revision !== revision) end('changed');
        return;
      case 'timer':
        timerAt = null;
        return;
      case 'lease lost':
        phase = { name: 'ending', reason: 'lost' };
        return;
      case 'no DNS':
        end('no DNS');
        return;
      case 'failed':
        end('failed');
        return;
      case 'stop':
        end('stopped');
    }
  }

  function applyAnswer(attempt: AnsweredAttempt, { now, random }: RunContext): void {
    // Named one by one, because spreading the context took a thirtieth of a delivery's processor time.
    const ended = endAttempt(attempt, health, { now, random, maxInFlight, retryDelays });
    health = ended.health;
    lastError = ended.lastError;
    disable ??= ended.disable;
    if (disable !== null) end('changed');
    if (ordered && ended.result.retryIn !== null) end('blocked');
    addResult(attempt.delivery, ended.result);
  }

  function applyBatchAnswer(attempt: BatchAnswered, { now, random }: RunContext): void {
    const batchMax = start.batch?.max ?? 1;
    const ended = endBatch(attempt, health, { now, random, maxInFlight, retryDelays, ordered, batchMax });
    health = ended.health;
    lastError = ended.lastError;
    disable ??= ended.disable;
    if (disable !== null) end('changed');
    if (ended.rejected !== null) recording.addRejected(ended.rejected);
    sources.putBack(attempt.deliveries.slice(ended.results.length));
    for (const [index, result] of ended.results.entries()) {
      if (ordered && result.retryIn !== null) end('blocked');
      addResult(attempt.deliveries[index] as Delivery, result);
    }
  }

  function addResult(delivery: Delivery, result: AttemptResult): void {
    recording.add(result);
    sources.ended(delivery);
  }

  const isSliceOver = (now: number) => phase.name === 'sending' && now >= phase.sliceEnd;

  /** Why this run may send nothing more; null: it may. */
  function reasonToEnd(now: number): RunEnd | null {
    if (health.openUntil !== null && health.openUntil > now) return 'circuit open';
    if (sources.hasReady()) {
      if (pace.wait(now) > LONGEST_WAIT) return 'rate limited';
      // A run that has sent nothing yet, because its batch was not full, would leave no progress.
      if (isSliceOver(now) && (hasSent || start.batch === null)) return 'slice over';
    }
    const retryAt = sources.nextRetryAt();
    return ordered && !sources.hasDue() && retryAt !== null && retryAt > now ? 'blocked' : null;
  }

  function send({ now, mostInFlight }: RunContext, commands: RunCommand[]): void {
    const limit = Math.min(inFlightLimit(health, maxInFlight), mostInFlight);
    while (inFlight < limit && !recording.isFull()) {
      const reason = reasonToEnd(now);
      if (reason !== null) end(reason);
      if (reason !== null || pace.wait(now) > 0) return;
      const command = start.batch === null ? takeNext(now) : takeBatch(now);
      if (command === null) return;
      if (command === 'gone') continue;
      inFlight += 1;
      hasSent = true;
      pace.spend(now);
      commands.push(command);
    }
  }

  /** Takes the next delivery. gone: its content is not stored any more. null: none is ready. */
  function takeNext(now: number): RunCommand | 'gone' | null {
    const delivery = sources.next();
    if (delivery === undefined) return null;
    if (delivery.content !== null) return { type: 'send', delivery };
    addResult(delivery, failedWithoutMovement(delivery, now));
    return 'gone';
  }

  /** Takes the next batch, as `takeNext`. */
  function takeBatch(now: number): RunCommand | 'gone' | null {
    const taken = sources.nextBatch(now, { limit: health.batchLimit, isLate: isSliceOver(now) });
    if (taken.length === 0) return null;
    const deliveries = withContent(taken, now);
    return deliveries.length === 0 ? 'gone' : { type: 'send batch', deliveries };
  }

  /** Ends deliveries whose content is gone. @returns the others. */
  function withContent(deliveries: readonly Delivery[], now: number): readonly Delivery[] {
    if (deliveries.every(({ content }) => content !== null)) return deliveries;
    return deliveries.filter((it) => {
      if (it.content === null) addResult(it, failedWithoutMovement(it, now));
      return it.content !== null;
    });
  }

  const batchDueAt = () => sources.batchDueAt(health.batchLimit);

  /** How long the new deliveries in hand wait for more, if nothing else is to be done. null: they do not wait. */
  function batchWait(now: number): number | null {
    const dueAt = inFlight === 0 && !sources.isReading() ? batchDueAt() : null;
    return dueAt !== null && dueAt > now ? dueAt - now : null;
  }

  /** Waits for new movements when everything is sent and recorded. The run ends when none has come for too long. */
  function updateIdle(now: number, commands: RunCommand[]): void {
    if (recording.isDone() && (batchWait(now) ?? 0) > LONGEST_WAIT) end('idle');
    const isIdle = inFlight === 0 && recording.isDone() && !sources.hasReady() && !sources.isReading();
    if (isIdle && phase.name === 'sending') {
      phase = { name: 'idle', since: now };
      commands.push({ type: 'idle', isIdle });
    } else if (!isIdle && phase.name === 'idle') {
      phase = { name: 'sending', sliceEnd: now + start.sliceLength };
      commands.push({ type: 'idle', isIdle });
    }
    if (phase.name === 'idle' && now >= idleEnd(phase.since)) end('idle');
  }

  const idleEnd = (since: number) => Math.min(since + start.linger, longestRunEnd);

  function record(now: number, commands: RunCommand[]): void {
    if (phase.name === 'releasing' || (phase.name === 'ending' && phase.reason === 'lost')) return;
    // What is still being expanded may be due before everything that is known here.
    const release = phase.name === 'ending' && inFlight === 0 && !sources.isExpanding();
    // An ordered webhook reads its next retry only after the previous result is recorded, so this result must not wait.
    const begun = recording.begin({ isLast: release, isAwaited: ordered && inFlight === 0 });
    if (begun === null) return;
    if (begun === 'later') return void commands.push({ type: 'flush soon' });
    if (phase.name === 'ending' && release) phase = { name: 'releasing', reason: phase.reason };
    commands.push({
      type: 'record',
      record: {
        ...begun,
        cursor: sources.cursor(),
        health: health === recordedHealth ? null : health,
        rateWait: start.rateLimit === null ? null : pace.wait(now),
        lastError,
        disable,
        revision,
        release,
      },
    });
    recordedHealth = health;
  }

  /** When the run has to check its state again even if nothing happens. null: no timer is needed. */
  function nextTimer(now: number): number | null {
    const moments = [
      phase.name === 'idle' ? idleEnd(phase.since) : null,
      sources.nextRetryAt(),
      sources.hasReady() && pace.wait(now) > 0 ? now + pace.wait(now) : null,
      batchDueAt(),
    ].filter((at) => at !== null && at > now) as number[];
    return moments.length === 0 ? null : Math.min(...moments);
  }

  function setTimer(now: number, commands: RunCommand[]): void {
    const at = nextTimer(now);
    if (at === null || at === timerAt) return;
    timerAt = at;
    commands.push({ type: 'set timer', at });
  }

  const mayGoOn = () => phase.name === 'sending' || phase.name === 'idle';

  /** The reason for which the run is over now; null: it is not. */
  function reasonOfEnd(): RunEnd | null {
    if (phase.name === 'releasing') return recording.isUnderWay() ? null : phase.reason;
    return phase.name === 'ending' && phase.reason === 'lost' && inFlight === 0 ? phase.reason : null;
  }

  return {
    handle(event, context) {
      if (phase.name === 'over') return [];
      const { now } = context;
      const commands: RunCommand[] = [];
      applyEvent(event, context);
      if (mayGoOn()) send(context, commands);
      if (mayGoOn()) commands.push(...sources.read(now));
      updateIdle(now, commands);
      record(now, commands);
      if (mayGoOn()) setTimer(now, commands);
      else if (inFlight > 0 && !hasGivenBack) {
        hasGivenBack = true;
        commands.push({ type: 'give back' });
      }
      const reason = reasonOfEnd();
      if (reason !== null) {
        phase = { name: 'over' };
        commands.push({ type: 'end', reason });
      }
      return commands;
    },
  };
}
