import type { Delivery, RunStart } from '../../../src/deliveries/run/types.ts';
import type { Process } from './process.ts';
import type { Lease } from './writes.ts';

/** One POST. */
export interface Post {
  run: ActiveRun;
  id: number;
  delivery: Delivery;
  sentAt: number;
  state: 'in flight' | 'answered' | 'aborted';
  /** The endpoint has answered it with a 2xx. */
  isSuccess: boolean;
  /** Its result is committed. */
  isRecorded: boolean;
  /** Answers it as aborted. */
  abort: () => void;
}

/** A delivery run with its I/O, like src/deliveries/active-run.ts, with the world in place of MySQL and the endpoint. */
export interface ActiveRun {
  readonly name: string;
  readonly process: Process;
  readonly start: RunStart;
  /** null until it has its lease. */
  lease: Lease | null;
  isOver: boolean;
  /** MySQL refused something, and the run ended without giving its lease back. */
  hasFailed: boolean;
  inFlight: number;
  isIdle: boolean;
  send(lease: Lease, finish: () => void): void;
  notify(reread: boolean): void;
  stop(): void;
}
