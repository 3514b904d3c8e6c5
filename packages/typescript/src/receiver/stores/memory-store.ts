import type { DeduplicationStore } from './store.ts';

/**
 * Creates a store in this process's memory.
 *
 * It knows a duplicate of the last `limit` notifications, in this process, until it ends. After a restart, and in other processes, a
 * duplicate is processed again.
 * @param limit number of ids. Default: 10,000.
 */
export function memoryStore({ limit = 10_000 }: { limit?: number } = {}): DeduplicationStore {
  const busy = new Set<string>();
  const done = new Set<string>();
  return {
    async claim(id) {
      if (done.has(id)) return 'done';
      if (busy.has(id)) return 'busy';
      busy.add(id);
      return {
        async complete() {
          busy.delete(id);
          done.add(id);
          const [oldest] = done;
          if (done.size > limit && oldest !== undefined) done.delete(oldest);
        },
        async release() {
          busy.delete(id);
        },
      };
    },
  };
}
