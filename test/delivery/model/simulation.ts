import { setImmediate as nextPass } from 'node:timers/promises';
import { reconcile } from '../../../src/delivery/reconcile.ts';
import { waitBeforeSending } from '../../../src/webhook-record/waiting.ts';
import { createChecks } from './checks.ts';
import {
  changeOtherWebhook,
  changeWebhook,
  deleteMovement,
  importMovements,
  redeliver,
  replay,
  withdrawMovements,
} from './commands.ts';
import { createProcess, type Process } from './process.ts';
import { createQueue } from './queue.ts';
import { between, createRandom, pick } from './random.ts';
import { readFilters, readWebhook } from './reads.ts';
import type { Schedule, Step } from './schedule.ts';
import { createTables } from './tables.ts';
import { createTimeline } from './timeline.ts';
import { violation } from './violation.ts';
import { happens, NO_FAULTS, note, type World } from './world.ts';

/** An arbitrary moment. */
const START = 1_700_000_000_000;
const SECOND = 1_000;

/** How long, at least and at most, BullMQ takes to give the job of a dead or frozen process to another one. */
const STALLED_AFTER = [10 * SECOND, 15 * SECOND] as const;

/** The longest time from reading the webhook's state until its job is added, where MySQL and Redis are slow. The job is as late. */
const SLOWEST_LOOK = 7 * SECOND;

/** More events than are ever needed from one POST to the next. */
const MOST_EVENTS = 20_000;

/** After this many rounds of the reconciler nothing may be left. */
const RECONCILED = 12;

/**
 * Runs one schedule, lets the world go quiet, and checks the result.
 * @param trace collects what happened, for people to read.
 * @throws {Violation} when a guarantee does not hold.
 */
