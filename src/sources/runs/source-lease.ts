import type { DataSource } from 'typeorm';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { backoff, nextSlot, type SourceSchedule } from '../source-schedule.ts';
import { reportFailingSource } from './finish-run.ts';
import { type ClaimedSource, hasEndedFiles, LEASE, LEASE_IS_HELD } from './source-files.ts';

/** The lease of a source. A source has one run at a time, and the process of that run renews the lease. */

/** `inactive`: the source is paused or deleted, so it needs no jobs. */
type Claim =
  | { outcome: 'claimed'; source: ClaimedSource }
  | { outcome: 'not due' | 'in progress' | 'inactive' };

/** How often the lease is renewed. */
export const RENEW_EVERY = 4_000;

/**
 * After a crash, a source with more failed or crashed runs in a row than this waits like a failing source, because it may be the cause of
 * the crashes. A crashed run that has collected a file resets the count.
 */
const MAX_CRASHES = 3;

/** The columns of `sources` that a run needs, and those that decide whether it begins. */
type LeaseRow = Omit<ClaimedSource, 'runId' | 'schedule' | 'createAccounts' | 'forceAccount'> & {
  schedule: string;
  createAccounts: number;
  forceAccount: number;
  status: 'active' | 'paused' | 'deleted';
  is_requested: number;
  run_id: string | null;
  created_at: Date;
  /** MySQL's time. The clocks of processes may differ. */
  now: Date;
  next_run_at: Date | null;
  is_leased: number | string | null;
  is_due: number | string | null;
};

/** The tolerance allows for different clocks. Without it, a job that comes a little early would be lost. */
const LOCK_SOURCE = `
  SELECT id, customer_id AS customerId, kind, settings, credentials, schedule, account_id AS accountId, format, profile,
    create_accounts AS createAccounts, force_account AS forceAccount, settle_seconds AS settleSeconds, status, revision, position,
    consecutive_failures AS failures, is_requested, run_id, created_at, NOW(6) AS now, next_run_at,
    ${LEASE_IS_HELD} AS is_leased,
    (next_run_at <= NOW(6) + INTERVAL 5 SECOND) AS is_due
  FROM sources s WHERE id = ? FOR UPDATE`;

const ABANDON_RUN = `
  UPDATE source_runs SET status = 'failed', finished_at = NOW(6), error = ? WHERE id = ? AND status = 'running'`;

const COUNT_FILES_OF_RUN = 'SELECT files FROM source_runs WHERE id = ?';

const RELEASE_AND_WAIT = `
  UPDATE sources SET run_id = NULL, lease_until = NULL, is_requested = 0, consecutive_failures = ?,
    next_run_at = IF(status = 'active', NOW(6) + INTERVAL ? MICROSECOND, NULL), error = ?
  WHERE id = ?`;

const ADD_RUN = 'INSERT INTO source_runs (source_id, customer_id) VALUES (?, ?)';

const TAKE_LEASE = `
  UPDATE sources SET run_id = ?, lease_until = ${LEASE}, is_requested = 0, last_run_at = NOW(6), consecutive_failures = ?,
    next_run_at = IF(status = 'active', ?, NULL)
  WHERE id = ?`;

const CRASHED = 'The process that ran it ended before the run did.';

/**
 * Begins a run of a source that is due or has a requested run, or whose last run lost its process, or that has files to mark and is not
 * failing.
 */
export function claimSource(database: DataSource, id: string): Promise<Claim> {
  return inTransaction(database, async (sql) => {
    const [row] = await sql.query<LeaseRow[]>(LOCK_SOURCE, [id]);
    if (row === undefined || row.status === 'deleted') return { outcome: 'inactive' };
    if (row.run_id !== null && Number(row.is_leased) === 1) return { outcome: 'in progress' };
    const isAbandoned = row.run_id !== null;
    const isRequested = row.is_requested === 1;
    if (row.status === 'paused' && !isRequested && !isAbandoned) return { outcome: 'inactive' };
    const isDue = isRequested || isAbandoned || Number(row.is_due) === 1;
    if (!isDue && !(row.failures === 0 && (await hasEndedFiles(sql, id)))) return { outcome: 'not due' };
    if (isAbandoned) {
      await sql.query(ABANDON_RUN, [CRASHED, row.run_id]);
      const [run] = await sql.query<{ files: number }[]>(COUNT_FILES_OF_RUN, [row.run_id]);
      // If the crashed run has collected files, the next run has less to do and need not wait.
      row.failures = run !== undefined && run.files > 0 ? 0 : row.failures + 1;
      if (row.failures > MAX_CRASHES && !isRequested) return await waitAfterCrash(sql, row);
    }
    const source = await beginRun(sql, row);
    if (isAbandoned) await reportFailingSource(sql, id, { failures: row.failures, error: CRASHED });
    return { outcome: 'claimed', source };
  });
}

async function waitAfterCrash(sql: Sql, row: LeaseRow): Promise<Claim> {
  const { id, failures } = row;
  const wait = backoff(JSON.parse(row.schedule), failures, Math.random);
  await sql.query(RELEASE_AND_WAIT, [failures, 1_000 * wait, CRASHED, id]);
  return { outcome: 'not due' };
}

async function beginRun(sql: Sql, row: LeaseRow): Promise<ClaimedSource> {
  const { id, customerId, created_at: createdAt, now } = row;
  const schedule: SourceSchedule = JSON.parse(row.schedule);
  const { insertId } = await sql.query<WriteResult>(ADD_RUN, [id, customerId]);
  // A run that comes a little early counts as the run of its slot. The slot must not be due again when the run ends.
  const slot = Number(row.is_due) === 1 ? (row.next_run_at?.getTime() ?? 0) : 0;
  const next = nextSlot(schedule, createdAt, new Date(Math.max(now.getTime(), slot)));
  await sql.query(TAKE_LEASE, [insertId, row.failures, next, id]);
  return {
    ...row,
    runId: String(insertId),
    schedule,
    createAccounts: row.createAccounts === 1,
    forceAccount: row.forceAccount === 1,
  };
}

const RENEW_LEASE = `UPDATE sources SET lease_until = ${LEASE} WHERE id = ? AND run_id = ?`;

/** @returns false when the lease is lost, because the source was changed or the run was taken over. */
export async function renewLease(sql: Sql, { id, runId }: ClaimedSource): Promise<boolean> {
  const { affectedRows } = await sql.query<WriteResult>(RENEW_LEASE, [id, runId]);
  return affectedRows === 1;
}

const REVOKE_LEASE = 'UPDATE sources SET run_id = NULL, lease_until = NULL WHERE id = ?';
const LOCK_RUN_OF_SOURCE = 'SELECT run_id FROM sources WHERE id = ? FOR UPDATE';

/** Ends the run of a source that is changed. The run's process notices that it has lost the lease. @param reason one sentence. */
export async function revokeRun(sql: Sql, id: string, reason: string): Promise<void> {
  const [row] = await sql.query<{ run_id: string | null }[]>(LOCK_RUN_OF_SOURCE, [id]);
  if (row === undefined || row.run_id === null) return;
  await sql.query(ABANDON_RUN, [reason, row.run_id]);
  await sql.query(REVOKE_LEASE, [id]);
}
