import { isOfEvents } from '../../database/webhook-enums.ts';
import { createBatcher } from '../../platform/batcher.ts';
import { LEASE_SECONDS, type Lease } from '../../webhook-record/lease.ts';
import { hasBacklog, waitBeforeSending } from '../../webhook-record/waiting.ts';
import { formatBatchId, formatDeliveryId } from '../delivery-id.ts';
import { NOT_SENT } from '../posting/post.ts';
import { BATCH_OVERHEAD, eventIdOf } from '../posting/request.ts';
import type { Answer, PostRequest } from '../posting/types.ts';
import { createRun, type Run } from '../run/run.ts';
import { RETRY_DELAYS } from '../run/schedule.ts';
import type {
  Delivery,
  EndpointHealth,
  RunCommand,
  RunEnd,
  RunEvent,
  RunRecord,
  RunStart,
} from '../run/types.ts';
import { CRASHED, MAX_CRASHES, type WebhookState } from '../webhook-state.ts';
import type { LogRead } from './log-ranges.ts';
import { toNewDelivery, withoutDeleted } from './movement-log.ts';
import type { CancelTimer, Runner, RunnerOptions } from './ports.ts';
import { createPostQueue, type PostQueue, type RunShare, shareAmong } from './post-queue.ts';
import { createResultWriter, ResultsRefusedError, type ResultWriter } from './result-writer.ts';

/**
 * The story of a delivery. A wake-up (wake.ts) has added the webhook's job.
 *
 * 1. `runJob` reads the webhook's state, and ends if nothing is due. Jobs that it leaves say when to look again.
 * 2. `run` takes the lease: across all processes, one run at a time sends for a webhook. Another run may have the lease, or lose it to this one.
 * 3. `startRun` carries out what the state machine (run/run.ts) decides: it reads the log and the due retries, sends POSTs, and records results.
 * 4. The last record gives the lease back. `runJob` reads the state once more, and makes another run while something is due.
 *
 * The state machine answers for what can go wrong within a run; it ends with a `RunEnd`. Beyond a run, a webhook whose results MySQL refuses, or whose
 * runs keep ending their process, is paused.
 */

const SECOND = 1_000;

/** If a run still has something to send after this long, it ends, and its webhook goes to the end of the queue. */
const TIME_SLICE = 3 * SECOND;

/** A run that has sent everything waits this long for new movements. A new movement then needs no new job and no new lease. */
const LINGER = 3 * SECOND;

/** A run older than this ends the next time it is idle, so that a process that was added gets its share of the webhooks. */
const LONGEST_RUN = 60 * SECOND;

/** Runs of one process that may linger at a time. Beyond that, the run that has lingered the longest ends. */
const MAX_LINGERING = 4_000;

/** How often leases are renewed. Recording results also renews a lease, but a run whose endpoint hangs has no results to record. */
const RENEW_EVERY = 4 * SECOND;

/** The most bytes of a batch with more than one event. */
export const MAX_BATCH_BYTES = 1024 * 1024;

/** While the DNS servers are silent, a webhook looks again after this long. Milliseconds. */
const DNS_WAIT = 5 * SECOND;

/** Two reads of the same due time give slightly different waits. Smaller differences than this are ignored. Milliseconds. */
const WAIT_TOLERANCE = 100;

