import type { Lease } from '../../../src/deliveries/lease.ts';
import type { Delivery, RunStart } from '../../../src/deliveries/run/types.ts';
import type { Process } from './process.ts';

/** One POST. */
export interface Post {
  run: ObservedRun;
  id: number;
  delivery: Delivery;
  sentAt: number;
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
