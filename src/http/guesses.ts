import ipaddr from 'ipaddr.js';
import type { Runtime } from '../runtime.ts';
import type { Caller } from './environment.ts';
import { createQuota, WINDOW_SECONDS } from './quota.ts';
import { tooManyRequests } from './rate-limit.ts';

/** Unknown keys that one client may send in 10 s. */
const GUESSES = 100;

/** Keys that this process remembers as right. */
const MAX_PROVEN = 10_000;

export interface Attempt {
  /** SHA-256 of the key. */
  hash: Buffer;
  /** The address that the connection comes from. */
  address: string | undefined;
  find: () => Promise<Caller | null>;
}

/**
 * Throttles the guessing of API keys: a client that has sent 100 unknown ones within 10 s is answered 429 until the 10 s are
 * over, before anyone looks for its key, so that a right guess cannot be told from a wrong one. A client is an IPv4 address or
 * an IPv6 /64, since whoever has one address there has them all. All processes count together; while Redis is away, each does.
 *
 * A key that was right in this process before is let through: others may share the address of the one who guesses. Headers
 * such as X-Forwarded-For are not believed, since a guesser writes them too: behind a proxy all clients are one.
 */
export function limitGuesses({ redis, prefix }: Pick<Runtime, 'redis' | 'prefix'>) {
  const wrong = createQuota({ redis, prefix: `${prefix}:guesses`, limit: GUESSES });
  const proven = new Set<string>();

  function refuseTooMany(address: string | undefined): void {
    const left = wrong.look(nameClient(address));
    if (!left.exhausted) return;
    throw tooManyRequests(
      left,
      `More than ${GUESSES} unknown API keys came from this address within ${WINDOW_SECONDS} s.`,
    );
  }

  function remember(name: string): void {
    // Added anew, so that the one that was not used for longest comes first, and goes first.
    proven.delete(name);
    proven.add(name);
    if (proven.size <= MAX_PROVEN) return;
    const [oldest = name] = proven;
    proven.delete(oldest);
  }

  /** @throws {Problem} 429 after too many unknown keys. */
  return async function attempt({ hash, address, find }: Attempt): Promise<Caller | null> {
    const name = hash.toString('base64');
    const isProven = proven.has(name);
    if (!isProven) refuseTooMany(address);
    const caller = await find();
    // Those that were all under way before the first was counted learn nothing either.
    if (!isProven) refuseTooMany(address);
    if (caller !== null) remember(name);
    else {
      proven.delete(name);
      wrong.take(nameClient(address));
    }
    return caller;
  };
}

/** One name for all addresses that one client can easily come from. */
export function nameClient(address: string | undefined): string {
  if (address === undefined || !ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed.toString();
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}