export function createRunner({
  log,
  metrics,
  traces,
  delays = RETRY_DELAYS,
  timeSlice = TIME_SLICE,
  longestRun = LONGEST_RUN,
  linger = LINGER,
  maxLingering = MAX_LINGERING,
  ...ports
}: RunnerOptions): Runner {
  const { webhooks, jobs, clock, dns } = ports;
  const lingering = new Set<ActiveRun>();
  const tools: RunTools = {
    ...ports,
    log,
    traces,
    writer: createResultWriter(ports.results, clock, {
      log,
      metrics,
      onLocked: (lease) => void renewOne(lease),
    }),
    posts: createPostQueue(clock),
    share: () => shareAmong(activeRuns.size - lingering.size),
    onIdle(run, isIdle) {
      lingering.delete(run);
      if (isIdle) lingering.add(run);
      const [longest] = lingering;
      if (longest === undefined || lingering.size <= maxLingering) return;
      lingering.delete(longest);
      longest.stop();
    },
  };

  const activeRuns = new Map<string, ActiveRun>();
  const leases = new Set<Lease>();
  let isStopping = false;
  let cancelRenewal: CancelTimer | null = null;

  /** Renews the leases every four seconds while there are any. */
  function renewLater(): void {
    cancelRenewal = clock.after(RENEW_EVERY, () => {
      cancelRenewal = null;
      if (leases.size === 0) return;
      void renew([...leases]);
      renewLater();
    });
  }

  async function renew(held: readonly Lease[]): Promise<void> {
    const began = clock.now();
    try {
      for (const { webhookId } of await webhooks.renewLeases(held)) activeRuns.get(webhookId)?.renewed(began);
    } catch (err) {
      log.warn({ err }, 'leases not renewed');
    }
  }

  /** Leases of records that failed together are renewed together. */
  const renewOne = createBatcher(async (held: readonly Lease[]) => {
    await renew(held);
    return held.map(() => undefined);
  });

  /** @returns why the run ended; null: it did not get its lease, or the webhook was paused. */
  async function run(state: WebhookState): Promise<RunEnd | null> {
    const { id: webhookId, revision } = state.settings;
    const activeRun = startRun(tools, state, {
      retryDelays: delays,
      sliceLength: timeSlice,
      longestRun,
      linger,
    });
    // Registered before it takes the lease. Once MySQL shows the lease, wake-ups are only published to the run and add no job.
    activeRuns.set(webhookId, activeRun);
    try {
      const began = clock.now();
      const { lastToken, lastWrites } = state;
      const lease = await webhooks.takeLease({ webhookId, revision, lastToken, lastWrites });
      if (lease === null) return null;
      leases.add(lease);
      if (cancelRenewal === null && !isStopping) renewLater();
      try {
        const end = await activeRun.send(lease, began);
        if (end === 'lost') {
          metrics?.leaseLost();
          log.warn({ webhookId }, 'lease lost: another run sends on');
        }
        return end;
      } catch (err) {
        if (!(err instanceof ResultsRefusedError)) throw err;
        const outcome = await webhooks.quarantine(
          { id: webhookId, customerId: state.settings.customer_id },
          err.message,
        );
        if (outcome !== 'paused') throw err;
        log.error({ err, webhookId }, 'webhook paused: MySQL refuses the results of its deliveries');
        return null;
      } finally {
        leases.delete(lease);
      }
    } finally {
      if (activeRuns.get(webhookId) === activeRun) activeRuns.delete(webhookId);
      lingering.delete(activeRun);
    }
  }

  return {
    async runJob(webhookId) {
      const sliceEnd = clock.now() + timeSlice;
      for (;;) {
        const state = await webhooks.readState(webhookId);
        if (state?.settings.status !== 'active') return;
        const { openFor } = state;
        const wait = waitBeforeSending(state);
        // Wake-ups add no job while the circuit is open, so this one leaves a job for when it is half-open, also with nothing to send yet.
        const left = wait === null ? openFor : Math.min(wait, openFor ?? wait);
        if (left === null) return;
        if (wait === null || wait > 0 || clock.now() >= sliceEnd || isStopping) {
          await leaveJob(webhookId, Math.ceil(left));
          return;
        }
        // BullMQ has restarted a job that it considers stalled. The run is still active in this process and continues.
        if (activeRuns.has(webhookId)) {
          await leaveJob(webhookId, timeSlice);
          return;
        }
        if (state.crashCount >= MAX_CRASHES) {
          const outcome = await webhooks.quarantine(
            { id: webhookId, customerId: state.settings.customer_id },
            CRASHED,
          );
          if (outcome === 'paused')
            log.error({ webhookId }, 'webhook paused: its runs keep ending the process');
          if (outcome !== 'many') return;
          log.error({ webhookId }, 'webhook not paused: the runs of many webhooks keep ending the process');
        }
        if (dns?.mayAsk() === false || (await run(state)) === 'no DNS') {
          await jobs.add(webhookId, DNS_WAIT);
          return;
        }
      }
    },
    notify(webhookIds, reread) {
      for (const id of webhookIds) activeRuns.get(id)?.notify(reread);
    },
    stop() {
      isStopping = true;
      dns?.stop();
      cancelRenewal?.();
      tools.writer.stop();
      for (const run of activeRuns.values()) run.stop();
    },
  };

  /**
   * BullMQ keeps only the last job that is added while one is active, so this job may replace the job of a wake-up. The cause of the
   * wake-up was committed before, so another read of the state finds it.
   */
  async function leaveJob(webhookId: string, wait: number): Promise<void> {
    await jobs.add(webhookId, wait);
    if (wait === 0) return;
    const state = await webhooks.readState(webhookId);
    const next = state === null ? null : waitBeforeSending(state);
    if (next !== null && next < wait - WAIT_TOLERANCE) await jobs.add(webhookId, next);
  }
}

