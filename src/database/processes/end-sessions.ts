import type { DataSource } from 'typeorm';
import type { Log } from '../../platform/log.ts';
import { poolOf } from '../connection.ts';
import type { Sql } from '../transaction.ts';

/**
 * Ends the sessions of processes that have stopped answering: a paused virtual machine, or a process that is stopped by a signal. Such a
 * process keeps its connections, and the locks of a transaction that it was in. It ends none of them itself, and MySQL only after
 * `wait_timeout`.
 *
 * A user may end its own sessions, so this needs no grant.
 */

/** A process that has left out two heartbeats. A lease lasts as long. Seconds. */
const LOST_AFTER = 12;

/** A process that has just come back itself, for example because MySQL has, waits for the heartbeats of the others. Seconds. */
const STEADY_FOR = 20;

/** Names a session by its id and the port of its client, because ids begin again when the server starts. A Unix socket has no port. */
const SESSION = "CONCAT(id, ':', SUBSTRING_INDEX(host, ':', -1))";

/** A pool has 20 connections at most, and the column has room for a hundred. */
const MOST_NAMED = 100;

const READ_OWN = `SELECT ${SESSION} AS session FROM information_schema.processlist WHERE id IN (?)`;

/** Reads the names of this process's sessions, separated by commas. */
export async function readOwnSessions(database: DataSource): Promise<string> {
  const ids =
    poolOf(database)
      ?._allConnections.toArray()
      .flatMap(({ threadId }) => threadId ?? [])
      .slice(0, MOST_NAMED) ?? [];
  if (ids.length === 0) return '';
  const rows = await database.query<{ session: string }[]>(READ_OWN, [ids]);
  return rows.map(({ session }) => session).join();
}

/** The table has one row per process. */
const READ_LOST = `
  SELECT p.id, p.name, p.host, p.pid, p.sessions FROM processes p JOIN processes own ON own.id = ?
  WHERE p.seen_at < NOW(6) - INTERVAL ${LOST_AFTER} SECOND AND p.sessions <> ''
    AND own.steady_since < NOW(6) - INTERVAL ${STEADY_FOR} SECOND`;

/** Only those of our own user that do nothing. A session that runs a statement answers soon, and its process with it. */
const FIND_SESSIONS = `
  SELECT id FROM information_schema.processlist
  WHERE ${SESSION} IN (?) AND user = SUBSTRING_INDEX(USER(), '@', 1) AND db = DATABASE() AND command = 'Sleep'`;

const FORGET_SESSIONS = "UPDATE processes SET sessions = '' WHERE id = ?";

interface LostProcess {
  id: string;
  name: string;
  host: string;
  pid: number;
  sessions: string;
}

/**
 * Ends the idle sessions of all processes whose heartbeat has ended. A process that comes back opens new ones. What it was about to write
 * is rolled back, and its leases are lost by then.
 * @param ownId of this process in `processes`. Nothing is ended before its own heartbeat has come without a gap for 20 s.
 */
export async function endSessionsOfLost(sql: Sql, ownId: string, log: Log): Promise<void> {
  for (const { id, sessions, ...lost } of await sql.query<LostProcess[]>(READ_LOST, [ownId])) {
    const found = await sql.query<{ id: string | number }[]>(FIND_SESSIONS, [sessions.split(',')]);
    for (const session of found) await sql.query('KILL CONNECTION ?', [Number(session.id)]);
    await sql.query(FORGET_SESSIONS, [id]);
    if (found.length > 0)
      log.warn(
        { ...lost, ended: found.length },
        'a process does not answer: its sessions in MySQL are ended',
      );
  }
}
