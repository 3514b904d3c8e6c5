import { setTimeout as sleep } from 'node:timers/promises';
import mysql, { type Connection, type ConnectionOptions } from 'mysql2';
import type { Host } from '../../platform/server-urls.ts';
import { containsGtids, readGtids } from './gtids.ts';
import { type Ask, ER_UNKNOWN_SYSTEM_VARIABLE, type HostState, readHostState } from './host-state.ts';

/** Finds which of several hosts may be written, and notices when another one takes its place. */

/** Milliseconds between two checks of the hosts: while one may be written, and while none may. */
const [EVERY, EVERY_WITHOUT] = [500, 200];
/** Milliseconds after which a host counts as silent. */
const ANSWER_LIMIT = 700;
/** Milliseconds that a caller waits while no host may be written. */
const PATIENCE = 2_000;
/** Milliseconds of one attempt to wait until a new primary has applied the transactions that the previous one committed. */
const CATCH_UP_LIMIT = 5_000;

/** The hosts of DATABASE_URL as one process sees them. They are named like `db2:3306`. */
export interface HostsReport {
  /** The host that takes the writes; null: none may be written. */
  primary: string | null;
  /** The states of the other hosts, as a text for a person. */
  others: string;
  /** Hosts that take writes independently of each other, so that none is chosen. */
  conflicting: readonly string[];
  /** Members of a group that take writes after their start, before they have found their group. */
  startingWritable: readonly string[];
}

export interface Primary {
  /** The host that may be written, or null while there is none. It stays for a while after it has become silent. */
  current(): Host | null;
  report(): HostsReport;
  /**
   * Waits up to 2 s for the host. @throws {NoPrimaryError} when there is none; {UnfitHostsError}, only before the first host was
   * found.
   */
  find(): Promise<Host>;
  /**
   * Whether a new connection leads to the host that may be written. Asks the host itself over that connection. If the host was
   * silent, all hosts are checked too, because another one may have taken its place.
   */
  confirm(host: Host, ask: Ask): Promise<boolean>;
  stop(): void;
}

/** No host may be written at this moment. This may be temporary. */
export class NoPrimaryError extends Error {
  override name = 'NoPrimaryError';
  /** See CONNECTION_CODES in errors.ts. */
  readonly code = 'NO_PRIMARY';
}

/** The hosts are set up so that none can ever be written. A person has to change that. */
export class UnfitHostsError extends Error {
  override name = 'UnfitHostsError';
}

/**
 * Follows the host that may be written. Checks all hosts twice a second, over one connection to each.
 * @param options for connections to each host.
 * @param onChange called with the new host, or null, before `find` returns it, and when anything else in the report has changed.
 */
