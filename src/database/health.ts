import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Log } from '../platform/log.ts';
import type { Queues } from '../platform/queues.ts';
import { redisProblem } from '../platform/redis.ts';
import { onConnection, recentLackOfRoom } from './connection.ts';
import { isRetryableLockError, mysqlProblem } from './errors.ts';
import { findPacketProblem } from './packet-size.ts';

/** Looks at MySQL and at Redis, and keeps what it sees for the callers. */

/** `ok`, `not available`, or what is wrong with a server, for a sentence that begins with its name: "refuses writes: it is read-only". */
export type ServerState = string;

/** What this process sees of MySQL and Redis. */
export interface Health {
  mysql: ServerState;
  redis: ServerState;
  /** What MySQL refuses although it works, in words like those of a state. null: nothing. */
  mysqlLimit: string | null;
  /** Milliseconds of a round trip; null: the server has not answered. */
  mysqlRoundTrip: number | null;
  redisRoundTrip: number | null;
  /** Milliseconds by which the clock of this process is ahead of MySQL's. Negative: behind. null: not measured. */
  clockAhead: number | null;
}

const SECOND = 1_000;

/** Milliseconds that a server has for its answers. */
export const PATIENCE = 2 * SECOND;

/** MySQL decides when something is due, and the process signs and logs with its own clock. Milliseconds. */
const CLOCK_TOLERANCE = 5 * SECOND;

const HANGS = 'has not finished a write for 5 s';

/** Milliseconds that a write may take. A busy disk can take more than 2 s, and a lock that is waited for fails after 1 or 2 s. */
export const WRITE_PATIENCE = 5 * SECOND;

/** Tables that a movement needs from its request to its delivery. */
const NEEDED_TABLES = [
  'idempotency_keys',
  'imports',
  'import_parts',
  'import_locks',
  'group_commits',
  'accounts',
  'transactions',
  'webhook_backlogs',
  'webhook_cursors',
  'deliveries',
  'retries',
  'attempts',
];

/** Opens the tables for writing, and reads and locks no row. It waits for LOCK TABLES and ALTER TABLE, as a write would. */
const OPEN_TABLES = `SELECT 1 FROM ${NEEDED_TABLES.join(', ')} WHERE FALSE FOR UPDATE`;

/** One of 256 rows, so that processes do not wait for each other. A read-only server or a full binary log refuses or holds the write. */
const WRITE_CHECK_ROW = `
  INSERT INTO write_checks (id, written_at) VALUES (?, NOW(6)) ON DUPLICATE KEY UPDATE written_at = NOW(6)`;

/**
 * Creates a function that looks at MySQL and Redis: it reads, and writes something small, because a server that only answers is not
 * enough. Callers share a look that is under way. It logs what has changed, and never throws.
 */
export function watchHealth({
  database,
  queues,
  log,
}: {
  database: DataSource;
  queues: Pick<Queues, 'checkWrite'>;
  log: Log;
}): () => Promise<Health> {
  const said: Record<string, ServerState> = { mysql: 'ok', redis: 'ok', limit: 'ok', clock: 'ok' };
  const say = (what: 'mysql' | 'redis' | 'limit', name: string, state: ServerState) => {
    if (said[what] === state) return;
    said[what] = state;
    if (state === 'ok') log.info(`${name} works again`);
    else log.error(sentenceOf(name, state));
  };
  const sayClock = (ahead: number) => {
    const problem = clockProblem(ahead);
    if (problem !== null && said.clock === 'ok') log.warn(`The clock of this process is ${problem}`);
    said.clock = problem ?? 'ok';
  };
  const checkWrite = createWriteCheck(database);
  return keepAnswer(0, async () => {
    const [mysql, redis] = await Promise.all([lookAtMysql(database, checkWrite), lookAtRedis(queues)]);
    say('mysql', 'MySQL', mysql.state);
    say('redis', 'Redis', redis.state);
    if (mysql.state === 'ok') say('limit', 'MySQL', mysql.limit ?? 'ok');
    if (mysql.clockAhead !== null) sayClock(mysql.clockAhead);
    return {
      mysql: mysql.state,
      redis: redis.state,
      mysqlLimit: mysql.limit,
      mysqlRoundTrip: mysql.roundTrip,
      redisRoundTrip: redis.roundTrip,
      clockAhead: mysql.clockAhead,
    };
  });
}

/** "cannot be reached", "refuses writes: its disk is full" */
export const predicateOf = (state: ServerState): string =>
  state === 'not available' ? 'cannot be reached' : state;

/** The state of MySQL, or what it refuses although it works. `ok`: neither. */
export const mysqlWords = ({ mysql, mysqlLimit }: Pick<Health, 'mysql' | 'mysqlLimit'>): ServerState =>
  mysql === 'ok' ? (mysqlLimit ?? 'ok') : mysql;

