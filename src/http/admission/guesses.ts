import { LRUCache } from 'lru-cache';
import type { Caller } from '../../customers/caller.ts';
import type { Runtime } from '../../database/runtime.ts';
import { nameClient } from '../app.ts';
import { createQuota, tooManyRequests, WINDOW_SECONDS } from '../quotas.ts';

/** How many unknown keys one client may send in 10 s. */
const GUESSES = 100;

/** How many valid keys this process remembers. */
const MAX_PROVEN = 10_000;

export interface Attempt {
  /** SHA-256 of the key. */
  hash: Buffer;
  /** The address of the client. */
  address: string | undefined;
  find: () => Promise<Caller | null>;
}

/**
 * Throttles the guessing of API keys. A client that has sent 100 unknown keys within 10 s is answered 429 until the 10 s are
 * over. Its keys are not looked up during that time, so a correct guess looks like a wrong one. A client is an IPv4 address or an
 * IPv6 /64, because a client with one address of a /64 can use all of them. All processes share the count. While Redis is unreachable,
 * each process counts alone.
 *
 * A key that was valid in this process before is always looked up, because other clients may share the guesser's address. Behind a
 * proxy that is not in TRUSTED_PROXIES, all clients share one address.
 */
export function limitGuesses({ redis, prefix }: Pick<Runtime, 'redis' | 'prefix'>) {
  const unknownKeys = createQuota({ redis, prefix: `${prefix}:guesses`, limit: GUESSES });
  const proven = new LRUCache<string, true>({ max: MAX_PROVEN });

  function refuseTooMany(address: string | undefined): void {
    const left = unknownKeys.look(nameClient(address));
    if (!left.exhausted) return;
    throw tooManyRequests(
      'too-many-unknown-keys',
      left,
      `More than ${GUESSES} unknown API keys came from this address within ${WINDOW_SECONDS} s.`,
    );
  }

  /** @throws {Problem} 429 after too many unknown keys. */
  return async function attempt({ hash, address, find }: Attempt): Promise<Caller | null> {
    const name = hash.toString('base64');
    const isProven = proven.has(name);
    if (!isProven) refuseTooMany(address);
    const caller = await find();
    // Checked again, so that concurrent requests that passed the first check learn nothing beyond the limit.
    if (!isProven) refuseTooMany(address);
    if (caller !== null) proven.set(name, true);
    else {
      proven.delete(name);
      unknownKeys.take(nameClient(address));
    }
    return caller;
  };
}
