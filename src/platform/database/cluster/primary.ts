import { setTimeout as sleep } from 'node:timers/promises';
import mysql, { type Connection, type ConnectionOptions } from 'mysql2';
import type { Host } from '../../config/server-urls.ts';
import { type Ask, type HostState, readHostState } from './host-state.ts';

/** Finds which of several hosts may be written, and notices when another one takes its place. */

/** Milliseconds between two checks of the hosts: while one may be written, and while none may. */
const [EVERY, EVERY_WITHOUT] = [500, 200];
/** Milliseconds after which a host counts as silent. */
const ANSWER_LIMIT = 700;
/** Milliseconds that a caller waits while no host may be written. */
const PATIENCE = 2_000;
/** Milliseconds of one attempt to wait until a new primary has applied the transactions that the previous one committed. */
const CATCH_UP_LIMIT = 5_000;

export interface Primary {
  /** The host that may be written, or null while there is none. */
  current(): Host | null;
  /**
   * Waits up to 2 s for the host. @throws {NoPrimaryError} when there is none; {UnfitHostsError}, only before the first host was
   * found.
   */
  find(): Promise<Host>;
  stop(): void;
}

/** No host may be written at this moment. This may be temporary. */
class NoPrimaryError extends Error {
  override name = 'NoPrimaryError';
  /** See CONNECTION_CODES in errors.ts. */
  readonly code = 'NO_PRIMARY';
}

/** The hosts are set up so that more than one would be written, or none can ever be. A person has to change that. */
export class UnfitHostsError extends Error {
  override name = 'UnfitHostsError';
}

/**
 * Follows the host that may be written. Checks all hosts twice a second, over one connection to each.
 * @param options for connections to each host.
 * @param onChange called with the new host, or null, before `find` returns it. Also gets the states of the other hosts as a text.
 */
export function followPrimary(
  hosts: readonly Host[],
  options: ConnectionOptions,
  onChange: (host: Host | null, others: string) => void,
): Primary {
  const stopping = new AbortController();
  const monitors = hosts.map((host) => createMonitor({ ...options, ...host }, stopping.signal));
  let current: number | null = null;
  /** The check in progress. */
  let look: Promise<void> | null = null;
  /** The reason why there is no primary; null before the first check. */
  let failure: Error | null = null;
  let watched = false;
  /** The primary was late at the last check. */
  let isDoubted = false;

  async function lookAtAll(): Promise<void> {
    const states = await Promise.all(monitors.map((monitor) => monitor.read()));
    if (stopping.signal.aborted) return;
    const own = current === null ? undefined : states[current];
    // A change of the primary cuts all connections, so one late answer is not enough.
    isDoubted = own?.kind === 'silent' && own.isLate && !isDoubted;
    if (isDoubted) return;
    const choice = choosePrimary(states, current);
    const others = describe(hosts, states);
    failure = choice === null ? failureOf(hosts, states, { isFirst: !watched, others }) : null;
    if (choice === current) return;
    if (choice !== null) {
      // The new primary has received every committed transaction, but may not have applied all of them yet. Reads would miss the
      // rest.
      try {
        await monitors[choice]?.catchUp();
      } catch (error) {
        failure = new NoPrimaryError(
          `${nameOf(hosts[choice])} may be written, but has not yet applied all earlier commits (${(error as Error).message})`,
        );
        return;
      }
      if (stopping.signal.aborted) return;
    }
    current = choice;
    onChange(choice === null ? null : (hosts[choice] ?? null), others);
  }
  const lookOnce = () => {
    look ??= lookAtAll().finally(() => {
      look = null;
    });
    return look;
  };
  /** Checks the hosts repeatedly. Starts only after the first host was found, so that a failed start leaves nothing running. */
  async function watch(): Promise<void> {
    watched = true;
    while (!stopping.signal.aborted) {
      const pause = current === null || isDoubted ? EVERY_WITHOUT : EVERY;
      await sleep(pause, undefined, { signal: stopping.signal }).catch(() => {});
      if (!stopping.signal.aborted) await lookOnce();
    }
  }
  const close = () => {
    for (const monitor of monitors) monitor.close();
  };
  const primary = () => (current === null ? null : (hosts[current] ?? null));

  return {
    current: primary,
    async find() {
      const end = performance.now() + PATIENCE;
      for (;;) {
        const found = primary();
        if (found !== null) return found;
        if (failure instanceof UnfitHostsError || (failure !== null && performance.now() > end)) {
          const error = failure;
          if (!watched) {
            failure = null;
            close();
          }
          throw error;
        }
        await lookOnce();
        if (current !== null && !watched) void watch();
        if (current === null) await sleep(EVERY_WITHOUT);
      }
    },
    stop() {
      stopping.abort();
      close();
    },
  };
}