/** "MySQL refuses writes: its disk is full." */
export const sentenceOf = (server: string, state: ServerState): string => `${server} ${predicateOf(state)}.`;

/** "12 s ahead of MySQL's; …" null: the clocks differ by 5 s or less. */
export function clockProblem(aheadMs: number): string | null {
  if (Math.abs(aheadMs) <= CLOCK_TOLERANCE) return null;
  const seconds = Math.round(Math.abs(aheadMs) / SECOND);
  return `${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} MySQL's. Signatures carry this clock; set both by NTP.`;
}

async function lookAtMysql(database: DataSource, checkWrite: WriteCheck) {
  const started = performance.now();
  let roundTrip: number | null = null;
  let clockAhead: number | null = null;
  let limit: string | null = null;
  const look = async (): Promise<ServerState> => {
    const before = Date.now();
    const [row] = await database.query<{ now: string }[]>('SELECT UNIX_TIMESTAMP(NOW(6)) AS now');
    roundTrip = performance.now() - started;
    clockAhead = (before + Date.now()) / 2 - Number(row?.now) * SECOND;
    limit = await findPacketProblem(database);
    return checkWrite();
  };
  const state = await within(
    look().catch((error: unknown) => stateOf(mysqlProblem(error))),
    PATIENCE,
    // Requests that wait for the same cause may have all connections.
    () => (checkWrite.known() === 'ok' ? 'does not answer' : checkWrite.known()),
  );
  return { state, limit, roundTrip, clockAhead };
}

interface WriteCheck {
  /** Writes to MySQL, and returns the outcome: that of an earlier write if this one takes longer than `patience` milliseconds. */
  (patience?: number): Promise<ServerState>;
  /** The outcome that is known, without a write. */
  known(): ServerState;
}

/** Creates a function that writes to MySQL. What it says of a cause stays as long as the cause. */
export function createWriteCheck(database: DataSource): WriteCheck {
  const id = randomInt(256);
  let outcome: ServerState = 'ok';
  let write: Promise<void> | null = null;
  /** When the write under way was sent, which may wait for a connection first. */
  let sentAt = Number.POSITIVE_INFINITY;
  const begin = async () => {
    try {
      await onConnection(database, async (sql) => {
        sentAt = performance.now();
        await sql.query(WRITE_CHECK_ROW, [id]);
        await sql.query(OPEN_TABLES);
      });
      outcome = 'ok';
    } catch (error) {
      const problem = mysqlProblem(error);
      // A write that hung may go on in MySQL, and hold the lock for which this one has waited.
      if (outcome === HANGS && isRetryableLockError(error)) return;
      // A write that was given up says less than what is known. The look at MySQL finds out itself whether it can be reached.
      if (outcome !== 'ok' && problem === 'cannot be reached') return;
      // Before the migrations have run, the tables are missing. That says nothing about MySQL.
      outcome = problem === null ? 'ok' : stateOf(problem);
    } finally {
      write = null;
      sentAt = Number.POSITIVE_INFINITY;
    }
  };
  const known = () => {
    if (performance.now() - sentAt >= WRITE_PATIENCE) outcome = HANGS;
    return outcome;
  };
  const check = async (patience = SECOND) => {
    // A write that hangs is not repeated. It would only take one more connection.
    write ??= begin();
    await Promise.race([write, sleep(patience, undefined, { ref: false })]);
    const state = known();
    return state === 'ok' ? (recentLackOfRoom(database) ?? 'ok') : state;
  };
  return Object.assign(check, { known });
}

/** Writes to Redis. */
export async function lookAtRedis(queues: Pick<Queues, 'checkWrite'>) {
  const started = performance.now();
  const look = queues.checkWrite().then(
    () => 'ok',
    (error: unknown) => stateOf(redisProblem(error)),
  );
  const state = await within(look, PATIENCE, () => 'does not answer');
  return { state, roundTrip: state === 'ok' ? performance.now() - started : null };
}

/** The programs that ask /readyz know these words for a server that cannot be reached. */
export const stateOf = (problem: string | null): ServerState =>
  problem === null || problem === 'cannot be reached' ? 'not available' : problem;

/** The value, or `late()` if it does not come within so many milliseconds. */
export async function within<T>(value: Promise<T>, milliseconds: number, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(late()), milliseconds);
  });
  try {
    return await Promise.race([value, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Asks at most once per `milliseconds`, and not again before an answer has come. Other callers get the last answer. */
export function keepAnswer<T>(milliseconds: number, ask: () => Promise<T>): () => Promise<T> {
  let last: { answer: Promise<T>; until: number } | null = null;
  return () => {
    if (last === null || performance.now() >= last.until) {
      const kept = { answer: ask(), until: Number.POSITIVE_INFINITY };
      const keep = () => {
        kept.until = performance.now() + milliseconds;
      };
      kept.answer.then(keep, keep);
      last = kept;
    }
    return last.answer;
  };
}
