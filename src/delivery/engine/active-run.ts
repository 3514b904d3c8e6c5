import { isOfEvents } from '../../database/webhook-enums.ts';
import type { Log } from '../../platform/log.ts';
import { formatDeliveryId } from '../delivery.ts';
import type { AttemptTraces } from '../posting/attempt-traces.ts';
import { type Answer, NOT_SENT } from '../posting/post.ts';
import type { EndpointHealth } from '../run/endpoint-health.ts';
import { createRun, type Run } from '../run/run.ts';
import type { Delivery, RunCommand, RunEnd, RunEvent, RunRecord, RunStart } from '../run/types.ts';
import { hasBacklog, type WebhookState } from '../webhook-state.ts';
import { LEASE_SECONDS, type Lease } from './lease.ts';
import type { LogRead } from './log-cache.ts';
import type { CancelTimer, EnginePorts } from './ports.ts';
import type { PostQueue, RunShare } from './post-queue.ts';
import type { Settings } from './request.ts';
import type { ResultWriter } from './result-writer.ts';
import { toNewDelivery, withoutDeleted } from './retries.ts';

/** The I/O of a delivery run. Carries out the commands of the state machine (run/run.ts) and reports events to it. */

/** Shared by all runs of a process. */
export interface RunTools
  extends Pick<EnginePorts, 'movementLog' | 'retries' | 'webhooks' | 'poster' | 'clock' | 'random'> {
  log: Log;
  writer: ResultWriter;
  /** `undefined`: traces are off. */
  traces?: AttemptTraces | undefined;
  posts: PostQueue;
  share: () => RunShare;
  /** Called when a run starts or stops waiting for new movements. */
  onIdle: (run: ActiveRun, isIdle: boolean) => void;
}

/** A delivery run with its I/O. */
export interface ActiveRun {
  /**
   * Sends until nothing is left to send, the time slice is over, or something else ends the run.
   * @param takenAt when taking the lease began, on the tools' clock.
   * @returns why the run ended. By then, the run has given its lease back or lost it.
   * @throws what MySQL throws, after all POSTs in flight have ended. Deliveries without a recorded result are sent again later.
   */
  send(lease: Lease, takenAt: number): Promise<RunEnd>;
  /** The lease was renewed at this moment. Recording results also renews it. */
  renewed(at: number): void;
  /** Tells the run to look for new movements. With `reread`, the run ends so that its webhook is read again. May be called before `send`. */
  notify(reread: boolean): void;
  /** Ends the run as soon as its POSTs in flight have ended. */
  stop(): void;
}

export interface RunOptions {
  state: WebhookState;
  settings: Settings;
  revision: number;
  delays: readonly number[];
  sliceLength: number;
  longestRun: number;
  linger: number;
}

