import type { DataSource } from 'typeorm';
import { cutTo } from '../../database/text-columns.ts';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { recordEvent } from '../../delivery/operational-event.ts';
import { countOf } from '../../platform/text.ts';
import { backoff } from '../source-schedule.ts';
import { findSourceAccounts, refreshAccounts } from './refresh-accounts.ts';
import type { ClaimedSource, RunTally } from './source-files.ts';

/** Ends the run of a source: its outcome, when the source runs next, and the report of a failing source. */

/**
 * How a run ended. `done`: the run has looked at the whole source, but files may have failed. `failed`: the run could not do this.
 * `interrupted`: the source is not the reason, so the run does not count as a failure and is continued soon.
 * `wait`: how long the server asks to wait, in milliseconds.
 */
export type RunEnd =
  | { status: 'done'; tally: RunTally }
  | { status: 'failed'; error: string; wait?: number }
  | { status: 'interrupted'; error: string };

/** How many runs are kept for each source. */
const KEPT_RUNS = 1_000;

const END_RUN = `
  UPDATE source_runs SET status = ?, finished_at = NOW(6), error = ? WHERE id = ? AND status = 'running'`;

/**
 * MySQL assigns from left to right, so `error` comes before the count that it depends on. A run that found no files keeps an earlier
 * run's error about files, and clears an error about the source.
 */
const SET_DONE = `
  UPDATE sources SET run_id = NULL, lease_until = NULL, error = IF(?, ?, IF(? OR consecutive_failures > 0, NULL, error)),
    consecutive_failures = 0
  WHERE id = ? AND run_id = ?`;

const SET_FAILED = `
  UPDATE sources SET run_id = NULL, lease_until = NULL, error = ?, consecutive_failures = ?, 
    next_run_at = IF(status = 'active', NOW(6) + INTERVAL ? MICROSECOND, NULL)
  WHERE id = ? AND run_id = ?`;

const SET_INTERRUPTED = `
  UPDATE sources SET run_id = NULL, lease_until = NULL, next_run_at = IF(status = 'active', NOW(6), NULL)
  WHERE id = ? AND run_id = ?`;

/** Index: source_runs_page. The files of a deleted run stay known. */
const FIND_OLDEST_KEPT_RUN = `SELECT id FROM source_runs WHERE source_id = ? ORDER BY id DESC LIMIT 1 OFFSET ${KEPT_RUNS - 1}`;
const DELETE_OLDER_RUNS = 'DELETE FROM source_runs WHERE source_id = ? AND id < ?';

/** Ends a run, and shows its result in the accounts. Changes nothing if the source has another run now, or none. */
export function finishRun(database: DataSource, source: ClaimedSource, end: RunEnd): Promise<void> {
  const { id, runId } = source;
  return inTransaction(database, async (sql) => {
    const [statement, values] = updateOf(source, end);
    const { affectedRows } = await sql.query<WriteResult>(statement, values);
    if (affectedRows !== 1) return;
    const error = end.status === 'done' ? describeFailures(end.tally) : cutTo('source_runs.error', end.error);
    await sql.query(END_RUN, [end.status === 'done' ? 'done' : 'failed', error, runId]);
    const [oldest] = await sql.query<{ id: string }[]>(FIND_OLDEST_KEPT_RUN, [id]);
    if (oldest !== undefined) await sql.query(DELETE_OLDER_RUNS, [id, oldest.id]);
    await refreshAccounts(sql, await findSourceAccounts(sql, id), end.status === 'done');
    if (end.status === 'failed')
      await reportFailingSource(sql, id, {
        failures: source.failures + 1,
        error: cutTo('sources.error', end.error),
      });
  });
}

function updateOf(
  { id, runId, schedule, failures }: ClaimedSource,
  end: RunEnd,
): [statement: string, values: unknown[]] {
  switch (end.status) {
    case 'done':
      return [SET_DONE, [end.tally.failed > 0, describeFailures(end.tally), end.tally.done > 0, id, runId]];
    case 'failed': {
      const wait = 1_000 * backoff(schedule, failures + 1, Math.random, end.wait);
      return [SET_FAILED, [cutTo('sources.error', end.error), failures + 1, wait, id, runId]];
    }
    case 'interrupted':
      return [SET_INTERRUPTED, [id, runId]];
  }
}

/** The error of the files of a run; null: none. */
function describeFailures({ failed, firstFailure }: RunTally): string | null {
  if (firstFailure === null) return null;
  const others = failed === 1 ? '' : ` ${countOf(failed - 1, 'more file')} failed.`;
  return cutTo('sources.error', `${firstFailure}${others}`);
}

/** After this many failed runs in a row, a source is reported. One or two failures may come from a short network outage. */
const FAILURES = 3;

const READ_SOURCE = 'SELECT id, customer_id, title, kind, next_run_at FROM sources WHERE id = ?';

interface FailingSource {
  id: string;
  customer_id: string;
  title: string;
  kind: string;
  next_run_at: Date | null;
}

/**
 * Records a `source.failing` at the third failure in a row. Each series of failures is recorded once, because each failure raises the
 * number by one.
 * @param sql the transaction that counts the failure.
 */
export async function reportFailingSource(
  sql: Sql,
  sourceId: string,
  { failures, error }: { failures: number; error: string },
): Promise<void> {
  if (failures !== FAILURES) return;
  const [source] = await sql.query<FailingSource[]>(READ_SOURCE, [sourceId]);
  if (source === undefined) return;
  const { id, customer_id, title, kind, next_run_at } = source;
  await recordEvent(sql, {
    type: 'source.failing',
    customerId: customer_id,
    data: {
      customer_id: Number(customer_id),
      source: { id: Number(id), title, kind },
      consecutive_failures: failures,
      error,
      next_run_at: next_run_at?.toISOString() ?? null,
    },
  });
}
