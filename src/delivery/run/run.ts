import { type AnsweredAttempt, endAttempt, failedWithoutMovement } from './attempt.ts';
import { endBatch } from './batch.ts';
import { inFlightLimit } from './circuit-breaker.ts';
import { createSources, type Sources } from './next-delivery.ts';
import { createPace, type Pace } from './pace.ts';
import { createRecording, type Recording } from './recording.ts';
import type {
  AttemptResult,
  BatchAnswered,
  Delivery,
  EndpointHealth,
  HealthChange,
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

/** Where the run is in these transitions. */
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

/** What a run knows. */
interface RunState {
  readonly start: RunStart;
  readonly sources: Sources;
  readonly pace: Pace;
  readonly recording: Recording;
  readonly longestRunEnd: number;
  phase: Phase;
  inFlight: number;
  timerAt: number | null;
  health: EndpointHealth;
  recordedHealth: EndpointHealth;
  /** Of a shared health: what has changed it since the last record began. */
  healthChanges: HealthChange[];
  lastError: string | null;
  /** Why the webhook is to be disabled; null: it is not. */
  disable: string | null;
  hasSent: boolean;
  hasGivenBack: boolean;
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
  const run: RunState = {
    start,
    sources: createSources(start, now),
    pace: createPace(start.rateLimit, now + start.rateWait),
    recording: createRecording(),
    longestRunEnd: now + start.longestRun,
    phase: { name: 'sending', sliceEnd: now + start.sliceLength },
    inFlight: 0,
    timerAt: null,
    health: start.health,
    recordedHealth: start.health,
    healthChanges: [],
    lastError: start.lastError,
    disable: null,
    hasSent: false,
    hasGivenBack: false,
  };
  return {
    handle(event, context) {
      if (run.phase.name === 'over') return [];
      const { now } = context;
      const commands: RunCommand[] = [];
      applyEvent(run, event, context);
      if (mayGoOn(run)) send(run, context, commands);
      if (mayGoOn(run)) commands.push(...run.sources.read(now));
      updateIdle(run, now, commands);
      record(run, now, commands);
      if (mayGoOn(run)) setTimer(run, now, commands);
      else if (run.inFlight > 0 && !run.hasGivenBack) {
        run.hasGivenBack = true;
        commands.push({ type: 'give back' });
      }
      const reason = reasonOfEnd(run);
      if (reason !== null) {
        run.phase = { name: 'over' };
        commands.push({ type: 'end', reason });
      }
      return commands;
    },
  };
}

/** Ends the run. Only the first reason counts. */
function end(run: RunState, reason: RunEnd): void {
  if (mayGoOn(run)) run.phase = { name: 'ending', reason };
}

function applyEvent(run: RunState, event: RunEvent, context: RunContext): void {
  const { now } = context;
  switch (event.type) {
    case 'started':
      return;
    case 'woken':
      if (event.reread) end(run, 'changed');
      run.sources.expectMore();
      return;
    case 'log read':
      // The filters have changed since this run began. The read may lack movements that only the new filters match, and the cursor
      // would pass them.
      if (event.filtersVersion > run.start.filtersVersion) end(run, 'changed');
      else run.sources.addMovements(event, now);
      return;
    case 'retries read':
      run.sources.addRetries(event, now);
      return;
    case 'replay expanded':
      run.sources.replayExpanded(event, now);
      return;
    case 'expansion failed':
      run.sources.replayExpanded({ added: 0, replaying: true }, now);
      end(run, 'failed');
      return;
    case 'answered':
      run.inFlight -= 1;
      // If our own shutdown cut the POST short, it says nothing about the endpoint and does not count as an attempt.
      if (!event.answer.aborted) applyAnswer(run, event, context);
      return;
    case 'batch answered':
      run.inFlight -= 1;
      if (!event.answer.aborted) applyBatchAnswer(run, event, context);
      return;
    case 'flush due':
      run.recording.flush();
      return;
    case 'recorded':
      run.sources.recorded(run.recording.committed(), now);
      if (event.health !== null)
        run.health = run.healthChanges.reduce((health, change) => change(health), event.health);
      if (event.revision !== run.start.revision) end(run, 'changed');
      return;
    case 'timer':
      run.timerAt = null;
      return;
    case 'lease lost':
      run.phase = { name: 'ending', reason: 'lost' };
      return;
    case 'no DNS':
      end(run, 'no DNS');
      return;
    case 'failed':
      end(run, 'failed');
      return;
    case 'stop':
      end(run, 'stopped');
  }
}

/** Notes what an answer changes of a shared health. @param change with a fixed jitter, because the change is made more than once. */
function noteChange(
  run: RunState,
  random: () => number,
  change: (health: EndpointHealth, random: () => number) => EndpointHealth,
): void {
  if (!run.start.isHealthShared) return;
  const jitter = random();
  run.healthChanges.push((health) => change(health, () => jitter));
}

function applyAnswer(run: RunState, attempt: AnsweredAttempt, { now, random }: RunContext): void {
  const { ordered, maxInFlight, retryDelays } = run.start;
  // Named one by one, because spreading the context took a thirtieth of a delivery's processor time.
  const ended = endAttempt(attempt, run.health, { now, random, maxInFlight, retryDelays });
  run.health = ended.health;
  noteChange(
    run,
    random,
    (health, jitter) => endAttempt(attempt, health, { now, random: jitter, maxInFlight, retryDelays }).health,
  );
  run.lastError = ended.lastError;
  run.disable ??= ended.disable;
  if (run.disable !== null) end(run, 'changed');
  if (ordered && ended.result.retryIn !== null) end(run, 'blocked');
  addResult(run, attempt.delivery, ended.result);
}

function applyBatchAnswer(run: RunState, attempt: BatchAnswered, { now, random }: RunContext): void {
  const { ordered, maxInFlight, retryDelays, batch } = run.start;
  const batchMax = batch?.max ?? 1;
  const context = { now, maxInFlight, retryDelays, ordered, batchMax };
  const ended = endBatch(attempt, run.health, { ...context, random });
  run.health = ended.health;
  noteChange(
    run,
    random,
    (health, jitter) => endBatch(attempt, health, { ...context, random: jitter }).health,
  );
  run.lastError = ended.lastError;
  run.disable ??= ended.disable;
  if (run.disable !== null) end(run, 'changed');
  if (ended.rejected !== null) run.recording.addRejected(ended.rejected);
  run.sources.putBack(attempt.deliveries.slice(ended.results.length));
  for (const [index, result] of ended.results.entries()) {
    if (ordered && result.retryIn !== null) end(run, 'blocked');
    addResult(run, attempt.deliveries[index] as Delivery, result);
  }
}

function addResult(run: RunState, delivery: Delivery, result: AttemptResult): void {
  run.recording.add(result);
  run.sources.ended(delivery);
}

const isSliceOver = (run: RunState, now: number) => run.phase.name === 'sending' && now >= run.phase.sliceEnd;

/** Why this run may send nothing more; null: it may. */
function reasonToEnd(run: RunState, now: number): RunEnd | null {
  if (run.health.openUntil !== null && run.health.openUntil > now) return 'circuit open';
  if (run.sources.hasReady()) {
    if (run.pace.wait(now) > LONGEST_WAIT) return 'rate limited';
    // A run that has sent nothing yet, because its batch was not full, would leave no progress.
    if (isSliceOver(run, now) && (run.hasSent || run.start.batch === null)) return 'slice over';
  }
  const retryAt = run.sources.nextRetryAt();
  return run.start.ordered && !run.sources.hasDue() && retryAt !== null && retryAt > now ? 'blocked' : null;
}

function send(run: RunState, { now, mostInFlight }: RunContext, commands: RunCommand[]): void {
  const limit = Math.min(inFlightLimit(run.health, run.start.maxInFlight), mostInFlight);
  while (run.inFlight < limit && !run.recording.isFull()) {
    const reason = reasonToEnd(run, now);
    if (reason !== null) end(run, reason);
    if (reason !== null || run.pace.wait(now) > 0) return;
    const command = run.start.batch === null ? takeNext(run, now) : takeBatch(run, now);
    if (command === null) return;
    if (command === 'gone') continue;
    run.inFlight += 1;
    run.hasSent = true;
    run.pace.spend(now);
    commands.push(command);
  }
}

/** Takes the next delivery. gone: its content is not stored any more. null: none is ready. */
function takeNext(run: RunState, now: number): RunCommand | 'gone' | null {
  const delivery = run.sources.next();
  if (delivery === undefined) return null;
  if (delivery.content !== null) return { type: 'send', delivery };
  addResult(run, delivery, failedWithoutMovement(delivery, now));
  return 'gone';
}

/** Takes the next batch, as `takeNext`. */
function takeBatch(run: RunState, now: number): RunCommand | 'gone' | null {
  const taken = run.sources.nextBatch(now, { limit: run.health.batchLimit, isLate: isSliceOver(run, now) });
  if (taken.length === 0) return null;
  const deliveries = withContent(run, taken, now);
  return deliveries.length === 0 ? 'gone' : { type: 'send batch', deliveries };
}

/** Ends deliveries whose content is gone. @returns the others. */
function withContent(run: RunState, deliveries: readonly Delivery[], now: number): readonly Delivery[] {
  if (deliveries.every(({ content }) => content !== null)) return deliveries;
  return deliveries.filter((it) => {
    if (it.content === null) addResult(run, it, failedWithoutMovement(it, now));
    return it.content !== null;
  });
}

const batchDueAt = (run: RunState) => run.sources.batchDueAt(run.health.batchLimit);

/** How long the new deliveries in hand wait for more, if nothing else is to be done. null: they do not wait. */
function batchWait(run: RunState, now: number): number | null {
  const dueAt = run.inFlight === 0 && !run.sources.isReading() ? batchDueAt(run) : null;
  return dueAt !== null && dueAt > now ? dueAt - now : null;
}

/** Waits for new movements when everything is sent and recorded. The run ends when none has come for too long. */
function updateIdle(run: RunState, now: number, commands: RunCommand[]): void {
  if (run.recording.isDone() && (batchWait(run, now) ?? 0) > LONGEST_WAIT) end(run, 'idle');
  const isIdle =
    run.inFlight === 0 && run.recording.isDone() && !run.sources.hasReady() && !run.sources.isReading();
  if (isIdle && run.phase.name === 'sending') {
    run.phase = { name: 'idle', since: now };
    commands.push({ type: 'idle', isIdle });
  } else if (!isIdle && run.phase.name === 'idle') {
    run.phase = { name: 'sending', sliceEnd: now + run.start.sliceLength };
    commands.push({ type: 'idle', isIdle });
  }
  if (run.phase.name === 'idle' && now >= idleEnd(run, run.phase.since)) end(run, 'idle');
}

const idleEnd = (run: RunState, since: number) => Math.min(since + run.start.linger, run.longestRunEnd);

function record(run: RunState, now: number, commands: RunCommand[]): void {
  if (run.phase.name === 'releasing' || (run.phase.name === 'ending' && run.phase.reason === 'lost')) return;
  // What is still being expanded may be due before everything that is known here.
  const release = run.phase.name === 'ending' && run.inFlight === 0 && !run.sources.isExpanding();
  // An ordered webhook reads its next retry only after the previous result is recorded, so this result must not wait.
  const begun = run.recording.begin({ isLast: release, isAwaited: run.start.ordered && run.inFlight === 0 });
  if (begun === null) return;
  if (begun === 'later') return void commands.push({ type: 'flush soon' });
  if (run.phase.name === 'ending' && release) run.phase = { name: 'releasing', reason: run.phase.reason };
  commands.push({
    type: 'record',
    record: {
      ...begun,
      cursor: run.sources.cursor(),
      health: run.start.isHealthShared || run.health === run.recordedHealth ? null : run.health,
      healthChanges: run.healthChanges,
      rateWait: run.start.rateLimit === null ? null : run.pace.wait(now),
      lastError: run.lastError,
      disable: run.disable,
      revision: run.start.revision,
      release,
    },
  });
  run.recordedHealth = run.health;
  run.healthChanges = [];
}

/** When the run has to check its state again even if nothing happens. null: no timer is needed. */
function nextTimer(run: RunState, now: number): number | null {
  const moments = [
    run.phase.name === 'idle' ? idleEnd(run, run.phase.since) : null,
    run.sources.nextRetryAt(),
    run.sources.hasReady() && run.pace.wait(now) > 0 ? now + run.pace.wait(now) : null,
    batchDueAt(run),
  ].filter((at) => at !== null && at > now) as number[];
  return moments.length === 0 ? null : Math.min(...moments);
}

function setTimer(run: RunState, now: number, commands: RunCommand[]): void {
  const at = nextTimer(run, now);
  if (at === null || at === run.timerAt) return;
  run.timerAt = at;
  commands.push({ type: 'set timer', at });
}

const mayGoOn = ({ phase }: RunState) => phase.name === 'sending' || phase.name === 'idle';

/** The reason for which the run is over now; null: it is not. */
function reasonOfEnd(run: RunState): RunEnd | null {
  if (run.phase.name === 'releasing') return run.recording.isUnderWay() ? null : run.phase.reason;
  return run.phase.name === 'ending' && run.phase.reason === 'lost' && run.inFlight === 0
    ? run.phase.reason
    : null;
}
