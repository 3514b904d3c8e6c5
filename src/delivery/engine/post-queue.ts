import { READ_SIZE } from './movement-log.ts';
import type { ClockPort } from './ports.ts';

/**
 * Decides in which order the POSTs of a process leave. A POST that a run has decided to send passes three gates:
 *
 * 1. The run's share. All sending runs of a process share its limits for POSTs in flight and movements in memory (`shareAmong`). The
 *    run's state machine stays within its share.
 * 2. The pass of the event loop (fair dispatch). The first POSTs of a run leave immediately, so that a webhook with a single delivery
 *    does not wait. Later POSTs take turns: each pass begins eight POSTs, two per webhook. Without this, a webhook with thousands of
 *    pending deliveries would fill each pass with milliseconds of work.
 * 3. The host. A customer has at most 128 POSTs in flight to one host. Without this limit, a customer could direct many webhooks at
 *    somebody else's host. A webhook may always have one POST in flight, so that other webhooks whose POSTs hang do not hold it up.
 * 4. The memory. A process has at most 64 batches in flight, each of which has up to a megabyte. A webhook may always have one.
 */
export interface PostQueue {
  /** Makes the queue of one run of a webhook. */
  open(customerId: string, origin: string): RunPosts;
}

export interface RunPosts {
  /** Begins a POST now, or when its turn has come. */
  add(begin: () => void): void;
  /** Begins a POST with a batch now, or when its turn has come. */
  addBatch(begin: () => void): void;
  /** Called when a POST that was begun has ended. */
  ended(): void;
  /** The same for a POST with a batch. */
  batchEnded(): void;
  /** The run has sent everything. Its next POSTs leave immediately again. */
  caughtUp(): void;
}

/** How many of a run's first POSTs leave immediately. */
export const SMALL_BACKLOG = 10;

const PER_PASS = 8;
const PER_WEBHOOK = 2;
const MOST_PER_HOST = 128;
const MOST_BATCHES = 64;

interface Run {
  inFlight: number;
  /** POSTs that begin in one of the next passes. */
  waitingForPass: (() => void)[];
  /** POSTs that begin when the host's limit allows it. */
  waitingForHost: (() => void)[];
}

interface Host {
  inFlight: number;
  /** The runs with POSTs that wait for this host, in the order in which they are served. */
  waiting: Set<Run>;
}

export function createPostQueue({
  nextPass,
  perPass = PER_PASS,
  perWebhook = PER_WEBHOOK,
  mostPerHost = MOST_PER_HOST,
  mostBatches = MOST_BATCHES,
}: Pick<ClockPort, 'nextPass'> & {
  perPass?: number;
  perWebhook?: number;
  mostPerHost?: number;
  mostBatches?: number;
}): PostQueue {
  const hosts = new Map<string, Host>();
  /** The runs with POSTs that wait for a pass, in the order in which they are served. */
  const waiting = new Set<Run>();
  let isPassScheduled = false;
  let batchesInFlight = 0;
  /** Batches that begin when others have ended. */
  const waitingBatches: (() => void)[] = [];

  function schedulePass(): void {
    if (isPassScheduled) return;
    isPassScheduled = true;
    nextPass(pass);
  }

  function pass(): void {
    isPassScheduled = false;
    let left = perPass;
    for (const run of waiting) {
      if (left === 0) break;
      const begins = run.waitingForPass.splice(0, Math.min(perWebhook, left));
      left -= begins.length;
      moveToTail(waiting, run, run.waitingForPass);
      for (const begin of begins) begin();
    }
    if (waiting.size > 0) schedulePass();
  }

  function begin(host: Host, run: Run, post: () => void): void {
    host.inFlight += 1;
    run.inFlight += 1;
    post();
  }

  /** Begins the next POST of a run, and moves the run behind the others. */
  function beginNext(host: Host, run: Run): void {
    const post = run.waitingForHost.shift();
    moveToTail(host.waiting, run, run.waitingForHost);
    if (post !== undefined) begin(host, run, post);
  }

  return {
    open(customerId, origin) {
      const key = `${customerId} ${origin}`;
      const run: Run = { inFlight: 0, waitingForPass: [], waitingForHost: [] };
      let sent = 0;
      let batches = 0;

      function enterHost(post: () => void): void {
        const host = hosts.get(key) ?? { inFlight: 0, waiting: new Set() };
        hosts.set(key, host);
        if (run.inFlight === 0 || host.inFlight < mostPerHost) {
          begin(host, run, post);
          return;
        }
        run.waitingForHost.push(post);
        host.waiting.add(run);
      }

      function beginBatch(post: () => void): void {
        batchesInFlight += 1;
        batches += 1;
        post();
      }

      return {
        add,
        addBatch(post) {
          add(() => {
            if (batches === 0 || batchesInFlight < mostBatches) beginBatch(post);
            else waitingBatches.push(() => beginBatch(post));
          });
        },
        batchEnded() {
          batchesInFlight -= 1;
          batches -= 1;
          ended();
          if (batchesInFlight < mostBatches) waitingBatches.shift()?.();
        },
        ended,
        caughtUp() {
          sent = 0;
        },
      };

      function add(post: () => void): void {
        sent += 1;
        if (sent <= SMALL_BACKLOG) {
          enterHost(post);
          return;
        }
        run.waitingForPass.push(() => enterHost(post));
        waiting.add(run);
        schedulePass();
      }

      function ended(): void {
        const host = hosts.get(key);
        if (host === undefined) return;
        host.inFlight -= 1;
        run.inFlight -= 1;
        const [next] = host.waiting;
        if (run.inFlight === 0 && run.waitingForHost.length > 0) beginNext(host, run);
        else if (next !== undefined && host.inFlight < mostPerHost) beginNext(host, next);
        else if (host.inFlight === 0) hosts.delete(key);
      }
    },
  };
}

function moveToTail(runs: Set<Run>, run: Run, left: readonly unknown[]): void {
  runs.delete(run);
  if (left.length > 0) runs.add(run);
}

/** The share of a process that each sending run may use. */
export interface RunShare {
  /** Movements read at a time. */
  readSize: number;
  /** POSTs in flight. */
  mostInFlight: number;
}

/** Some tens of megabytes of movements, and of connections. */
const MOVEMENTS_IN_HAND = 30_000;
const POSTS_IN_FLIGHT = 8_000;
const LEAST_READ_SIZE = 10;
const LEAST_IN_FLIGHT = 2;

/**
 * Divides the capacity of a process among its sending runs. With many backlogs at the same time, as after an outage, each share is
 * smaller. A run could not send more within its time slice anyway.
 */
export function shareAmong(runs: number): RunShare {
  const sending = Math.max(1, runs);
  return {
    readSize: Math.max(LEAST_READ_SIZE, Math.min(READ_SIZE, Math.floor(MOVEMENTS_IN_HAND / sending))),
    mostInFlight: Math.max(LEAST_IN_FLIGHT, Math.floor(POSTS_IN_FLIGHT / sending)),
  };
}
