import type { Caller } from './environment.ts';

/** Milliseconds a caller is cached, and so how long a process may still accept a key that another process has deleted. */
const KEPT_FOR = 1_000;

const KEPT_KEYS = 10_000;

/** Caches the caller of an API key for a second, so that not every request has to query MySQL. */
export interface CallerCache {
  /**
   * @param hash SHA-256 of the key.
   * @param read looks the caller up; null for an unknown key, which is not cached.
   */
  find(hash: Buffer, read: () => Promise<Caller | null>): Promise<Caller | null>;
  /** Removes a deleted key. In this process it stops working immediately. */
  forget(apiKeyId: string): void;
}

/** @param clock milliseconds; must never go back. */
export function createCallerCache(clock: () => number = () => performance.now()): CallerCache {
  const kept = new Map<string, { caller: Caller; until: number }>();
  /** Grows when a key is deleted. A read that began before is not cached, because it may have found the deleted key. */
  let version = 0;
  return {
    async find(hash, read) {
      const key = hash.toString('base64');
      const found = kept.get(key);
      if (found !== undefined && found.until > clock()) return found.caller;
      kept.delete(key);
      const before = version;
      const until = clock() + KEPT_FOR;
      const caller = await read();
      if (caller === null || version !== before) return caller;
      kept.set(key, { caller, until });
      const [oldest = key] = kept.keys();
      if (kept.size > KEPT_KEYS) kept.delete(oldest);
      return caller;
    },
    forget(apiKeyId) {
      version += 1;
      for (const [key, { caller }] of kept) if (caller.apiKeyId === apiKeyId) kept.delete(key);
    },
  };
}
