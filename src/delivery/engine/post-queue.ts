import { READ_SIZE } from './movement-log.ts';
import type { ClockPort } from './ports.ts';

/**
 * Decides in which order the POSTs of a process leave. A POST that a run has decided to send passes these gates:
 *
 * 1. The run's share. All sending runs of a process share its limits for POSTs in flight and movements in memory (`shareAmong`). The
 *    run's state machine stays within its share.
 * 2. The memory, for a batch, which has up to a megabyte. A customer has at most 16 batches in flight, and a process 64. Without the
 *    first limit, the slow endpoints of one customer would hold up the batches of all others.
 * 3. The pass of the event loop (fair dispatch). The first POSTs of a run leave immediately, so that a webhook with a single delivery
 *    does not wait. Later POSTs take turns: each pass begins eight POSTs, two per webhook. Without this, a webhook with thousands of
 *    pending deliveries would fill each pass with milliseconds of work.
 * 4. The host. A customer has at most 128 POSTs in flight to one host. Without this limit, a customer could direct many webhooks at
 *    somebody else's host.
 *
 * At the second and the fourth, webhooks take turns, and a webhook may always have one POST in flight, so that other webhooks whose POSTs hang
 * do not hold it up.
 */

/** The queue of one process. */
export interface PostQueue {
  /** Makes the queue of one run of a webhook. */
  open(customerId: string, origin: string): RunPosts;
}

/** A POST that waits for its turn. */
export interface WaitingPost {
  begin(): void;
  /** Called in place of `begin` when the run gives back what waits. */
  giveBack(): void;
}

export interface RunPosts {
  /** Begins a POST now, or when its turn has come. */
  add(post: WaitingPost): void;
  /** Begins a POST with a batch now, or when its turn has come. */
  addBatch(post: WaitingPost): void;
  /** Called when a POST that was begun has ended. */
  ended(): void;
  /** The same for a POST with a batch. */
  batchEnded(): void;
  /** The run has sent everything. Its next POSTs leave immediately again. */
  caughtUp(): void;
  /** The run ends: POSTs that wait until others have ended, which may take long, are given back. */
  giveBack(): void;
}

/** How many of a run's first POSTs leave immediately. */
export const SMALL_BACKLOG = 10;

const PER_PASS = 8;
const PER_WEBHOOK = 2;
const MOST_PER_HOST = 128;
const MOST_BATCHES = 64;
const MOST_BATCHES_PER_CUSTOMER = 16;

export function createPostQueue({
  nextPass,
  perPass = PER_PASS,
  perWebhook = PER_WEBHOOK,
  mostPerHost = MOST_PER_HOST,
  mostBatches = MOST_BATCHES,
  mostBatchesPerCustomer = MOST_BATCHES_PER_CUSTOMER,
}: Pick<ClockPort, 'nextPass'> & {
  perPass?: number;
  perWebhook?: number;
  mostPerHost?: number;
  mostBatches?: number;
  mostBatchesPerCustomer?: number;
}): PostQueue {
  const hosts = createGate(mostPerHost);
  const batches = createGate(mostBatches);
  const batchesOfCustomers = createGate(mostBatchesPerCustomer);
  const passes = createPasses({ nextPass, perPass, perWebhook });
  return {
    open(customerId, origin) {
      const host = hosts.open(`${customerId} ${origin}`);
      const all = batches.open('all');
      const ofCustomer = batchesOfCustomers.open(customerId);
      const waitingForPass: (() => void)[] = [];
      let sent = 0;

      function add(post: WaitingPost): void {
        sent += 1;
        if (sent <= SMALL_BACKLOG) host.enter(post);
        else passes.add(waitingForPass, () => host.enter(post));
      }

      function leavePlaces(): void {
        all.leave();
        ofCustomer.leave();
      }

      return {
        add,
        addBatch({ begin, giveBack }) {
          const inPlace: WaitingPost = {
            begin,
            giveBack() {
              leavePlaces();
              giveBack();
            },
          };
          ofCustomer.enter({
            begin: () =>
              all.enter({
                begin: () => add(inPlace),
                giveBack() {
                  ofCustomer.leave();
                  giveBack();
                },
              }),
            giveBack,
          });
        },
        ended: host.leave,
        batchEnded() {
          host.leave();
          leavePlaces();
        },
        caughtUp() {
          sent = 0;
        },
        giveBack() {
          // Those that wait first are given back first, so that no place that becomes free is taken by another of this run.
          for (const gate of [ofCustomer, all, host]) gate.giveBack();
        },
      };
    },
  };
}

/** Lets a few POSTs of each run begin in each pass of the event loop. */
function createPasses({
  nextPass,
  perPass,
  perWebhook,
}: Pick<ClockPort, 'nextPass'> & { perPass: number; perWebhook: number }) {
  /** The waiting POSTs of each run, in the order in which the runs are served. */
  const waiting = new Set<(() => void)[]>();
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    nextPass(pass);
  }

  function pass(): void {
    isScheduled = false;
    let left = perPass;
    for (const ofRun of waiting) {
      if (left === 0) break;
      const begins = ofRun.splice(0, Math.min(perWebhook, left));
      left -= begins.length;
      moveToTail(waiting, ofRun, ofRun);
      for (const begin of begins) begin();
    }
    if (waiting.size > 0) schedule();
  }

  return {
    add(ofRun: (() => void)[], begin: () => void): void {
      ofRun.push(begin);
      waiting.add(ofRun);
      schedule();
    },
  };
}

interface RunAtGate {
  inFlight: number;
  waiting: WaitingPost[];
}

/** Lets at most some POSTs be in flight that share a key. Runs take turns, and each may always have one in flight. */
function createGate(most: number) {
  interface Place {
    inFlight: number;
    /** The runs with POSTs that wait, in the order in which they are served. */
    waiting: Set<RunAtGate>;
  }
  const places = new Map<string, Place>();

  function begin(place: Place, run: RunAtGate, post: WaitingPost): void {
    place.inFlight += 1;
    run.inFlight += 1;
    post.begin();
  }

  /** Begins the next POST of a run, and moves the run behind the others. */
  function beginNext(place: Place, run: RunAtGate): void {
    const post = run.waiting.shift();
    moveToTail(place.waiting, run, run.waiting);
    if (post !== undefined) begin(place, run, post);
  }

  return {
    open(key: string) {
      const run: RunAtGate = { inFlight: 0, waiting: [] };
      return {
        enter(post: WaitingPost): void {
          const place = places.get(key) ?? { inFlight: 0, waiting: new Set() };
          places.set(key, place);
          if (run.inFlight === 0 || place.inFlight < most) {
            begin(place, run, post);
            return;
          }
          run.waiting.push(post);
          place.waiting.add(run);
        },
        leave(): void {
          const place = places.get(key);
          if (place === undefined) return;
          place.inFlight -= 1;
          run.inFlight -= 1;
          const [next] = place.waiting;
          if (run.inFlight === 0 && run.waiting.length > 0) beginNext(place, run);
          else if (next !== undefined && place.inFlight < most) beginNext(place, next);
          else if (place.inFlight === 0) places.delete(key);
        },
        giveBack(): void {
          const posts = run.waiting.splice(0);
          places.get(key)?.waiting.delete(run);
          for (const post of posts) post.giveBack();
        },
      };
    },
  };
}

function moveToTail<Run>(runs: Set<Run>, run: Run, left: readonly unknown[]): void {
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
