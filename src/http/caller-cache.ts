import type { Caller } from './environment.ts';

/** How long a process may go on with a key that another one has deleted. Milliseconds. */
const KEPT_FOR = 1_000;

const KEPT_KEYS = 10_000;

/** The callers of the API keys that were used within the last second, so that not every request asks MySQL who sent it. */
export interface CallerCache {
  /** @param hash the key's SHA-256. @param read finds out who it is; null: nobody. That is not kept. */
  find(hash: Buffer, read: () => Promise<Caller | null>): Promise<Caller | null>;
  /** Forgets a key that was deleted: in this process it stops working immediately. */
  forget(apiKeyId: string): void;
}

/** @param clock milliseconds; must never go back. */
export function createCallerCache(clock: () => number = () => performance.now()): CallerCache {
  const kept = new Map<string, { caller: Caller; until: number }>();
  /** Changes when a key is deleted: what was read before is not kept then. */
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
