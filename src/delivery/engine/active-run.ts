import { isOfEvents } from '../../database/webhook-enums.ts';
import { LEASE_SECONDS, type Lease } from '../../webhook-record/lease.ts';
import { settingsIdOf } from '../../webhook-record/record.ts';
import { hasBacklog } from '../../webhook-record/waiting.ts';
import { BATCH_OVERHEAD, type Settings } from '../posting/request.ts';
import { createRun, type Run } from '../run/run.ts';
import type {
  Delivery,
  EndpointHealth,
  RunCommand,
  RunEnd,
  RunEvent,
  RunRecord,
  RunStart,
} from '../run/types.ts';
import type { WebhookState } from '../webhook-state.ts';
import type { LogRead } from './log-ranges.ts';
import { toNewDelivery } from './movement-log.ts';
import type { CancelTimer, RunnerOptions } from './ports.ts';
import type { RunShare } from './post-queue.ts';
import type { ResultWriter } from './result-writer.ts';
import { createSender, type SenderTools } from './send-posts.ts';

/** A delivery run with its I/O: carries out what the state machine decides, and reports to it what came of it. */

/** The most bytes of a batch with more than one event. */
export const MAX_BATCH_BYTES = 1024 * 1024;

/** Shared by all runs of a process. */
export interface RunTools extends Omit<RunnerOptions, 'results' | 'jobs' | 'traces'>, SenderTools {
  writer: ResultWriter;
  share: () => RunShare;
  /** Called when a run starts or stops waiting for new movements. */
  onIdle: (run: ActiveRun, isIdle: boolean) => void;
}

/** A delivery run with its I/O. */
export interface ActiveRun {
  /** null: its webhook has no template. */
  templateId: string | null;
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
export function startRun(tools: RunTools, state: WebhookState, timing: Timing): ActiveRun {
  const { webhooks, writer, share, clock, random, onIdle } = tools;
  const { id, customer_id: customerId, template_id: templateId } = state.settings;
  const settings = webhooks.openSettings(state.settings);
  const start = toRunStart(state, settings, timing);
  /** null until the run has its lease. `earlyEvents` keeps the events until then. */
  let machine: Run | null = null;
  const earlyEvents: RunEvent[] = [];
  let cancelTimer: CancelTimer = () => {};
  let failure: { error: unknown } | null = null;
  let isLost = false;
  let isStopped = false;
  let finish: (end: RunEnd) => void = () => {};

  const held = holdLease(tools, state, start.health);
  const sender = createSender(
    tools,
    { id, customerId, templateId, settings },
    { mayPost: (now) => !isStopped && !isLost && held.isHeld(now), report },
  );
  const reads = openReads(tools, state, start);

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
        reportResult(reads.log(command.after, command.highestRecordedId));
        return;
      case 'read retries':
        reportResult(reads.retries(command.limit));
        return;
      case 'expand replay':
        reportResult(reads.expandReplay(), { type: 'expansion failed' });
        return;
      case 'send':
        sender.send(command.delivery);
        return;
      case 'send batch':
        sender.sendBatch(command.deliveries);
        return;
      case 'give back':
        sender.giveBack();
        return;
      case 'flush soon':
        writer.flushSoon(() => report({ type: 'flush due' }));
        return;
      case 'record':
        reportResult(held.record(command.record), { type: 'lease lost' });
        return;
      case 'set timer':
        cancelTimer();
        cancelTimer = clock.after(Math.max(1, command.at - clock.now()), () => report({ type: 'timer' }));
        return;
      case 'idle':
        sender.caughtUp();
        onIdle(run, command.isIdle);
        return;
      case 'end':
        cancelTimer();
        finish(command.reason);
        return;
    }
  }

  const run: ActiveRun = {
    templateId,
    async send(lease, takenAt) {
      held.take(lease, takenAt);
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
    renewed: held.renewed,
    notify: (reread) => report({ type: 'woken', reread }),
    stop() {
      isStopped = true;
      report({ type: 'stop' });
    },
  };
  return run;
}

