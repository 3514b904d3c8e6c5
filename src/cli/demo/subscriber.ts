import { setTimeout as sleep } from 'node:timers/promises';
import { type Receiver, type Reply, startReceiver } from '../receiver.ts';
import { checkPost, type Secrets, transactionIdOf } from '../verification.ts';

/** A receiver of one webhook of the demo, and how it behaves. */

/** One webhook of the demo. */
export interface Subscription {
  title: string;
  event: 'NEW_TRANSACTION' | 'NEW_DEBIT';
  /** The `ref` of one account in examples/accounts.json; null: all. */
  accountRef: string | null;
  encoding: 'json' | 'form';
  /** How many notifications may be in flight at the same time. Default: the API's default. */
  maxInFlight?: number;
  /** The behaviour of the receiver. Default: it accepts every genuine notification. */
  behaviour?: Behaviour;
}

const ACCEPTED = 204;
const NOT_GENUINE = 401;

/** A receiver of one webhook, and the results of its checks. */
export interface Subscriber {
  subscription: Subscription;
  url: string;
  /** Ids of the movements whose notifications had a valid signature and hash. */
  verified: ReadonlySet<string>;
  /** Why the receiver refused other notifications. */
  problems: readonly string[];
  /** Sets the secrets for its checks, which are known only once the webhook is created. */
  learn(secrets: Required<Secrets>): void;
  close: Receiver['close'];
}

/** Starts a receiver on a free port of 127.0.0.1 that verifies every notification. */
export async function startSubscriber(subscription: Subscription): Promise<Subscriber> {
  const verified = new Set<string>();
  const problems: string[] = [];
  let secrets: Secrets = { secret: '' };
  const started = performance.now();
  let calls = 0;

  const { url, close } = await startReceiver({ port: 0, host: '127.0.0.1' }, async ({ headers, body }) => {
    calls += 1;
    const call = { number: calls, elapsed: performance.now() - started };
    const reply = (await subscription.behaviour?.(call)) ?? null;
    if (reply !== null) return reply;
    const checked = checkPost(headers, body, secrets, Date.now());
    const wrong = checked.find(({ problem, hash }) => problem !== null || hash !== 'verified');
    if (wrong !== undefined) {
      problems.push(wrong.problem ?? 'The hash was not checked.');
      return NOT_GENUINE;
    }
    for (const it of checked) verified.add(String(transactionIdOf(headers, it)));
    return ACCEPTED;
  });
  return {
    subscription,
    url,
    verified,
    problems,
    learn: (learned) => {
      secrets = learned;
    },
    close,
  };
}

const SECOND = 1_000;

/** A call of a receiver. */
export interface Call {
  /** From 1. */
  number: number;
  /** Milliseconds since the receiver was started. */
  elapsed: number;
}

/** Chooses the answer of a receiver to a call; null: it checks the notification, and accepts it if it is genuine. */
export type Behaviour = (call: Call) => Promise<Reply | null>;

/** The second call gets a 500, the third a connection that is dropped. */
export const failTwice: Behaviour = async ({ number }) => {
  if (number === 2) return 500;
  return number === 3 ? 'drop' : null;
};

/** How long the slow endpoint takes for one notification: three times the time between two movements. */
const SLOW_ANSWER = 3 * SECOND;

export const answerSlowly: Behaviour = () => sleep(SLOW_ANSWER, null, { ref: false });

/**
 * The flapping endpoint is down for 5 of every 20 seconds. The circuit opens for 5 s and then for 10 s (± 20 %), so a probe finds the
 * endpoint up again each time.
 */
const [PERIOD, DOWN_FROM, DOWN_UNTIL] = [20 * SECOND, 5 * SECOND, 10 * SECOND];

export const flap: Behaviour = async ({ elapsed }) => {
  const moment = elapsed % PERIOD;
  return moment >= DOWN_FROM && moment < DOWN_UNTIL ? 503 : null;
};
