import { type DeduplicationStore, LEASE_SECONDS } from './store.ts';

/**
 * Creates a store in this process's memory.
 *
 * It knows a duplicate of the last `limit` notifications, in this process, until it ends. After a restart, and in other processes, a
 * duplicate is processed again.
 * @param limit number of ids. Default: 10,000.
 * @param leaseSeconds how long a claim lasts. Longer than your handlers take. Default: 60.
 */
export function memoryStore({
  limit = 10_000,
  leaseSeconds = LEASE_SECONDS,
}: {
  limit?: number;
  leaseSeconds?: number;
} = {}): DeduplicationStore {
  /** The end of each claim: milliseconds since 1970. */
  const busy = new Map<string, { end: number }>();
  const done = new Set<string>();
  return {
    async claim(id) {
      if (done.has(id)) return 'done';
      if ((busy.get(id)?.end ?? 0) > Date.now()) return 'busy';
      const lease = { end: Date.now() + leaseSeconds * 1_000 };
      busy.set(id, lease);
      return {
        async complete() {
          busy.delete(id);
          done.add(id);
          const [oldest] = done;
          if (done.size > limit && oldest !== undefined) done.delete(oldest);
        },
        async release() {
          if (busy.get(id) === lease) busy.delete(id);
        },
      };
    },
  };
}
