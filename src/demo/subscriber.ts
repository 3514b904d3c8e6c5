import { type Receiver, startReceiver } from '../receiving/receiver.ts';
import { checkNotification, type Secrets } from '../receiving/verification.ts';
import type { Subscription } from './subscriptions.ts';

const ACCEPTED = 204;
const NOT_GENUINE = 401;

/** A receiver of one webhook, and the results of its checks. */
export interface Subscriber {
  subscription: Subscription;
  url: string;
  /** Ids of the movements whose notifications had a valid signature and hash. */
  verified: ReadonlySet<string>;
  /** Why it refused other notifications. */
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
    const { problem, hash } = checkNotification(headers, body, secrets, Date.now());
    if (problem !== null || hash !== 'verified') {
      problems.push(problem ?? 'The hash was not checked.');
      return NOT_GENUINE;
    }
    verified.add(String(headers['ledgerbell-transaction-id']));
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