/** Starts a run and its first read of the log. The run sends nothing before it has its lease. */
export function startRun(tools: RunTools, options: RunOptions): ActiveRun {
  const { log, movementLog, retries, webhooks, writer, poster, traces, share, clock, random, onIdle } = tools;
  const { state, settings } = options;
  const { id: webhookId } = state.settings;
  const { customerId } = state;
  const ofEvents = isOfEvents(state.settings.event);
  const isExtended = state.settings.body === 'extended';
  const start = toRunStart(options);
  const posts = tools.posts.open(customerId, settings.origin);
  const readLog = (after: number, highestRecordedId: number) =>
    movementLog.read({
      webhookId,
      customerId,
      filters: state.filters,
      after,
      highestRecordedId,
      limit: share().readSize,
      isExtended,
    });
  // This read runs while the lease is being taken. If the run gets the lease, the state that the read is based on is still valid.
  let firstRead: Promise<LogRead> | null = start.hasBacklog
    ? readLog(start.cursor.sentThrough, start.cursor.highestRecordedId)
    : null;
  firstRead?.catch(() => {});

  /** null until the run has its lease. `earlyEvents` keeps the events until then. */
  let machine: Run | null = null;
  const earlyEvents: RunEvent[] = [];
  let lease: Lease;
  /** No other run can have the lease before this moment. A process that was frozen beyond it must not send its waiting deliveries. */
  let heldUntil = 0;
  let cancelTimer: CancelTimer = () => {};
  let failure: { error: unknown } | null = null;
  let openings = start.health.circuitOpenings;
  let isLost = false;
  let isStopped = false;
  let finish: (end: RunEnd) => void = () => {};

  /** Reports an event to the state machine, and carries out its commands. */
  function report(event: RunEvent): void {
    isLost ||= event.type === 'lease lost';
    if (machine === null) return void earlyEvents.push(event);
    const { mostInFlight } = share();
    for (const command of machine.handle(event, { now: clock.now(), random, mostInFlight }))
      carryOut(command);
  }

  /** Reports the event that `work` results in. */
  function reportResult(work: Promise<RunEvent>, onFailure: RunEvent = { type: 'failed' }): void {
    work.then(report, (error: unknown) => {
      failure ??= { error };
      report(onFailure);
    });
  }

  function carryOut(command: RunCommand): void {
    switch (command.type) {
      case 'read log':
        reportResult(readNext(command.after, command.highestRecordedId));
        return;
      case 'read retries':
        reportResult(readDue(command.limit));
        return;
      case 'expand replay':
        reportResult(
          retries.expandReplay(webhookId).then((expanded) => ({ type: 'replay expanded', ...expanded })),
        );
        return;
      case 'send':
        posts.add(() => post(command.delivery));
        return;
      case 'flush soon':
        writer.flushSoon(() => report({ type: 'flush due' }));
        return;
      case 'record':
        reportResult(record(command.record), { type: 'lease lost' });
        return;
      case 'set timer':
        cancelTimer();
        cancelTimer = clock.after(Math.max(1, command.at - clock.now()), () => report({ type: 'timer' }));
        return;
      case 'idle':
        posts.caughtUp();
        onIdle(run, command.isIdle);
        return;
      case 'end':
        cancelTimer();
        finish(command.reason);
        return;
    }
  }

  async function readNext(after: number, highestRecordedId: number): Promise<RunEvent> {
    const reading = firstRead ?? readLog(after, highestRecordedId);
    firstRead = null;
    const { movements, through, complete, filtersVersion } = await reading;
    const deliveries = withoutDeleted(movements.map(toNewDelivery), state.deletedAccounts);
    await traces?.read(deliveries);
    return { type: 'log read', deliveries, through, complete, filtersVersion };
  }

  async function readDue(limit: number): Promise<RunEvent> {
    const read = await retries.read(webhookId, { ordered: start.ordered, limit, ofEvents, isExtended });
    const deliveries = withoutDeleted(read.deliveries, state.deletedAccounts);
    await traces?.read(deliveries);
    return { type: 'retries read', ...read, deliveries };
  }

  function post(delivery: Delivery): void {
    const { movement } = delivery;
    if (movement === null) throw new Error('a delivery without its movement cannot be sent');
    const id = formatDeliveryId({ webhookId, transactionId: String(delivery.transactionId) });
    const startedAt = clock.wallTime();
    const began = clock.now();
    const answered = (answer: Answer) => {
      posts.ended();
      report({ type: 'answered', delivery, answer, startedAt, durationMs: clock.now() - began });
    };
    // The lease may have been lost while the delivery waited. Then another run sends it.
    if (isStopped || isLost || began > heldUntil) {
      report({ type: 'stop' });
      // Deferred, because many POSTs may wait for this slot and each of them would recurse here.
      queueMicrotask(() => answered(NOT_SENT));
      return;
    }
    const request = settings.request(movement, id, Math.floor(startedAt / 1_000));
    const answering = traces?.post(request, { webhookId, customerId, delivery }) ?? poster.post(request);
    void answering.then((answer) => answered({ ...answer, body: settings.redact(answer.body) }));
  }

  async function record(it: RunRecord): Promise<RunEvent> {
    const began = clock.now();
    const revision = await writer.write({ lease, customerId, record: it, now: began });
    if (revision === null) return { type: 'lease lost' };
    run.renewed(began);
    if (it.health !== null) logFirstOpening(it.health, it.lastError);
    lease = { ...lease, writes: lease.writes + 1 };
    if (it.disable !== null) {
      await webhooks.disable({ id: webhookId, customerId, revision: it.revision }, it.disable);
    }
    return { type: 'recorded', revision };
  }

  /** Once for a streak of failures: a success resets the number of openings. */
  function logFirstOpening({ circuitOpenings }: EndpointHealth, error: string | null): void {
    if (openings === 0 && circuitOpenings > 0) {
      log.warn({ webhookId, error }, 'endpoint fails: its circuit has opened');
    }
    openings = circuitOpenings;
  }

  const run: ActiveRun = {
    async send(taken, takenAt) {
      lease = taken;
      run.renewed(takenAt);
      machine = createRun(start, clock.now());
      const ended = new Promise<RunEnd>((resolve) => {
        finish = resolve;
      });
      report({ type: 'started' });
      for (const event of earlyEvents) report(event);
      const end = await ended;
      if (failure !== null) throw failure.error;
      return end;
    },
    renewed(at) {
      heldUntil = at + LEASE_SECONDS * 1_000;
    },
    notify: (reread) => report({ type: 'woken', reread }),
    stop() {
      isStopped = true;
      report({ type: 'stop' });
    },
  };
  return run;
}

function toRunStart({ state, settings, ...options }: RunOptions): RunStart {
  const { sentThrough, highestRecordedId } = state;
  const { ordered, maxInFlight, rateLimit, health } = settings;
  return {
    revision: options.revision,
    ordered,
    maxInFlight,
    rateLimit,
    rateWait: state.rateWait,
    health,
    lastError: state.settings.last_error,
    cursor: { sentThrough, highestRecordedId },
    hasBacklog: hasBacklog(state),
    filtersVersion: state.filtersVersion,
    retryIn: state.retryIn,
    replaying: state.replaying,
    retryDelays: options.delays,
    sliceLength: options.sliceLength,
    longestRun: options.longestRun,
    linger: options.linger,
  };
}