/** What the state machine begins with. */
function toRunStart(state: WebhookState, settings: Settings, timing: Timing): RunStart {
  const { sentThrough, highestRecordedId, filtersVersion, rateWait, retryIn, replaying } = state;
  const { ordered, maxInFlight, rateLimit, health, batch } = settings;
  return {
    ...timing,
    revision: state.settings.revision,
    ordered,
    maxInFlight,
    rateLimit,
    rateWait,
    health,
    isHealthShared: state.settings.template_id !== null,
    lastError: state.settings.last_error,
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
}

/** The reads of a run. The first read of the log begins at once. */
function openReads(
  { movementLog, retries, traces, share }: RunTools,
  state: WebhookState,
  { hasBacklog, cursor, ordered }: RunStart,
) {
  const { id: webhookId, customer_id: customerId, event, body } = state.settings;
  const ofEvents = isOfEvents(event);
  const isExtended = body === 'extended';
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
  let firstRead: Promise<LogRead> | null = hasBacklog
    ? readLog(cursor.sentThrough, cursor.highestRecordedId)
    : null;
  firstRead?.catch(() => {});

  async function select(read: Delivery[]): Promise<Delivery[]> {
    const deliveries = withoutDeleted(read, state.deletedAccounts);
    await traces?.read(deliveries);
    return deliveries;
  }

  return {
    async log(after: number, highestRecordedId: number): Promise<RunEvent> {
      const reading = firstRead ?? readLog(after, highestRecordedId);
      firstRead = null;
      const { movements, ...read } = await reading;
      return { type: 'log read', ...read, deliveries: await select(movements.map(toNewDelivery)) };
    },
    async retries(limit: number): Promise<RunEvent> {
      const read = await retries.read(webhookId, { ordered, limit, ofEvents, isExtended });
      return { type: 'retries read', ...read, deliveries: await select(read.deliveries) };
    },
    expandReplay: (): Promise<RunEvent> =>
      retries.expandReplay(webhookId).then((expanded) => ({ type: 'replay expanded', ...expanded })),
  };
}

/** Treats movements of accounts that are being deleted as deleted already. Their deliveries are not sent and fail for good. */
function withoutDeleted(deliveries: readonly Delivery[], deletedAccounts: readonly string[]): Delivery[] {
  const deleted = new Set(deletedAccounts);
  return deliveries.map((delivery) =>
    deleted.has(delivery.content?.account_id ?? '') ? { ...delivery, content: null } : delivery,
  );
}

/** The lease of a run, and the records that it allows. */
function holdLease(
  { webhooks, writer, clock, log }: RunTools,
  { settings: webhook }: WebhookState,
  health: EndpointHealth,
) {
  const { id: webhookId, customer_id: customerId } = webhook;
  const settings = { id: settingsIdOf(webhook), revision: webhook.settings_revision };
  let lease: Lease;
  /** No other run can have the lease before this moment. A process that was frozen beyond it must not send its waiting deliveries. */
  let heldUntil = 0;
  let openings = health.circuitOpenings;
  let isProbe = webhook.template_id !== null && health.recoverySuccesses === 0;

  function renewed(at: number): void {
    heldUntil = at + LEASE_SECONDS * 1_000;
  }

  /** Once for a streak of failures: a success resets the number of openings. */
  function logFirstOpening({ circuitOpenings }: EndpointHealth, error: string | null): void {
    if (openings === 0 && circuitOpenings > 0) {
      log.warn({ webhookId, error }, 'endpoint fails: its circuit has opened');
    }
    openings = circuitOpenings;
  }

  return {
    renewed,
    isHeld: (now: number) => now <= heldUntil,
    take(taken: Lease, at: number): void {
      lease = taken;
      renewed(at);
    },
    async record(it: RunRecord): Promise<RunEvent> {
      const began = clock.now();
      const recorded = await writer.write({ lease, customerId, settings, record: it, now: began });
      if (recorded === null) return { type: 'lease lost' };
      renewed(began);
      const after = recorded.health ?? it.health;
      if (after !== null) logFirstOpening(after, it.lastError);
      if (isProbe && recorded.health?.recoverySuccesses !== 0) {
        isProbe = false;
        webhooks.wakeAfterProbe();
      }
      lease = { ...lease, writes: lease.writes + 1 };
      if (it.disable !== null) {
        await webhooks.disable(settings, it.disable);
      }
      return { type: 'recorded', ...recorded };
    },
  };
}