/**
 * Chooses the host to write. In a cluster whose members all take writes, this is the first host that is in sync, so that all
 * processes choose the same one. Otherwise it is the only host that takes writes. Returns its index; null: none.
 * @param current the host that is used now. It stays while two hosts contradict each other, and also while it does not answer and
 * no other host takes writes.
 */
export function choosePrimary(states: readonly HostState[], current: number | null): number | null {
  const writable = writableOf(states);
  const [first] = writable;
  if (first !== undefined && (writable.length === 1 || isOneCluster(writable, { isShared: true })))
    return first.index;
  if (first !== undefined) return writable.find(({ index }) => index === current)?.index ?? null;
  const donor = states.findIndex(({ kind }) => kind === 'donor');
  if (donor !== -1) return donor;
  return current !== null && states[current]?.kind === 'silent' ? current : null;
}

type Writable = Extract<HostState, { kind: 'writable' }> & { index: number };

const writableOf = (states: readonly HostState[]): Writable[] =>
  states.flatMap((state, index) => (state.kind === 'writable' ? [{ ...state, index }] : []));

const isOneCluster = (writable: readonly Writable[], { isShared }: { isShared: boolean }): boolean =>
  writable.every(
    (it) => it.isShared === isShared && it.cluster !== null && it.cluster === writable[0]?.cluster,
  );

/** Why no host was chosen. */
function failureOf(
  hosts: readonly Host[],
  states: readonly HostState[],
  { isFirst, others }: { isFirst: boolean; others: string },
): Error {
  const writable = writableOf(states);
  const names = writable.map(({ index }) => nameOf(hosts[index])).join(', ');
  if (writable.length > 1 && isOneCluster(writable, { isShared: false }))
    return new NoPrimaryError(
      `Each of ${names} says that it is the primary of the group: one has been expelled.`,
    );
  const [message, isUnfit] =
    writable.length > 1
      ? [
          `DATABASE_URL names servers that take writes independently of each other (${names}): make all but one read-only.`,
          true,
        ]
      : [
          `None of the hosts in DATABASE_URL may be written: ${others}.`,
          states.some(({ kind }) => kind === 'unfit'),
        ];
  return isFirst && isUnfit ? new UnfitHostsError(message) : new NoPrimaryError(message);
}

const describe = (hosts: readonly Host[], states: readonly HostState[]): string =>
  states
    .flatMap((state, index) => ('reason' in state ? [`${nameOf(hosts[index])} ${state.reason}`] : []))
    .join('; ');

export const nameOf = (host: Host | undefined): string =>
  host === undefined
    ? ''
    : host.host.includes(':')
      ? `[${host.host}]:${host.port}`
      : `${host.host}:${host.port}`;

/** Asks one host, and keeps the connection. @param signal when aborted, no more connections are opened. */
function createMonitor(options: ConnectionOptions, signal: AbortSignal) {
  let connection: Connection | null = null;

  const close = () => {
    connection?.destroy();
    connection = null;
  };
  async function ask<T>(statement: string, timeout = ANSWER_LIMIT): Promise<T[]> {
    if (signal.aborted) throw new Error('Pool is closed.');
    if (connection === null) {
      connection = mysql.createConnection({ ...options, connectTimeout: ANSWER_LIMIT });
      // Each statement reports its own failure.
      connection.on('error', () => {});
    }
    const used = connection;
    return new Promise((resolve, reject) => {
      used.query({ sql: statement, timeout }, (error, rows) =>
        error === null ? resolve(rows as T[]) : reject(error),
      );
    });
  }
  return {
    close,
    async read(): Promise<HostState> {
      try {
        return await readHostState(ask as Ask);
      } catch (error) {
        close();
        const { code = '', message } = error as NodeJS.ErrnoException;
        const isLate = code === 'PROTOCOL_SEQUENCE_TIMEOUT' || code === 'ETIMEDOUT';
        const reason = code.startsWith('ER_')
          ? `refuses (${message})`
          : `cannot be reached (${code || message})`;
        return { kind: 'silent', reason, isLate };
      }
    },
    /** Waits until the host has applied all transactions that its cluster has committed. */
    async catchUp(): Promise<void> {
      try {
        for (const setting of CATCH_UP) {
          // Each server knows at most one of these settings.
          await ask(setting).catch((error: NodeJS.ErrnoException) => {
            if (Number(error.errno) !== ER_UNKNOWN_SYSTEM_VARIABLE) throw error;
          });
        }
        await ask('SELECT 1', CATCH_UP_LIMIT);
      } finally {
        // With these settings, later statements on this connection would wait too if the cluster loses its majority.
        close();
      }
    },
  };
}

const ER_UNKNOWN_SYSTEM_VARIABLE = 1193;

/** Makes the statements of this session wait for all earlier commits, in Group Replication and in Galera. */
const CATCH_UP = ["SET SESSION group_replication_consistency = 'BEFORE'", 'SET SESSION wsrep_sync_wait = 1'];