export function followPrimary(
  hosts: readonly Host[],
  options: ConnectionOptions,
  onChange: (host: Host | null, report: HostsReport) => void,
): Primary {
  const stopping = new AbortController();
  /** Counts what makes the last check doubtful: lost connections and refused ones. */
  let doubts = 0;
  const monitors = hosts.map((host) =>
    createMonitor({ ...options, ...host }, stopping.signal, () => {
      doubts += 1;
    }),
  );
  let current: number | null = null;
  /** Value of `doubts` up to which `current` was seen to take writes. */
  let confirmedUpTo = -1;
  let report: HostsReport = { primary: null, others: '', conflicting: [], startingWritable: [] };
  /** The check in progress. */
  let look: Promise<void> | null = null;
  /** The reason why there is no primary; null before the first check. */
  let failure: Error | null = null;
  let watched = false;
  /** A host was late at the last check, so that nothing was decided. */
  let isLate = false;

  async function lookAtAll(): Promise<void> {
    const doubtsBefore = doubts;
    const states = await Promise.all(monitors.map((monitor) => monitor.read()));
    const complete = await findComplete(monitors, states);
    if (stopping.signal.aborted) return;
    const own = current === null ? undefined : states[current];
    // A change of the primary cuts all connections, so one late answer is not enough.
    isLate = ((own?.kind === 'silent' && own.isLate) || complete === null) && !isLate;
    if (isLate) {
      doubts += 1;
      return;
    }
    const choice = choosePrimary(states, current, complete ?? []);
    const seen = reportOf(hosts, states, choice);
    failure = choice === null ? failureOf(states, seen, { isFirst: !watched }) : null;
    if (choice !== null && choice !== current) {
      if (current !== null) {
        current = null;
        doubts += 1;
        report = { ...seen, primary: null };
        onChange(null, report);
      }
      // The new primary has received every committed transaction, but may not have applied all of them yet. Reads would miss the
      // rest.
      try {
        await monitors[choice]?.catchUp();
      } catch (error) {
        failure = new NoPrimaryError(
          `${seen.primary} may be written, but has not yet applied all earlier commits (${(error as Error).message})`,
        );
        return;
      }
      if (stopping.signal.aborted) return;
    }
    current = choice;
    if (choice !== null && states[choice]?.kind !== 'silent') confirmedUpTo = doubtsBefore;
    else doubts += 1;
    const isChanged = differ(report, seen);
    report = seen;
    if (isChanged) onChange(choice === null ? null : (hosts[choice] ?? null), seen);
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
      const pause = current === null || isLate ? EVERY_WITHOUT : EVERY;
      await sleep(pause, undefined, { signal: stopping.signal }).catch(() => {});
      if (!stopping.signal.aborted) await lookOnce();
    }
  }
  const close = () => {
    for (const monitor of monitors) monitor.close();
  };
  const primary = () => (current === null ? null : (hosts[current] ?? null));
  const isConfirmed = () => current !== null && confirmedUpTo === doubts;

  return {
    current: primary,
    report: () => report,
    async find() {
      const end = performance.now() + PATIENCE;
      for (;;) {
        if (stopping.signal.aborted) throw new Error('Pool is closed.');
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
    async confirm(host, ask) {
      const index = hosts.findIndex((it) => nameOf(it) === nameOf(host));
      const state = await readHostState(ask, monitors[index]?.isMember() ?? false);
      if (state.kind !== 'writable' && state.kind !== 'donor') {
        doubts += 1;
        return false;
      }
      // A check that is in progress may have asked the hosts before the doubt.
      for (let checks = 0; checks < 2 && !isConfirmed(); checks += 1) await lookOnce();
      return isConfirmed() && current === index;
    },
    stop() {
      stopping.abort();
      close();
    },
  };
}

const differ = (one: HostsReport, other: HostsReport): boolean =>
  one.primary !== other.primary ||
  one.conflicting.join() !== other.conflicting.join() ||
  one.startingWritable.join() !== other.startingWritable.join();

/**
 * Chooses the host to write. In a cluster whose members all take writes, this is the first host that is in sync, so that all
 * processes choose the same one. Otherwise it is the only host that takes writes. Of several that take writes, it is the only one that
 * has all transactions of the others. Returns its index; null: none.
 * @param current the host that is used now. It stays if several hosts have the same transactions, and while it does not answer and no
 * other host takes writes.
 * @param complete the hosts that have all transactions of the other hosts that take writes.
 */
export function choosePrimary(
  states: readonly HostState[],
  current: number | null,
  complete: readonly number[] = [],
): number | null {
  const writable = writableOf(states);
  const [first] = writable;
  if (first !== undefined && (writable.length === 1 || isOneSharedCluster(writable))) return first.index;
  if (first !== undefined) {
    if (!areComparable(writable)) return null;
    const candidates = writable.flatMap(({ index }) => (complete.includes(index) ? [index] : []));
    if (candidates.length === 1) return candidates[0] ?? null;
    // A replica that is not read-only has the same transactions as its primary. Only a process that uses the primary knows which is which.
    return current !== null && candidates.includes(current) ? current : null;
  }
  const donor = states.findIndex(({ kind }) => kind === 'donor');
  if (donor !== -1) return donor;
  return current !== null && states[current]?.kind === 'silent' ? current : null;
}

type Writable = Extract<HostState, { kind: 'writable' }> & { index: number };

const writableOf = (states: readonly HostState[]): Writable[] =>
  states.flatMap((state, index) => (state.kind === 'writable' ? [{ ...state, index }] : []));

const isOneSharedCluster = (writable: readonly Writable[]): boolean =>
  writable.every((it) => it.isShared && it.cluster === writable[0]?.cluster);

/**
 * Whether the transactions of hosts say which one is the primary. Of two members that both claim to be the only primary of their group,
 * only the group knows. Nodes of Galera do not count their transactions as one server does.
 */
const areComparable = (writable: readonly Writable[]): boolean => {
  const groups = writable.flatMap(({ cluster }) => cluster ?? []);
  return writable.every(({ isShared }) => !isShared) && new Set(groups).size === groups.length;
};

/**
 * Finds, of several hosts that take writes, those that have all transactions of the others. Each host is asked after all others have
 * said what they have. A replica that is up to date therefore also counts.
 * @returns null if one of them does not answer.
 */
async function findComplete(
  monitors: readonly Monitor[],
  states: readonly HostState[],
): Promise<number[] | null> {
  const writable = writableOf(states);
  if (writable.length < 2 || !areComparable(writable)) return [];
  try {
    const asks = writable.map(({ index }) => (monitors[index] as Monitor).ask);
    const gtids = await Promise.all(asks.map(readGtids));
    const complete = await Promise.all(
      asks.map(async (ask, one) => {
        for (const [other, others] of gtids.entries())
          if (other !== one && (others === null || !(await containsGtids(ask, others)))) return false;
        return true;
      }),
    );
    return writable.flatMap(({ index }, at) => (complete[at] ? [index] : []));
  } catch {
    return null;
  }
}

function reportOf(hosts: readonly Host[], states: readonly HostState[], choice: number | null): HostsReport {
  const namesOf = (isMeant: (state: HostState) => boolean) =>
    states.flatMap((state, index) => (isMeant(state) ? [nameOf(hosts[index])] : []));
  const writable = namesOf(({ kind }) => kind === 'writable');
  return {
    primary: choice === null ? null : nameOf(hosts[choice]),
    others: states
      .flatMap((state, index) => ('reason' in state ? [`${nameOf(hosts[index])} ${state.reason}`] : []))
      .join('; '),
    conflicting: choice === null && writable.length > 1 ? writable : [],
    startingWritable: namesOf(({ member }) => member?.startsWritable ?? false),
  };
}

/** Problems with the hosts that an operator has to solve, in one sentence each. */
export const findHostProblems = ({ conflicting, startingWritable }: HostsReport): string[] => [
  ...(conflicting.length === 0
    ? []
    : [
        `Nothing is written: ${conflicting.join(', ')} take writes independently of each other, and their transactions do not tell which one is the primary. Make all but one read-only.`,
      ]),
  ...startingWritable.map(
    (host) => `${host} takes writes before it has found its group: set super_read_only = ON in its settings.`,
  ),
];

/** Why no host was chosen. */
function failureOf(
  states: readonly HostState[],
  { conflicting, others }: HostsReport,
  { isFirst }: { isFirst: boolean },
): Error {
  const groups = writableOf(states).flatMap(({ cluster, isShared }) => (isShared ? [] : (cluster ?? [])));
  if (new Set(groups).size < groups.length)
    return new NoPrimaryError(
      `Each of ${conflicting.join(', ')} says that it is the primary of the group: one has been expelled.`,
    );
  if (conflicting.length > 0)
    return new NoPrimaryError(
      `DATABASE_URL names servers that take writes independently of each other (${conflicting.join(', ')}), and their transactions do not tell which one is the primary: make all but one read-only.`,
    );
  const message = `None of the hosts in DATABASE_URL may be written: ${others}.`;
  const isUnfit = states.some(({ kind }) => kind === 'unfit');
  return isFirst && isUnfit ? new UnfitHostsError(message) : new NoPrimaryError(message);
}

export const nameOf = (host: Host | undefined): string =>
  host === undefined
    ? ''
    : host.host.includes(':')
      ? `[${host.host}]:${host.port}`
      : `${host.host}:${host.port}`;

type Monitor = ReturnType<typeof createMonitor>;

/**
 * Asks one host, and keeps the connection.
 * @param signal when aborted, no more connections are opened.
 * @param onLost called when the host has ended the connection.
 */
function createMonitor(options: ConnectionOptions, signal: AbortSignal, onLost: () => void) {
  let connection: Connection | null = null;
  let isMember = false;

  const close = () => {
    connection?.destroy();
    connection = null;
  };
  async function ask<T>(statement: string, timeout = ANSWER_LIMIT): Promise<T[]> {
    if (signal.aborted) throw new Error('Pool is closed.');
    if (connection === null) {
      connection = mysql.createConnection({ ...options, connectTimeout: ANSWER_LIMIT });
      // Each statement reports its own failure.
      connection.on('error', onLost);
    }
    const used = connection;
    return new Promise((resolve, reject) => {
      // A connection that is destroyed while it connects does not answer.
      const onStop = () => reject(new Error('Pool is closed.'));
      signal.addEventListener('abort', onStop, { once: true });
      used.query({ sql: statement, timeout }, (error, rows) => {
        signal.removeEventListener('abort', onStop);
        if (error === null) return resolve(rows as T[]);
        // The late answer would hold up the next statement.
        if (error.code === 'PROTOCOL_SEQUENCE_TIMEOUT') close();
        reject(error);
      });
    });
  }
  return {
    close,
    ask: ask as Ask,
    /** Whether the host was a member of a group of MySQL when it answered last. */
    isMember: () => isMember,
    async read(): Promise<HostState> {
      try {
        const state = await readHostState(ask as Ask, isMember);
        isMember = state.member !== undefined;
        return state;
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

/** Makes the statements of this session wait for all earlier commits, in Group Replication and in Galera. */
const CATCH_UP = ["SET SESSION group_replication_consistency = 'BEFORE'", 'SET SESSION wsrep_sync_wait = 1'];