/** Shared by all runs of a process. */
export interface RunTools extends Omit<RunnerOptions, 'results' | 'jobs'> {
  writer: ResultWriter;
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
  /** See `Runner`. May be called before `send`. */
  notify(reread: boolean): void;
  stop(): void;
}

type Timing = Pick<RunStart, 'retryDelays' | 'sliceLength' | 'longestRun' | 'linger'>;

/** Starts a run and its first read of the log. The run sends nothing before it has its lease. */
function startRun(tools: RunTools, state: WebhookState, timing: Timing): ActiveRun {
  const { log, movementLog, retries, webhooks, writer, poster, traces, dns, share, clock, random, onIdle } =
    tools;
  const { id: webhookId, customer_id: customerId, revision, last_error: lastError } = state.settings;
  const settings = webhooks.openSettings(state.settings);
  const ofEvents = isOfEvents(state.settings.event);
  const isExtended = state.settings.body === 'extended';
  const { sentThrough, highestRecordedId, filtersVersion, rateWait, retryIn, replaying } = state;
  const { ordered, maxInFlight, rateLimit, health, batch } = settings;
  const start: RunStart = {
    ...timing,
    revision,
    ordered,
    maxInFlight,
    rateLimit,
    rateWait,
    health,
    lastError,
    cursor: { sentThrough, highestRecordedId },
    hasBacklog: hasBacklog(state),
    filtersVersion,
    retryIn,
    replaying,
    batch:
      batch === null
        ? null
        : {
            ...batch,
            dueIn: state.batchIn,
            maxBytes: MAX_BATCH_BYTES - BATCH_OVERHEAD,
            bytesOf: ({ content }) => (content === null ? 0 : settings.bytesOf(content) + BATCH_OVERHEAD),
          },
  };
  const posts = tools.posts.open(customerId, settings.origin);
  const readLog = (after: number, highestRecordedId: number) =>
    movementLog.read({
      webhookId,
      customerId,
      accountsDeleted: state.accountsDeleted,
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
          { type: 'expansion failed' },
        );
        return;
      case 'send':
        posts.add({ begin: () => post(command.delivery), giveBack: () => notSent([command.delivery]) });
        return;
      case 'send batch':
        posts.addBatch({
          begin: () => postBatch(command.deliveries),
          giveBack: () => notSent(command.deliveries),
        });
        return;
      case 'give back':
        posts.giveBack();
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
    const { movements, ...read } = await reading;
    return { type: 'log read', ...read, deliveries: await select(movements.map(toNewDelivery)) };
  }

  async function readDue(limit: number): Promise<RunEvent> {
    const read = await retries.read(webhookId, { ordered: start.ordered, limit, ofEvents, isExtended });
    return { type: 'retries read', ...read, deliveries: await select(read.deliveries) };
  }

  async function select(read: Delivery[]): Promise<Delivery[]> {
    const deliveries = withoutDeleted(read, state.deletedAccounts);
    await traces?.read(deliveries);
    return deliveries;
  }

  function post(delivery: Delivery): void {
    const id = deliveryIdOf(delivery);
    const startedAt = clock.wallTime();
    exchange(delivery, (timestamp) => settings.request(contentOf(delivery), id, timestamp), {
      startedAt,
      answered(answer, durationMs, bytes) {
        posts.ended();
        report({ type: 'answered', delivery, answer, startedAt, durationMs, bytes });
      },
    });
  }

  function postBatch(deliveries: readonly Delivery[]): void {
    const [first] = deliveries;
    if (first === undefined) throw new Error('a batch without deliveries cannot be sent');
    const events = deliveries.map((it) => ({ id: deliveryIdOf(it), content: contentOf(it) }));
    const startedAt = clock.wallTime();
    const batchId = formatBatchId({ webhookId, first: first.subjectId, startedAt });
    exchange(first, (timestamp) => settings.batchRequest(events, batchId, timestamp), {
      startedAt,
      answered(answer, durationMs, bytes) {
        posts.batchEnded();
        const ids = events.map(({ id }) => eventIdOf(id));
        report({ type: 'batch answered', deliveries, ids, answer, startedAt, durationMs, bytes });
      },
    });
  }

  /** Reports that a POST was given back before it began. Deferred, because the state machine may be at work. */
  function notSent(deliveries: readonly Delivery[]): void {
    const [first] = deliveries;
    if (first === undefined) return;
    const of = { answer: NOT_SENT, startedAt: clock.wallTime(), durationMs: 0, bytes: 0 };
    queueMicrotask(() =>
      report(
        batch === null
          ? { type: 'answered', delivery: first, ...of }
          : { type: 'batch answered', deliveries, ids: [], ...of },
      ),
    );
  }

  const deliveryIdOf = ({ subjectId }: Delivery) =>
    formatDeliveryId({ webhookId, subjectId: String(subjectId) });

  function contentOf({ content }: Delivery): NonNullable<Delivery['content']> {
    if (content === null) throw new Error('a delivery without its content cannot be sent');
    return content;
  }

  /** Sends one POST. @param traced the delivery whose trace the POST belongs to. */
  function exchange(
    traced: Delivery,
    build: (timestamp: number) => PostRequest,
    {
      startedAt,
      answered,
    }: {
      startedAt: number;
      answered(answer: Answer, durationMs: number, bytes: number): void;
    },
  ): void {
    const began = clock.now();
    const end = (answer: Answer, bytes: number, ended = clock.now()) =>
      answered(answer, ended - began, bytes);
    // The lease may have been lost while the delivery waited. Then another run sends it.
    if (isStopped || isLost || began > heldUntil) {
      report({ type: 'stop' });
      // Deferred, because many POSTs may wait for this slot and each of them would recurse here.
      queueMicrotask(() => end(NOT_SENT, 0));
      return;
    }
    const request = build(Math.floor(startedAt / 1_000));
    const answering =
      traces?.post(request, { webhookId, customerId, delivery: traced }) ?? poster.post(request);
    const bytes = Buffer.byteLength(request.body);
    // The answer to a batch is read before the values of custom headers are removed from it.
    dns?.asks(customerId);
    void answering.then(async (answer) => {
      const ended = clock.now();
      const isSilent =
        answer.isUnresolved === true && (await dns?.isSilentFor(customerId, ended - began)) === true;
      if (isSilent) report({ type: 'no DNS' });
      end(
        { ...answer, shown: settings.redact(answer.body), aborted: answer.aborted || isSilent },
        bytes,
        ended,
      );
    });
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
