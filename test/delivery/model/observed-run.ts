import type { Run } from '../../../src/delivery/run/run.ts';
import type { Delivery, RunStart } from '../../../src/delivery/run/types.ts';
import type { Lease } from '../../../src/webhook-record/lease.ts';
import { describeStep } from '../run/description.ts';
import type { Process } from './process.ts';
import { note, type World } from './world.ts';

/** One POST. */
export interface Post {
  run: ObservedRun;
  id: number;
  delivery: Delivery;
  sentAt: number;
  /** The deliveries before it in its batch. */
  before: readonly number[];
  /** aborted: it says nothing, because it was cut short, or is to be sent again without a result. */
  state: 'in flight' | 'answered' | 'aborted';
  /** The endpoint has answered it with a 2xx. */
  isSuccess: boolean;
  /** For how many milliseconds the endpoint asked to be left alone, if it did. At most the hour that is granted. */
  retryAfter: number;
  /** Its result is committed. */
  isRecorded: boolean;
  /** Answers it as aborted. */
  abort: () => void;
}

/** A delivery run that has its lease, as the checks see it: by what went into its state machine, and what came out. */
export interface ObservedRun {
  readonly name: string;
  readonly process: Process;
  readonly start: RunStart;
  readonly lease: Lease;
  /** The deliveries that it has decided to send. */
  readonly sent: Map<number, Delivery>;
  /** Those of them without an answer. */
  inFlight: number;
  isOver: boolean;
  /** MySQL refused something, and the run ends without giving its lease back. */
  hasFailed: boolean;
}

/** The lease for which the next run starts. The engine starts a run before anything else happens in the world. */
let starting: { world: World; process: Process; lease: Lease } | null = null;

export function observeNextRun(world: World, process: Process, lease: Lease): void {
  starting = { world, process, lease };
}

/** Wraps the state machine of the run that starts now: the checks see its events and commands. */
export function observe(machine: Run, start: RunStart): Run {
  if (starting === null) throw new Error('a run starts without a lease');
  const { world, process, lease } = starting;
  starting = null;
  const { checks, watch } = world;
  const run: ObservedRun = {
    name: lease.token,
    process,
    start,
    lease,
    sent: new Map(),
    inFlight: 0,
    isOver: false,
    hasFailed: false,
  };
  process.run = run;
  world.runs.set(lease.token, run);
  watch(() => checks.runStarts(run));
  return {
    handle(event, context) {
      if (run.isOver) return machine.handle(event, context);
      if (event.type === 'answered' || event.type === 'batch answered') run.inFlight -= 1;
      if (event.type === 'failed') run.hasFailed = true;
      watch(() => checks.happens(run, event));
      const commands = machine.handle(event, context);
      if (world.trace !== null)
        note(
          world,
          run.name,
          `${describeStep(event)} → ${commands.map(describeStep).join('; ') || 'nothing'}`,
        );
      for (const command of commands) {
        watch(() => checks.commanded(run, command));
        if (command.type === 'end') run.isOver = true;
        if (command.type !== 'send' && command.type !== 'send batch') continue;
        run.inFlight += 1;
        const deliveries = command.type === 'send' ? [command.delivery] : command.deliveries;
        for (const delivery of deliveries) run.sent.set(delivery.subjectId, delivery);
      }
      return commands;
    },
  };
}
