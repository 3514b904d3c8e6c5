import { toRunStart } from '../../../src/deliveries/active-run.ts';
import { SMALL_BACKLOG } from '../../../src/deliveries/fair-dispatch.ts';
import type { Answer } from '../../../src/deliveries/posting/post.ts';
import { createRun, type Run } from '../../../src/deliveries/run/run.ts';
import type { Delivery, RunCommand, RunEvent, RunRecord } from '../../../src/deliveries/run/types.ts';
import type { WebhookState } from '../../../src/deliveries/webhook-state.ts';
import { describe } from './description.ts';
import { ABORTED } from './endpoint.ts';
import type { Process } from './process.ts';
import { between } from './random.ts';
import type { ActiveRun } from './run-handles.ts';
import { expandReplay, readLogOf, readRetriesOf } from './run-reads.ts';
import { sendPost } from './send-post.ts';
import { toSettings } from './settings.ts';
import { ask, happens, latency, note, type World } from './world.ts';
import { disableWebhook, type Lease, type Recorded, recordResults, renewLease } from './writes.ts';

const FLUSH_AFTER = 25;
const RENEW_EVERY = 4_000;

/** How often pRetry repeats a record while MySQL is unreachable. */
const REPEATS = 5;

export function startRun(world: World, process: Process, state: WebhookState, name: string): ActiveRun {
  const { timeline, tables, tuning, checks, random } = world;
  const settings = toSettings(state.settings);
  const { revision } = state.settings;
  const start = toRunStart({ state, settings, revision, ...tuning });
  const clock = () => timeline.now + process.clockOffset;

  let machine: Run | null = null;
  const early: RunEvent[] = [];
  let lease: Lease = { token: '', writes: 0 };
  let timer = 0;
  let sent = 0;
  let isLost = false;
  let finish: () => void = () => {};

  const run: ActiveRun = {
    name,
    process,
    start,
    lease: null,
    isOver: false,
    hasFailed: false,
    inFlight: 0,
    isIdle: false,
    send(taken, finished) {
      lease = taken;
      run.lease = taken;
      finish = finished;
      machine = createRun(start, clock());
      checks.runStarts(run);
      renewLater();
      dispatch({ type: 'started' });
      for (const event of early) dispatch(event);
    },
    notify: (reread) => dispatch({ type: 'woken', reread }),
    stop: () => dispatch({ type: 'stop' }),
  };

  // Read while the lease is being taken, so its snapshot may be older.
  let firstRead: { event: RunEvent | null; hasFailed: boolean; waiting: boolean } | null = null;
  if (start.hasBacklog) {
    const first = { event: null as RunEvent | null, hasFailed: false, waiting: false };
    firstRead = first;
    readLogOf(
      world,
      process,
      { state, after: start.logFrom, highestRecordedId: start.cursor.highestRecordedId },
      {
        done(event) {
          first.event = event;
          if (first.waiting) dispatch(event);
        },
        fail() {
          first.hasFailed = true;
          if (first.waiting) fail();
        },
      },
    );
  }
  return run;

  function dispatch(event: RunEvent): void {
    if (machine === null) return void early.push(event);
    if (run.isOver) return;
    checks.happens(run, event);
    const commands = machine.handle(event, { now: clock(), random });
    if (world.trace !== null) {
      note(world, name, `${describe(event)} → ${commands.map(describe).join('; ') || 'nothing'}`);
    }
    for (const command of commands) carryOut(command);
  }

  function fail(): void {
    run.hasFailed = true;
    dispatch({ type: 'failed' });
  }

  /** The record cannot be written. */
  function lose(): void {
    run.hasFailed = true;
    isLost = true;
    dispatch({ type: 'lease lost' });
  }

  function carryOut(command: RunCommand): void {
    checks.commanded(run, command);
    switch (command.type) {
      case 'read log':
        takeLog(command.after, command.highestRecordedId);
        return;
      case 'read retries':
        readRetriesOf(
          world,
          process,
          { ordered: start.ordered, limit: command.limit },
          { done: dispatch, fail },
        );
        return;
      case 'expand replay':
        expandReplay(world, process, { done: dispatch, fail });
        return;
      case 'send':
        sent += 1;
        run.inFlight += 1;
        if (sent <= SMALL_BACKLOG) post(command.delivery);
        else timeline.after(between(random, 0, 2), process, () => post(command.delivery));
        return;
      case 'flush soon':
        timeline.after(FLUSH_AFTER, process, () => dispatch({ type: 'flush due' }));
        return;
      case 'record':
        write({ lease, record: command.record, runNow: clock() }, REPEATS);
        return;
      case 'set timer': {
        timer += 1;
        const mine = timer;
        timeline.after(Math.max(1, command.at - clock()), process, () => {
          if (mine === timer) dispatch({ type: 'timer' });
        });
        return;
      }
      case 'idle':
        sent = 0;
        run.isIdle = command.isIdle;
        return;
      case 'end':
        timer += 1;
        run.isOver = true;
        finish();
        return;
    }
  }

  function takeLog(after: number, highestRecordedId: number): void {
    const first = firstRead;
    firstRead = null;
    if (first === null) {
      readLogOf(world, process, { state, after, highestRecordedId }, { done: dispatch, fail });
      return;
    }
    const { event } = first;
    first.waiting = true;
    // An answer that has already arrived is still an event of its own.
    if (event !== null) timeline.after(0, process, () => dispatch(event));
    else if (first.hasFailed) timeline.after(0, process, fail);
  }

  function post(delivery: Delivery): void {
    const { transactionId: id } = delivery;
    const sentAt = timeline.now;
    const answered = (answer: Answer) => {
      run.inFlight -= 1;
      const durationMs = timeline.now - sentAt;
      dispatch({ type: 'answered', delivery, answer, startedAt: sentAt + process.clockOffset, durationMs });
    };
    if (isLost) {
      timeline.after(0, process, () => answered(ABORTED));
      return;
    }
    sendPost(world, { run, id, delivery, sentAt }, answered);
  }

  function write(request: { lease: Lease; record: RunRecord; runNow: number }, repeats: number): void {
    timeline.after(latency(world), null, () => {
      if (!process.alive && random() < 0.5) return;
      const isConnectionError = happens(world, world.faults.record);
      const outcome = isConnectionError && random() < 0.5 ? null : commit(request);
      if (!isConnectionError && outcome !== null) {
        return timeline.after(latency(world), process, () => recorded(outcome, request.record));
      }
      timeline.after(250, process, () => (repeats === 0 ? lose() : write(request, repeats - 1)));
    });
  }

  function commit(request: { lease: Lease; record: RunRecord; runNow: number }): [Recorded, number] {
    const { health } = tables.cursor;
    const outcome = recordResults(tables, timeline.now, request);
    const wroteHealth = tables.cursor.health !== health;
    if (outcome === 'written') checks.recorded(run, request.record, wroteHealth);
    return [outcome, tables.webhook.revision];
  }

  function recorded([outcome, current]: [Recorded, number], record: RunRecord): void {
    if (outcome === 'lost') {
      isLost = true;
      dispatch({ type: 'lease lost' });
      return;
    }
    lease = { ...lease, writes: lease.writes + 1 };
    if (record.disable === null) {
      dispatch({ type: 'recorded', revision: current });
      return;
    }
    ask(world, process, () => disableWebhook(tables, record.revision), {
      done: () => dispatch({ type: 'recorded', revision: current }),
      fail: lose,
    });
  }

  /** The runner renews the leases of all runs of the process. */
  function renewLater(): void {
    timeline.after(RENEW_EVERY, process, () => {
      if (run.isOver) return;
      ask(world, process, () => renewLease(tables, timeline.now, lease.token), { done() {}, fail: null });
      renewLater();
    });
  }
}
