import type { Timeline } from './timeline.ts';

/** A job that a process is working on. */
export interface Activation {
  /** If an active job was considered stalled, its first activation is not valid any more. */
  readonly id: number;
}

/**
 * The queue `deliveries` for one webhook, like BullMQ with `deduplication: { keepLastIfActive, reschedule }`: one waiting or
 * delayed job. Of the jobs added while one is active, the last is kept, and added when the active one ends.
 */
export interface JobQueue {
  add(delay: number): void;
  /** Takes the waiting job. @returns null when there is none. */
  take(): Activation | null;
  finish(activation: Activation): void;
  /** The job's lock has not been renewed for a while: the job waits again. */
  stall(activation: Activation): void;
  /** Redis forgets everything. */
  empty(): void;
  /** When the delayed job begins to wait for a process; null: it is not delayed. */
  delayedUntil(): number | null;
}

type Job =
  | { state: 'waiting' }
  | { state: 'delayed'; until: number }
  | { state: 'active'; activation: Activation };

/** @param onWaiting is called when the job waits for a process. */
export function createQueue(timeline: Timeline, onWaiting: () => void): JobQueue {
  let job: Job | null = null;
  /** The delay of the job that follows the active one. */
  let kept: number | null = null;
  let activations = 0;

  function enqueue(delay: number): void {
    if (delay === 0) {
      job = { state: 'waiting' };
      onWaiting();
      return;
    }
    const delayed: Job = { state: 'delayed', until: timeline.now + delay };
    job = delayed;
    timeline.after(delay, null, () => {
      if (job !== delayed) return;
      job = { state: 'waiting' };
      onWaiting();
    });
  }

  return {
    add(delay) {
      if (job?.state === 'active') kept = delay;
      else if (job?.state !== 'waiting') enqueue(delay);
    },
    take() {
      if (job?.state !== 'waiting') return null;
      activations += 1;
      const activation = { id: activations };
      job = { state: 'active', activation };
      return activation;
    },
    finish({ id }) {
      if (job?.state !== 'active' || job.activation.id !== id) return;
      job = null;
      const delay = kept;
      kept = null;
      if (delay !== null) enqueue(delay);
    },
    stall({ id }) {
      if (job?.state === 'active' && job.activation.id === id) enqueue(0);
    },
    empty() {
      job = null;
      kept = null;
    },
    delayedUntil: () => (job?.state === 'delayed' ? job.until : null),
  };
}
