import type { DataSource } from 'typeorm';
import { countOf } from '../counts.ts';
import { inTransaction, type WriteResult } from '../database/transaction.ts';
import { findSourceAccounts, refreshAccounts } from './account-status.ts';
import type { ClaimedSource } from './claimed-source.ts';
import type { RunTally } from './mark-files.ts';
import { reportFailingSource } from './report-failing.ts';
import type { SourceClock } from './source-lease.ts';
import { backoff } from './source-schedule.ts';

/**
 * How a run ended. `done`: the source was looked at from beginning to end; files of it may have failed. `failed`: it was not.
 * `interrupted`: for a reason that is not the source's, so that it does not count as a failure and is continued soon.
 */
export type RunEnd =
  | { status: 'done'; tally: RunTally }
  | { status: 'failed' | 'interrupted'; error: string };

/** Runs that are kept for each source. */
const KEPT_RUNS = 1_000;

const END_RUN = `
  UPDATE source_runs SET status = ?, finished_at = NOW(6), error = ? WHERE id = ? AND status = 'running'`;

/**
 * MySQL assigns from left to right, so `error` comes before the count that it depends on: a run that found nothing leaves what is
 * wrong with the files of an earlier one, and clears what was wrong with the source.
 */
const DONE = `
  UPDATE sources SET run_id = NULL, lease_until = NULL, error = IF(?, ?, IF(? OR consecutive_failures > 0, NULL, error)),
    consecutive_failures = 0
  WHERE id = ? AND run_id = ?`;

const FAILED = `
  UPDATE sources SET run_id = NULL, lease_until = NULL, error = ?, consecutive_failures = ?, next_run_at = IF(status = 'active', ?, NULL)
  WHERE id = ? AND run_id = ?`;

const INTERRUPTED = `
  UPDATE sources SET run_id = NULL, lease_until = NULL, next_run_at = IF(status = 'active', NOW(6), NULL)
  WHERE id = ? AND run_id = ?`;

/** Index: source_runs_page. The files of a run that is deleted stay known. */
const OLDEST_KEPT = `SELECT id FROM source_runs WHERE source_id = ? ORDER BY id DESC LIMIT 1 OFFSET ${KEPT_RUNS - 1}`;
const DELETE_OLDER = 'DELETE FROM source_runs WHERE source_id = ? AND id < ?';

/** Ends a run, and shows in the accounts how it ended. Changes nothing when the run is not its source's any more. */
export function finishRun(
  database: DataSource,
  source: ClaimedSource,
  end: RunEnd,
  clock: SourceClock,
): Promise<void> {
  const { id, runId } = source;
  return inTransaction(database, async (sql) => {
    const [statement, values] = updateOf(source, end, clock);
    const { affectedRows } = await sql.query<WriteResult>(statement, values);
    if (affectedRows !== 1) return;
    const error = end.status === 'done' ? describeFailures(end.tally) : end.error.slice(0, 500);
    await sql.query(END_RUN, [end.status === 'done' ? 'done' : 'failed', error, runId]);
    const [oldest] = await sql.query<{ id: string }[]>(OLDEST_KEPT, [id]);
    if (oldest !== undefined) await sql.query(DELETE_OLDER, [id, oldest.id]);
    await refreshAccounts(sql, await findSourceAccounts(sql, id), end.status === 'done');
    if (end.status === 'failed')
      await reportFailingSource(sql, id, { failures: source.failures + 1, error: end.error.slice(0, 500) });
  });
}

function updateOf(
  { id, runId, schedule, failures }: ClaimedSource,
  end: RunEnd,
  { now, random }: SourceClock,
): [statement: string, values: unknown[]] {
  switch (end.status) {
    case 'done':
      return [DONE, [end.tally.failed > 0, describeFailures(end.tally), end.tally.done > 0, id, runId]];
    case 'failed': {
      const next = new Date(now().getTime() + backoff(schedule, failures + 1, random));
      return [FAILED, [end.error.slice(0, 500), failures + 1, next, id, runId]];
    }
    case 'interrupted':
      return [INTERRUPTED, [id, runId]];
  }
}

/** What is wrong with the files of a run; null: nothing. */
function describeFailures({ failed, firstFailure }: RunTally): string | null {
  if (firstFailure === null) return null;
  const others = failed === 1 ? '' : ` ${countOf(failed - 1, 'more file')} failed.`;
  return `${firstFailure.slice(0, 470)}${others}`;
}