export async function simulate(schedule: Schedule, trace: string[] | null = null): Promise<void> {
  const timeline = createTimeline(START);
  const random = createRandom(schedule.seed);
  const { ordered, maxInFlight, rateLimit, filter, batch } = schedule.webhook;
  const tables = createTables(
    { status: 'active', revision: 1, filter, ordered, rateLimit, maxInFlight, batch },
    between(random, 0, 100),
  );
  const processes: Process[] = [];
  let wrong: { error: unknown } | null = null;
  const world: World = {
    timeline,
    random,
    tables,
    queue: createQueue(timeline, offerJob),
    tuning: schedule.tuning,
    faults: NO_FAULTS,
    mood: 'healthy',
    checks: createChecks(timeline, tables, schedule.tuning.delays),
    needsReconciler: false,
    wakeUps: 0,
    keptReads: [],
    runs: new Map(),
    trace,
    watch(check) {
      try {
        check();
      } catch (error) {
        wrong ??= { error };
      }
    },
    publish(reread) {
      // Published to a run that is dead: the design leaves that to the reconciler.
      if (!processes.some((it) => it.alive && tables.cursor.leaseToken.startsWith(`${it.name}/`)))
        world.needsReconciler = true;
      for (const process of processes) {
        if (!process.alive || happens(world, world.faults.publish)) continue;
        timeline.after(between(random, 0, 2), process, () => process.runner.notify(['1'], reread));
      }
    },
  };

  let started = 0;
  let events = 0;
  let lastPosts = 0;
  for (let left = schedule.processes; left > 0; left -= 1) startProcess();
  for (const it of schedule.steps) {
    apply(it);
    await advance(it.wait);
    checkPromptness();
  }
  await goQuiet();
  world.checks.atEnd();

  function startProcess(): void {
    started += 1;
    const process = createProcess(world, `P${started}`, between(random, -2, 2) * 700);
    processes.push(process);
    note(world, process.name, 'starts');
    offerJob();
  }

  /** One of the processes takes the job, if there is one. */
  function offerJob(): void {
    timeline.after(between(random, 1, 4), null, () => {
      const able = processes.filter((it) => it.alive && !it.isStopping && it.frozenUntil <= timeline.now);
      if (able.length === 0) return;
      const job = world.queue.take();
      if (job !== null) pick(random, able).work(job);
    });
  }

  function stallJobs(process: Process): void {
    for (const job of process.jobs) {
      timeline.after(between(random, ...STALLED_AFTER), null, () => {
        if (!process.alive || process.frozenUntil > timeline.now) world.queue.stall(job);
      });
    }
  }

  function alive(at: number): Process | undefined {
    const those = processes.filter((it) => it.alive);
    return those[at % Math.max(1, those.length)];
  }

  function apply(step: Step): void {
    switch (step.do) {
      case 'import':
        importMovements(world, step.count);
        return;
      case 'change':
        changeWebhook(world, step.change);
        return;
      case 'change another webhook':
        changeOtherWebhook(world);
        return;
      case 'redeliver':
        redeliver(world, step.index);
        return;
      case 'replay':
        replay(world, step.statuses, step.part);
        return;
      case 'withdraw':
        withdrawMovements(world, step.index, step.count);
        return;
      case 'delete a movement':
        deleteMovement(world, step.index);
        return;
      case 'endpoint':
        world.mood = step.mood;
        note(world, 'endpoint', `is ${step.mood}`);
        return;
      case 'crash':
        crash(alive(step.index));
        return;
      case 'freeze':
        freeze(alive(step.index), step.length);
        return;
      case 'shut down':
        note(world, alive(step.index)?.name ?? '', 'is shut down');
        alive(step.index)?.shutDown();
        return;
      case 'start a process':
        startProcess();
        return;
      case 'empty Redis':
        world.needsReconciler = true;
        note(world, 'redis', 'is emptied');
        world.queue.empty();
        return;
      case 'reconcile':
        void runReconciler();
        return;
      case 'faults':
        world.faults = { ...NO_FAULTS, ...step.faults };
        note(world, 'faults', JSON.stringify(step.faults));
        return;
    }
  }

  function crash(process: Process | undefined): void {
    if (process === undefined) return;
    note(world, process.name, 'crashes');
    process.alive = false;
    stallJobs(process);
  }

  function freeze(process: Process | undefined, length: number): void {
    if (process === undefined || process.frozenUntil > timeline.now) return;
    note(world, process.name, `is frozen for ${length} ms`);
    process.frozenUntil = timeline.now + length;
    stallJobs(process);
    timeline.after(length, null, offerJob);
  }

  /** One pass of the reconciler. @returns milliseconds until something is due. */
  async function runReconciler(): Promise<number> {
    let wait = 0;
    await reconcile({
      readPage: async () => [{ webhook_id: '1', due_at: '', matched_count: '' }],
      readHalfOpen: async () => [],
      readCandidates: async () => [],
      readStates: async () => [{ ...readWebhook(tables, timeline.now).state, filters: readFilters(tables) }],
      addJobs: async () => void world.queue.add(0),
      postpone: async (_, waits) => {
        wait = waits.get('1') ?? 0;
      },
    });
    note(world, 'reconc.', `wait ${wait}`);
    return wait;
  }

  /** A delivery that is due now must not wait for a job that was delayed for something else. */
  function checkPromptness(): void {
    const until = world.queue.delayedUntil();
    if (until === null || until < timeline.now + SLOWEST_LOOK || world.needsReconciler || world.wakeUps > 0)
      return;
    if (processes.some((it) => it.alive && it.jobs.size > 0)) return;
    // A webhook that waits for a circuit that has been reset is left to the reconciler, which runs every 10 s.
    if (tables.cursor.healthRevision > 0) return;
    const { state } = readWebhook(tables, timeline.now);
    if (waitBeforeSending(state) === 0)
      violation(`something is due, and its job is delayed for ${until - timeline.now} ms`);
  }

  async function advance(milliseconds: number): Promise<void> {
    const until = timeline.now + milliseconds;
    await runEvents(until);
    timeline.passTo(until);
  }

  async function runEvents(until?: number): Promise<void> {
    do {
      // Everything that the event before has caused in the engine happens before the next one.
      await nextPass();
      if (wrong !== null) throw wrong.error;
      const posts = world.checks.posts();
      events = posts === lastPosts ? events + 1 : 0;
      lastPosts = posts;
      if (events > MOST_EVENTS) violation('it never ends');
    } while (timeline.step(until));
  }

  /** All faults end, and everything goes on until nothing is left to happen. */
  async function goQuiet(): Promise<void> {
    note(world, 'world', 'goes quiet');
    world.faults = NO_FAULTS;
    world.mood = 'healthy';
    if (!processes.some((it) => it.alive && !it.isStopping)) startProcess();
    if (tables.webhook.status === 'active') await runEvents();
    // An answer that was in flight may have disabled the webhook.
    while (tables.webhook.status !== 'active') {
      changeWebhook(world, { status: 'active' });
      await runEvents();
    }
    if (world.checks.isDone()) return;
    if (!world.needsReconciler)
      violation('a wake-up is lost: something is pending, and nothing is under way');
    for (let round = 0; round < RECONCILED && !world.checks.isDone(); round += 1) {
      await advance(await runReconciler());
      await runEvents();
    }
  }
}
