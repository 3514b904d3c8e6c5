import type { DataSource } from 'typeorm';
import type { Runtime } from '../../database/runtime.ts';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { lockImports } from '../../delivery/filters.ts';
import { Problem } from '../../platform/problem.ts';
import type { SourceRow } from '../find-source.ts';
import { findSourceAccounts, refreshAccounts } from '../runs/finish-run.ts';
import { revokeRun } from '../runs/source-lease.ts';
import { queueSources, scheduleSource, unscheduleSource } from '../source-jobs.ts';
import { nextSlot, type SourceSchedule } from '../source-schedule.ts';

/** Columns of `sources` and their values. The names come from our code, never from a caller. */
type SourceColumns = Record<string, unknown>;

const INSERT = (columns: readonly string[]) =>
  `INSERT INTO sources (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
/** With MySQL's time, because the clocks of processes may differ. */
const CREATED = 'SELECT created_at, NOW(6) AS now FROM sources WHERE id = ?';
const COMPLETE = 'UPDATE sources SET credentials = ?, next_run_at = ? WHERE id = ?';

const MOST_SOURCES = 1_000;

/** Index: sources_page. */
const COUNT = "SELECT COUNT(*) AS number FROM sources WHERE customer_id = ? AND status <> 'deleted'";

/** @throws {Problem} 409 */
async function requireRoom(sql: Sql, customerId: string): Promise<void> {
  await lockImports(sql, customerId);
  const [count] = await sql.query<{ number: string | number }[]>(COUNT, [customerId]);
  if (Number(count?.number) >= MOST_SOURCES)
    throw new Problem(
      'source-limit-reached',
      `You have ${MOST_SOURCES} sources, which is the limit. Delete one that you no longer need.`,
    );
}

/**
 * Stores a new source.
 * @param seal returns the sealed credentials. Sealing needs the row's id, which is known only after the INSERT.
 * @param record runs in the same transaction.
 * @returns the source's id.
 * @throws {Problem} 409 when the customer has reached the limit of sources.
 */
export function insertSource(
  database: DataSource,
  {
    customerId,
    columns,
    schedule,
    seal,
    record,
  }: {
    customerId: string;
    columns: SourceColumns;
    schedule: SourceSchedule;
    seal: (sourceId: string) => string | null;
    record: (sql: Sql, sourceId: string) => Promise<void>;
  },
): Promise<string> {
  return inTransaction(database, async (sql) => {
    await requireRoom(sql, customerId);
    const { insertId } = await sql.query<WriteResult>(INSERT(Object.keys(columns)), Object.values(columns));
    const id = String(insertId);
    const { created_at: createdAt } = await readTimes(sql, id);
    await sql.query(COMPLETE, [seal(id), firstRun(schedule, createdAt), id]);
    await record(sql, id);
    return id;
  });
}

/** A source with an interval is due immediately. A source with a cron expression is due when its time comes. */
const firstRun = (schedule: SourceSchedule, now: Date): Date =>
  'cron' in schedule ? nextSlot(schedule, now, now) : now;

async function readTimes(sql: Sql, id: string): Promise<{ created_at: Date; now: Date }> {
  const [row] = await sql.query<{ created_at: Date; now: Date }[]>(CREATED, [id]);
  if (row === undefined) throw new Error(`source ${id} was not stored`);
  return row;
}

/** A change of a source: its columns and its other effects. */
export interface SourceChangePlan {
  columns: SourceColumns;
  schedule: SourceSchedule;
  /** The settings or the credentials have changed. The run in progress ends, and the next run begins immediately. */
  isElsewhere: boolean;
  /** The settings have changed. Files that were collected before are not known any more. */
  isForgotten: boolean;
  isRescheduled: boolean;
  status: 'active' | 'paused' | undefined;
}

const LOCK = `SELECT status FROM sources WHERE id = ? AND status <> 'deleted' FOR UPDATE`;
const UPDATE = (columns: readonly string[]) =>
  `UPDATE sources SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`;
const FORGET = 'UPDATE sources SET revision = revision + 1, position = NULL WHERE id = ?';
const RESTART = 'UPDATE sources SET next_run_at = ?, consecutive_failures = 0 WHERE id = ?';
const STOP = 'UPDATE sources SET next_run_at = NULL, is_requested = 0 WHERE id = ?';
const FORGET_ACCOUNTS = 'DELETE FROM source_accounts WHERE source_id = ?';

/** Changes a source. @param record runs in the same transaction. @returns false when it does not exist any more. */
export async function updateSource(
  database: DataSource,
  id: string,
  plan: SourceChangePlan,
  record: (sql: Sql) => Promise<void>,
): Promise<boolean> {
  const { columns, schedule, isElsewhere, isForgotten, isRescheduled, status } = plan;
  const names = Object.keys(columns);
  const accountsBefore = await findSourceAccounts(database, id);
  return inTransaction(database, async (sql) => {
    const [before] = await sql.query<{ status: string }[]>(LOCK, [id]);
    if (before === undefined) return false;
    if (names.length > 0) await sql.query(UPDATE(names), [...Object.values(columns), id]);
    if (isForgotten) await sql.query(FORGET, [id]);
    if (names.includes('account_id')) await sql.query(FORGET_ACCOUNTS, [id]);
    const isActive = (status ?? before.status) === 'active';
    const isResumed = isActive && before.status === 'paused';
    if (isElsewhere || !isActive)
      await revokeRun(sql, id, `The source was ${isActive ? 'changed' : 'paused'} during the run.`);
    if (!isActive) await sql.query(STOP, [id]);
    else if (isElsewhere || isResumed || isRescheduled) {
      const { created_at: createdAt, now } = await readTimes(sql, id);
      const next = isResumed ? firstRun(schedule, now) : nextSlot(schedule, createdAt, now);
      await sql.query(RESTART, [isElsewhere ? now : next, id]);
    }
    await refreshAccounts(sql, [...accountsBefore, ...(await findSourceAccounts(sql, id))], false);
    await record(sql);
    return true;
  });
}

const DELETE = `
  UPDATE sources SET status = 'deleted', credentials = NULL, next_run_at = NULL, is_requested = 0, error = NULL
  WHERE id = ? AND status <> 'deleted'`;

/**
 * Deletes a source. Its imports, its runs and its movements stay.
 * @param record runs in the same transaction, if the source is deleted.
 * @returns false when it was deleted before.
 */
export async function markDeleted(
  database: DataSource,
  id: string,
  record: (sql: Sql) => Promise<void>,
): Promise<boolean> {
  return inTransaction(database, async (sql) => {
    await revokeRun(sql, id, 'The source was deleted during the run.');
    const { affectedRows } = await sql.query<WriteResult>(DELETE, [id]);
    await refreshAccounts(sql, await findSourceAccounts(sql, id), false);
    if (affectedRows === 1) await record(sql);
    return affectedRows === 1;
  });
}

const REQUEST = `UPDATE sources SET is_requested = 1 WHERE id = ? AND status <> 'deleted'`;

/** Index: source_runs_page. */
const NEWEST_RUN = 'SELECT MAX(id) AS id FROM source_runs WHERE source_id = ?';

/**
 * Asks for a run of a source, whatever its schedule, its backoff and its status.
 * @param sql a transaction. It takes the lock under which runs begin, so each run begins either before or after the request.
 * @returns the id of the last run that began before the request; null: none did. The next run is the requested run.
 */
export async function requestRun(sql: Sql, id: string): Promise<string | null> {
  await sql.query(REQUEST, [id]);
  const [newest] = await sql.query<{ id: string | null }[]>(NEWEST_RUN, [id]);
  return newest?.id ?? null;
}

/**
 * Makes or removes the job scheduler of a source that was created or changed, and queues the source if it is due. If Redis is
 * unreachable, the reconciler finds the source when it is overdue.
 */
export async function wakeSource(
  { queues, log }: Pick<Runtime, 'queues' | 'log'>,
  it: SourceRow,
): Promise<void> {
  const { id, created_at: createdAt, next_run_at: next, status } = it;
  const now = new Date();
  try {
    if (status !== 'active') await unscheduleSource(queues, id);
    else await scheduleSource(queues, { id, schedule: JSON.parse(it.schedule), createdAt }, now);
    if (next !== null && next <= now) await queueSources(queues, [id]);
  } catch (err) {
    log.warn({ err, sourceId: id }, 'source not scheduled yet');
  }
}
