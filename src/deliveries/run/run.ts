import { type AnsweredAttempt, endAttempt, failedWithoutMovement } from './attempt.ts';
import { inFlightLimit } from './endpoint-health.ts';
import { createPace } from './pace.ts';
import { createSources } from './sources.ts';
import type { AttemptResult, Delivery, RunCommand, RunEnd, RunEvent, RunStart } from './types.ts';

/** The state machine of a delivery run: it decides what to send next, what to record and when to end. It has no I/O. */

/** This many results are recorded immediately. Fewer are recorded after a short wait, or when the run cannot go on before. */
const RESULTS_PER_RECORD = 200;

/** If the rate limit requires a longer wait, the run ends and leaves a delayed job, which takes up no slot of the worker. */
const LONGEST_RATE_WAIT = 500;

/** Time and randomness come in as arguments. `now` is milliseconds since 1970 and never goes back; `random` is in [0, 1). */
export interface RunContext {
  now: number;
  random: () => number;
}

export interface Run {
  /** Handles an event. @returns what to do now. */
  handle(event: RunEvent, context: RunContext): RunCommand[];
}

/**
 * Creates the state machine of a delivery run. Events go in, commands come out, and the same events give the same commands.
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
  const longestRunEnd = now + start.longestRun;
  const state = {
    health: start.health,
    recordedHealth: start.health,
    lastError: start.lastError,
    /** Why the webhook is to be disabled; null: it is not. */
    disable: null as string | null,
    inFlight: 0,
    results: [] as AttemptResult[],
    /** The results that are being recorded; null: none are. */
    recording: null as AttemptResult[] | null,
    flushDue: false,
    flushRequested: false,
    sliceEnd: now + start.sliceLength,
    /** Since when the run has been idle; null: it is not. */
    idleSince: null as number | null,
    timerAt: null as number | null,
    end: null as RunEnd | null,
    released: false,
    isOver: false,
  };

  const stop = (reason: RunEnd) => {
    state.end ??= reason;
  };

  function applyEvent(event: RunEvent, context: RunContext): void {
    const { now } = context;
    switch (event.type) {
      case 'started':
        return;
      case 'woken':
        if (event.reread) stop('changed');
        sources.expectMore();
        return;
      case 'log read':
        // The filters have changed since this run began. What only the new ones match may be missing, and would never be sent.
        if (event.filtersVersion > start.filtersVersion) stop('changed');
        else sources.addMovements(event);
        return;
      case 'retries read':
        sources.addRetries(event, now);
        return;
      case 'replay expanded':
        sources.replayExpanded(event, now);
        return;
      case 'answered':
        state.inFlight -= 1;
        // Cut short by our own shutdown: it says nothing about the endpoint, and does not count as an attempt.
        if (!event.answer.aborted) applyAnswer(event, context);
        return;
      case 'flush due':
        state.flushDue = state.results.length > 0;
        state.flushRequested = false;
        return;
      case 'recorded':
        sources.recorded(state.recording ?? [], now);
        state.recording = null;
        if (event.revision !== revision) stop('changed');
        return;
      case 'timer':
        state.timerAt = null;
        return;
      case 'lease lost':
        state.end = 'lost';
        state.recording = null;
        return;
      case 'failed':
        stop('failed');
        return;
      case 'stop':
        stop('stopped');
    }
  }

  function applyAnswer(attempt: AnsweredAttempt, { now, random }: RunContext): void {
    // Named one by one: spreading the context took a thirtieth of the processor time of a delivery.
    const ended = endAttempt(attempt, state.health, { now, random, maxInFlight, retryDelays });
    state.health = ended.health;
    state.lastError = ended.lastError;
    state.disable ??= ended.disable;
    if (state.disable !== null) stop('changed');
    if (ordered && ended.result.retryIn !== null) stop('blocked');
    addResult(attempt.delivery, ended.result);
  }

  function addResult(delivery: Delivery, result: AttemptResult): void {
    state.results.push(result);
    sources.ended(delivery);
  }

  /** Why this run may send nothing more; null: it may. */
  function reasonToStop(now: number): RunEnd | null {
    const { openUntil } = state.health;
    if (openUntil !== null && openUntil > now) return 'circuit open';
    if (sources.hasReady()) {
      if (pace.wait(now) > LONGEST_RATE_WAIT) return 'rate limited';
      if (now >= state.sliceEnd) return 'slice over';
    }
    const retryAt = sources.nextRetryAt();
    return ordered && retryAt !== null && retryAt > now ? 'blocked' : null;
  }

  function send(now: number, commands: RunCommand[]): void {
    const limit = inFlightLimit(state.health, maxInFlight);
    while (state.end === null && state.inFlight < limit) {
      state.end = reasonToStop(now);
      if (state.end !== null || pace.wait(now) > 0) return;
      const delivery = sources.next();
      if (delivery === undefined) return;
      if (delivery.movement === null) {
        addResult(delivery, failedWithoutMovement(delivery, now));
        continue;
      }
      state.inFlight += 1;
      pace.spend(now);
      commands.push({ type: 'send', delivery });
    }
  }

  /** Waits for new movements when everything is sent and recorded. The run ends when none has come for too long. */
  function updateIdle(now: number, commands: RunCommand[]): void {
    const { end, inFlight, results, recording } = state;
    const isIdle =
      inFlight === 0 &&
      results.length === 0 &&
      recording === null &&
      !sources.hasReady() &&
      !sources.isReading();
    if (end !== null) return;
    if (isIdle) {
      if (state.idleSince === null) commands.push({ type: 'idle', isIdle });
      state.idleSince ??= now;
      if (now >= Math.min(state.idleSince + start.linger, longestRunEnd)) stop('idle');
    } else if (state.idleSince !== null) {
      commands.push({ type: 'idle', isIdle });
      state.idleSince = null;
      state.sliceEnd = now + start.sliceLength;
    }
  }

  function record(now: number, commands: RunCommand[]): void {
    const { end, inFlight, results, recording } = state;
    if (recording !== null || end === 'lost') return;
    const isEnding = end !== null && inFlight === 0;
    if (state.released || (results.length === 0 && !isEnding)) return;
    // An ordered webhook reads its next retry only after the result before it is recorded, so that result must not wait.
    const isWaitedFor = ordered && inFlight === 0;
    if (!isEnding && !isWaitedFor && !state.flushDue && results.length < RESULTS_PER_RECORD) {
      if (!state.flushRequested) commands.push({ type: 'flush soon' });
      state.flushRequested = true;
      return;
    }
    state.recording = results;
    state.results = [];
    state.flushDue = false;
    state.released = isEnding;
    commands.push({
      type: 'record',
      record: {
        results,
        cursor: sources.cursor(),
        health: state.health === state.recordedHealth ? null : state.health,
        rateWait: start.rateLimit === null ? null : pace.wait(now),
        lastError: state.lastError,
        disable: state.disable,
        revision,
        release: isEnding,
      },
    });
    state.recordedHealth = state.health;
  }

  /** When the run has to check its state again even if nothing happens until then; null: no timer is needed. */
  function nextTimer(now: number): number | null {
    if (state.end !== null) return null;
    const moments = [
      state.idleSince === null ? null : Math.min(state.idleSince + start.linger, longestRunEnd),
      sources.nextRetryAt(),
      sources.hasReady() && pace.wait(now) > 0 ? now + pace.wait(now) : null,
    ].filter((at) => at !== null && at > now) as number[];
    return moments.length === 0 ? null : Math.min(...moments);
  }

  function setTimer(now: number, commands: RunCommand[]): void {
    const at = nextTimer(now);
    if (at === null || at === state.timerAt) return;
    state.timerAt = at;
    commands.push({ type: 'set timer', at });
  }

  return {
    handle(event, context) {
      if (state.isOver) return [];
      const { now } = context;
      const commands: RunCommand[] = [];
      applyEvent(event, context);
      send(now, commands);
      if (state.end === null) commands.push(...sources.read(now));
      updateIdle(now, commands);
      record(now, commands);
      setTimer(now, commands);
      const { end, inFlight, recording } = state;
      if (end !== null && inFlight === 0 && recording === null && (state.released || end === 'lost')) {
        state.isOver = true;
        commands.push({ type: 'end', reason: end });
      }
      return commands;
    },
  };
}
