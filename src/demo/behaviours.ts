import { setTimeout as sleep } from 'node:timers/promises';
import type { Reply } from '../receiving/receiver.ts';

const SECOND = 1_000;

/** A call of a receiver. */
export interface Call {
  /** From 1. */
  number: number;
  /** Milliseconds since the receiver was started. */
  elapsed: number;
}

/** What a receiver answers to a call; null: it checks the notification, and accepts it if it is genuine. */
export type Behaviour = (call: Call) => Promise<Reply | null>;

/** The second call gets a 500, the third a connection that is dropped. */
export const failTwice: Behaviour = async ({ number }) => {
  if (number === 2) return 500;
  return number === 3 ? 'drop' : null;
};

/** How long the slow endpoint takes for one notification. Three times as long as the time between two movements. */
const SLOW_ANSWER = 3 * SECOND;

export const answerSlowly: Behaviour = () => sleep(SLOW_ANSWER, null, { ref: false });

/**
 * The flapping endpoint is down for 12 of every 30 seconds. The circuit opens for 5 s and then for 10 s (± 20 %), so a probe finds the
 * endpoint up again each time.
 */
const [PERIOD, DOWN_FROM, DOWN_UNTIL] = [30 * SECOND, 8 * SECOND, 20 * SECOND];

export const flap: Behaviour = async ({ elapsed }) => {
  const moment = elapsed % PERIOD;
  return moment >= DOWN_FROM && moment < DOWN_UNTIL ? 503 : null;
};
