import { createHash } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { onConnection } from '../platform/database/connection.ts';
import { isConnectionError } from '../platform/database/errors.ts';
import type { Log } from '../platform/log.ts';

/** Repeats work that takes long, in only one of the maintenance processes at a time. */

/** Names belong to the whole server, and have at most 64 characters. A lock ends with its connection. */
const LOCK = 'SELECT GET_LOCK(?, 0) AS taken';
const RELEASE = 'DO RELEASE_LOCK(?)';

/** Other databases of the server may hold installations of their own. */
const nameLock = (database: DataSource, name: string): string =>
  `ledgerbell.${name}.${createHash('sha256').update(String(database.options.database)).digest('hex').slice(0, 16)}`;

export interface LockedLoop {
  /** Aborts the work, and resolves when it has ended. */
  stop(): Promise<void>;
}

/**
 * Begins `work` immediately, and again `every` milliseconds after it has ended. A process that does not get the lock waits as long. If the
 * lock is lost with its connection, two processes may work at the same time.
 * @param work stops soon when its signal is aborted. If it throws, that is logged, and it is tried again later.
 */
export function startLockedLoop(
  { database, log }: { database: DataSource; log: Log },
  { name, every }: { name: string; every: number },
  work: (signal: AbortSignal) => Promise<void>,
): LockedLoop {
  const lockName = nameLock(database, name);
  const ending = new AbortController();
  const { signal } = ending;
  let timer: NodeJS.Timeout | undefined;
  let running = Promise.resolve();

  const workOnce = () =>
    onConnection(database, async (sql) => {
      const [lock] = await sql.query<{ taken: string | number | null }[]>(LOCK, [lockName]);
      if (Number(lock?.taken) !== 1) return;
      try {
        await work(signal);
      } finally {
        await sql.query(RELEASE, [lockName]).catch(() => {});
      }
    });

  const repeat = () => {
    running = workOnce()
      .catch((err: unknown) => {
        const level = isConnectionError(err) ? 'warn' : 'error';
        log[level]({ err }, `${name} interrupted; it continues later`);
      })
      .then(() => {
        if (!signal.aborted) timer = setTimeout(repeat, every);
      });
  };
  repeat();

  return {
    async stop() {
      ending.abort();
      clearTimeout(timer);
      await running;
    },
  };
}
