import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { onConnection } from '../../database/connection.ts';
import { isTransient } from '../../database/errors.ts';
import type { Log } from '../../platform/log.ts';

/** Repeats tasks in only one maintenance process at a time: the leader, which holds a lock in MySQL. */

/** How often the leader checks that it still has the lock, and the other processes try to get it. Milliseconds. */
const CHECK_EVERY = 2_000;

/** A lock ends with its connection. */
const TAKE_LOCK = 'SELECT GET_LOCK(?, 0) AS taken';
const IS_LOCK_HELD = 'SELECT IS_USED_LOCK(?) = CONNECTION_ID() AS held';
const RELEASE = 'DO RELEASE_LOCK(?)';

/**
 * The name of a lock. Lock names apply to the whole server, where other databases may hold other installations. They have at most 64
 * characters.
 */
const nameLock = (database: DataSource, name: string): string =>
  `ledgerbell.${name}.${createHash('sha256').update(String(database.options.database)).digest('hex').slice(0, 16)}`;

/** Work that is repeated. Tasks run concurrently. A failure of one does not affect the others. */
export interface Task {
  /** The name in the log. */
  name: string;
  /** Milliseconds from the end of one run to the beginning of the next, even after a failure. */
  every: number;
  /** Milliseconds until the first run, so that not all tasks take their connections at the same moment. Default: 0. */
  after?: number;
  /** @param signal when it is aborted, the work stops soon. */
  run(signal: AbortSignal): Promise<unknown>;
}

/**
 * Runs the tasks while this process is the leader. If the leader ends, another process takes over within 2 s. If the leader only loses
 * its connection, its tasks are aborted. For a moment, the tasks of two processes may then run at the same time.
 * @param name of the lock.
 */
export function startLeader(
  { database, log }: { database: DataSource; log: Log },
  name: string,
  tasks: readonly Task[],
) {
  const lockName = nameLock(database, name);
  const ending = new AbortController();

  const lead = () =>
    onConnection(database, async (sql) => {
      const [lock] = await sql.query<{ taken: string | number | null }[]>(TAKE_LOCK, [lockName]);
      if (Number(lock?.taken) !== 1) return;
      const leading = new AbortController();
      const signal = AbortSignal.any([ending.signal, leading.signal]);
      // Any number of tasks listen to the signal.
      setMaxListeners(0, signal);
      const running = tasks.map((task) => repeat(task, log, signal));
      try {
        for (;;) {
          await pause(CHECK_EVERY, signal);
          if (signal.aborted) return;
          const [row] = await sql.query<{ held: string | number | null }[]>(IS_LOCK_HELD, [lockName]);
          if (Number(row?.held) !== 1) return;
        }
      } finally {
        leading.abort();
        await Promise.all(running);
        await sql.query(RELEASE, [lockName]).catch(() => {});
      }
    });

  const stopped = (async () => {
    while (!ending.signal.aborted) {
      await lead().catch((err: unknown) =>
        log.warn({ err }, 'maintenance interrupted; it continues within seconds'),
      );
      await pause(CHECK_EVERY, ending.signal);
    }
  })();

  return {
    /** Ends the tasks, and resolves when all have ended. */
    stop(): Promise<void> {
      ending.abort();
      return stopped;
    },
  };
}

async function repeat({ name, every, after = 0, run }: Task, log: Log, signal: AbortSignal): Promise<void> {
  if (after > 0) await pause(after, signal);
  while (!signal.aborted) {
    try {
      log.debug({ task: name, result: await run(signal) }, 'maintenance task done');
    } catch (err) {
      log[isTransient(err) ? 'warn' : 'error'](
        { err, task: name },
        'a maintenance task failed; it is repeated later',
      );
    }
    await pause(every, signal);
  }
}

/** Ends early when the signal is aborted. */
const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  setTimeout(milliseconds, undefined, { signal }).catch(() => {});
