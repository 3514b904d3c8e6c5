import type { EndpointColumns, SendingSettings } from './record.ts';

/** What an active webhook waits for before its next POST, for how long, and what limits its sending. Pure. */

/** The part of a webhook's state that this follows from. Durations are milliseconds by MySQL's clock. */
export interface Waits {
  settings: Pick<SendingSettings, 'status' | 'delivery' | 'ordered' | 'rate_limit'> &
    Pick<EndpointColumns, 'recovery_successes'>;
  sentThrough: number;
  matchedThrough: number;
  /** Time until another run's lease ends. null: the lease is free. */
  leasedFor: number | null;
  /** Time until the circuit is half-open. null: the circuit is not open. */
  openFor: number | null;
  /** Time until another webhook of its template must have probed the endpoint, because the circuit is half-open. null: none does. */
  probedFor: number | null;
  /** Time until the rate limit allows the next POST. */
  rateWait: number;
  /** Time until the next retry is due (for an ordered webhook: the retry with the lowest transaction id). null: no retry is waiting. */
  retryIn: number | null;
  /** Time until a batch of movements that were never attempted is due, because it waits for more. 0: now, or nothing waits. */
  batchIn: number;
  replaying: boolean;
}

/** Says whether the log holds matching movements beyond the webhook's cursor. */
export const hasBacklog = ({
  matchedThrough,
  sentThrough,
}: Pick<Waits, 'matchedThrough' | 'sentThrough'>): boolean => matchedThrough > sentThrough;

/**
 * How long a webhook has to wait until a run may send something.
 * @returns milliseconds (0: now); null when there is nothing to send, the webhook is not active, or its events are pulled.
 */
export function waitBeforeSending(state: Waits): number | null {
  const { settings, retryIn, batchIn, replaying, openFor, probedFor, rateWait, leasedFor } = state;
  if (settings.status !== 'active' || settings.delivery === 'pull') return null;
  const newIn = isHeldByRetry(state) ? null : replaying ? 0 : hasBacklog(state) ? batchIn : null;
  const due = newIn === null || retryIn === null ? (newIn ?? retryIn) : Math.min(newIn, retryIn);
  if (due === null) return null;
  return Math.ceil(Math.max(0, due, openFor ?? 0, probedFor ?? 0, rateWait, leasedFor ?? 0));
}

/** Whether everything waits for one retry: an ordered webhook sends nothing that would overtake it. */
const isHeldByRetry = <State extends Pick<Waits, 'retryIn'> & { settings: Pick<SendingSettings, 'ordered'> }>(
  state: State,
): state is State & { retryIn: number } => state.settings.ordered === 1 && state.retryIn !== null;

/**
 * What pending deliveries wait for.
 * - `circuit`: until the circuit is half-open, or another webhook of the same template has probed it.
 * - `ordered_retry`: all of them for the retry of the oldest one.
 * - `retries`: for their own retries. Nothing else is pending.
 * - `batch`: for more, so that a batch is full.
 * - `process`: for their turn in a delivery process.
 * - `sending`: a delivery run sends them now.
 */
export type WaitsFor = 'circuit' | 'ordered_retry' | 'retries' | 'batch' | 'process' | 'sending';

/** What the pending deliveries of an active webhook wait for. */
export function waitsFor(state: Waits): WaitsFor {
  const { openFor, probedFor, retryIn, leasedFor, batchIn, replaying } = state;
  if (openFor !== null || probedFor !== null) return 'circuit';
  if (isHeldByRetry(state)) return 'ordered_retry';
  if (!hasBacklog(state) && !replaying && retryIn !== null && retryIn > 0) return 'retries';
  if (leasedFor !== null) return 'sending';
  return batchIn > 0 && !replaying ? 'batch' : 'process';
}

/**
 * - `retry`: it is ordered, and an event waits for its next attempt.
 * - `processes`: it waits for its turn in a delivery process.
 * - `rate_limit`, `ordered`, `max_in_flight`: its settings.
 * - `recovering`: its endpoint is new or has just recovered, and is sent few at a time.
 */
export const LIMITS = ['rate_limit', 'max_in_flight', 'ordered', 'retry', 'recovering', 'processes'] as const;
export type Limit = (typeof LIMITS)[number];

/** A webhook of which nothing was sent for this long waits for a delivery process. Between two runs is less than that. Milliseconds. */
const WAITS_AFTER = 30_000;

/** What limits a webhook while a delivery run sends for it. */
export function paceLimitOf({ rate_limit, ordered, recovery_successes }: Waits['settings']) {
  if (rate_limit !== null) return 'rate_limit';
  if (ordered === 1) return 'ordered';
  return recovery_successes === null ? 'max_in_flight' : 'recovering';
}

/** @param idleFor milliseconds since its last delivery. */
export function limitOf(state: Waits, idleFor: number): Limit {
  if (isHeldByRetry(state) && state.retryIn > 0) return 'retry';
  // While its circuit is open, no process could send for it.
  const { leasedFor, openFor, probedFor } = state;
  if (leasedFor === null && openFor === null && probedFor === null && idleFor > WAITS_AFTER)
    return 'processes';
  return paceLimitOf(state.settings);
}
