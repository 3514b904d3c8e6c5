import type * as v from 'valibot';
import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { SEALED, type SecretBox } from '../database/secret-box.ts';
import { inTransaction, type Sql, type WriteResult } from '../database/transaction.ts';
import { lockImports } from '../delivery/filters.ts';
import type { AddressGuard } from '../platform/address-guard.ts';
import { notFound, Problem } from '../platform/problem.ts';
import { findSource, type SourceRow } from './find-source.ts';
import { findSourceAccounts, refreshAccounts } from './runs/refresh-accounts.ts';
import { revokeRun } from './runs/source-lease.ts';
import { createSourceChecks, type NewSource, type SourceChange, type SourceChecks } from './source-input.ts';
import { queueSources, scheduleSource, unscheduleSource } from './source-jobs.ts';
import { nextSlot, type SourceSchedule } from './source-schedule.ts';

/** The changes that clients make to sources. Each change is audited in its transaction. */

/** Creates a source. @throws {Problem} 422 for an account, settings or credentials that are not allowed; 409 at the limit of sources. */
export async function createSource(
  runtime: Runtime,
  guard: AddressGuard,
  caller: Caller,
  body: v.InferOutput<typeof NewSource>,
): Promise<SourceRow> {
  const { database, secrets } = runtime;
  const checks = createSourceChecks(runtime, guard, caller);
  await checks.requireAccount(body.account_id);
  const settle_seconds = checks.requireSettling(body.kind, body.settle_seconds);
  const credentials = checks.requireCredentials(body.kind, body.credentials);
  const settings = await checks.requireSettings({ ...body, id: '0' });
  const columns: SourceColumns = {
    customer_id: caller.customerId,
    title: body.title,
    kind: body.kind,
    settings,
    schedule: JSON.stringify(body.schedule),
    account_id: body.account_id,
    format: body.format,
    profile: body.profile,
    encoding: body.encoding,
    create_accounts: body.create_accounts,
    force_account: body.force_account,
    settle_seconds,
    on_conflict: body.on_conflict,
  };
  const id = await inTransaction(database, async (sql) => {
    await requireRoom(sql, caller.customerId);
    const { insertId } = await sql.query<WriteResult>(
      INSERT_SOURCE(Object.keys(columns)),
      Object.values(columns),
    );
    const sourceId = String(insertId);
    const { created_at: createdAt } = await readTimes(sql, sourceId);
    // Sealing needs the row's id, which is known only now.
    const sealed =
      credentials === null ? null : secrets.seal(credentials, SEALED.sourceCredentials(sourceId));
    await sql.query(COMPLETE_SOURCE, [sealed, firstRun(body.schedule, createdAt), sourceId]);
    await recordChange(sql, caller, { action: 'create', subject: `source ${sourceId}`, detail: body.kind });
    return sourceId;
  });
  const source = await findSource(database, caller, id);
  await wakeSource(runtime, source);
  return source;
}

/**
 * Changes a source.
 * @param source as `findSource` found it for the caller.
 * @throws {Problem} 404 when it has been deleted since; 422 for an account, settings or credentials that are not allowed.
 */
export async function changeSource(
  runtime: Runtime,
  guard: AddressGuard,
  caller: Caller,
  source: SourceRow,
  change: SourceChange,
): Promise<SourceRow> {
  const { database, secrets } = runtime;
  const checks = createSourceChecks(runtime, guard, caller);
  await checks.requireAccount(change.account_id ?? null);
  const plan = await planChange(change, source, { checks, secrets });
  const { status, ...others } = change;
  const accountsBefore = await findSourceAccounts(database, source.id);
  await inTransaction(database, async (sql) => {
    await updateSource(sql, source.id, plan);
    await refreshAccounts(sql, [...accountsBefore, ...(await findSourceAccounts(sql, source.id))], false);
    await recordChange(sql, caller, {
      action: 'change',
      subject: `source ${source.id}`,
      detail: [...(status === undefined ? [] : [`status: ${status}`]), ...Object.keys(others)].join(', '),
    });
  });
  const changed = await findSource(database, caller, source.id);
  await wakeSource(runtime, changed);
  return changed;
}

/** The columns of `sources` that a change sets, and its other effects. @throws {Problem} 422 for wrong settings or credentials. */
async function planChange(
  change: SourceChange,
  source: SourceRow,
  { checks, secrets }: { checks: SourceChecks; secrets: SecretBox },
) {
  const { settings, credentials, schedule, ...plain } = change;
  const { id, kind } = source;
  if (change.settle_seconds !== undefined) checks.requireSettling(kind, change.settle_seconds);
  const stored =
    settings === undefined ? source.settings : await checks.requireSettings({ id, kind, settings });
  if (credentials === undefined && source.credentials !== null)
    checks.requireSameServer(kind, source.settings, stored);
  const text = credentials === undefined ? undefined : checks.requireCredentials(kind, credentials);
  const sealed =
    text === null || text === undefined ? null : secrets.seal(text, SEALED.sourceCredentials(id));
  const isForgotten = stored !== source.settings;
  return {
    columns: {
      ...plain,
      ...(isForgotten ? { settings: stored } : {}),
      ...(text === undefined ? {} : { credentials: sealed }),
      ...(schedule === undefined ? {} : { schedule: JSON.stringify(schedule) }),
    },
    schedule: schedule ?? (JSON.parse(source.schedule) as SourceSchedule),
    /** The settings or the credentials have changed. The run in progress ends, and the next run begins immediately. */
    isElsewhere: isForgotten || text !== undefined,
    /** The settings have changed. Files that were collected before are not known any more. */
    isForgotten,
    isRescheduled: schedule !== undefined,
    status: change.status,
  };
}

/** @throws {Problem} 404 when the source does not exist any more. */
async function updateSource(sql: Sql, id: string, plan: SourceChangePlan): Promise<void> {
  const { columns, schedule, isElsewhere, isForgotten, isRescheduled, status } = plan;
  const names = Object.keys(columns);
  const [before] = await sql.query<{ status: string }[]>(LOCK_SOURCE, [id]);
  if (before === undefined) throw notFound('source');
  if (names.length > 0) await sql.query(UPDATE_SOURCE(names), [...Object.values(columns), id]);
  if (isForgotten) await sql.query(FORGET_POSITION, [id]);
  if (names.includes('account_id')) await sql.query(FORGET_ACCOUNTS, [id]);
  const isActive = (status ?? before.status) === 'active';
  const isResumed = isActive && before.status === 'paused';
  if (isElsewhere || !isActive)
    await revokeRun(sql, id, `The source was ${isActive ? 'changed' : 'paused'} during the run.`);
  if (!isActive) await sql.query(STOP_SCHEDULE, [id]);
  else if (isElsewhere || isResumed || isRescheduled) {
    const { created_at: createdAt, now } = await readTimes(sql, id);
    const next = isResumed ? firstRun(schedule, now) : nextSlot(schedule, createdAt, now);
    await sql.query(RESTART_SCHEDULE, [isElsewhere ? now : next, id]);
  }
}

/** Deletes a source. Its imports, its runs and its movements stay. @throws {Problem} 404. */
export async function deleteSource(
  { database, queues, log }: Runtime,
  caller: Caller,
  sourceId: string,
): Promise<void> {
  const { id } = await findSource(database, caller, sourceId);
  const isDeleted = await inTransaction(database, async (sql) => {
    await revokeRun(sql, id, 'The source was deleted during the run.');
    const { affectedRows } = await sql.query<WriteResult>(`${DELETE_SOURCE} AND status <> 'deleted'`, [id]);
    await refreshAccounts(sql, await findSourceAccounts(sql, id), false);
    if (affectedRows === 1) await recordChange(sql, caller, { action: 'delete', subject: `source ${id}` });
    return affectedRows === 1;
  });
  if (!isDeleted) throw notFound('source');
  // If Redis is unreachable, the next job of the scheduler removes the scheduler.
  await unscheduleSource(queues, id).catch((err: unknown) =>
    log.warn({ err, sourceId: id }, 'source not unscheduled yet'),
  );
}

/** Runs a source now, whatever its schedule. @throws {Problem} 404. */
export async function runSource(runtime: Runtime, caller: Caller, sourceId: string): Promise<RequestedRun> {
  const source = await findSource(runtime.database, caller, sourceId);
  return requestRun(runtime, source, (sql) =>
    recordChange(sql, caller, { action: 'run', subject: `source ${source.id}` }),
  );
}

/** The source, with the id of the last run that began before the request; null: none did. */
export interface RequestedRun {
  source: SourceRow;
  previousRun: string | null;
}

/** Requests a run. @param change what else the request changes, in the same transaction, before the run can begin. */
export async function requestRun(
  { database, queues, log }: Runtime,
  source: SourceRow,
  change: (sql: Sql) => Promise<void>,
): Promise<RequestedRun> {
  const previousRun = await inTransaction(database, async (sql) => {
    // This takes the lock under which runs begin, so each run begins either before or after the request.
    await sql.query(REQUEST_RUN, [source.id]);
    const [newest] = await sql.query<{ id: string | null }[]>(FIND_NEWEST_RUN, [source.id]);
    await change(sql);
    return newest?.id ?? null;
  });
  // If Redis is unreachable, the reconciler queues the source within 10 s.
  await queueSources(queues, [source.id]).catch((err: unknown) =>
    log.warn({ err, sourceId: source.id }, 'source not queued yet'),
  );
  return { source, previousRun };
}

/** Index: sources_page. */
const LOCK_SOURCES = `
  SELECT id FROM sources WHERE customer_id = ? AND status <> 'deleted' AND (? IS NULL OR account_id = ?) ORDER BY id FOR UPDATE`;

const DELETE_SOURCE = `
  UPDATE sources SET status = 'deleted', credentials = NULL, next_run_at = NULL, is_requested = 0, error = NULL WHERE id = ?`;

/**
 * Deletes the sources of an account, or all sources of the customer, and ends their runs.
 * @param sql a transaction.
 * @param options.accountId null: the customer is to be deleted.
 */
export async function stopSources(
  sql: Sql,
  { customerId, accountId }: { customerId: string; accountId: string | null },
): Promise<void> {
  const sources = await sql.query<{ id: string }[]>(LOCK_SOURCES, [customerId, accountId, accountId]);
  for (const { id } of sources) {
    await revokeRun(sql, id, 'The source was deleted during the run.');
    await sql.query(DELETE_SOURCE, [id]);
  }
}

/** Columns of `sources` and their values. The names come from our code, never from a caller. */
type SourceColumns = Record<string, unknown>;

const INSERT_SOURCE = (columns: readonly string[]) =>
  `INSERT INTO sources (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
/** With MySQL's time, because the clocks of processes may differ. */
const READ_CREATED_AT = 'SELECT created_at, NOW(6) AS now FROM sources WHERE id = ?';
const COMPLETE_SOURCE = 'UPDATE sources SET credentials = ?, next_run_at = ? WHERE id = ?';

const MOST_SOURCES = 1_000;

/** Index: sources_page. */
const COUNT_SOURCES = "SELECT COUNT(*) AS number FROM sources WHERE customer_id = ? AND status <> 'deleted'";

/** @throws {Problem} 409 */
async function requireRoom(sql: Sql, customerId: string): Promise<void> {
  await lockImports(sql, customerId);
  const [count] = await sql.query<{ number: string | number }[]>(COUNT_SOURCES, [customerId]);
  if (Number(count?.number) >= MOST_SOURCES)
    throw new Problem(
      'source-limit-reached',
      `You have ${MOST_SOURCES} sources, which is the limit. Delete one that you no longer need.`,
    );
}

/** A source with an interval is due immediately. A source with a cron expression is due when its time comes. */
const firstRun = (schedule: SourceSchedule, now: Date): Date =>
  'cron' in schedule ? nextSlot(schedule, now, now) : now;

async function readTimes(sql: Sql, id: string): Promise<{ created_at: Date; now: Date }> {
  const [row] = await sql.query<{ created_at: Date; now: Date }[]>(READ_CREATED_AT, [id]);
  if (row === undefined) throw new Error(`source ${id} was not stored`);
  return row;
}

/** A change of a source: its columns and its other effects. */
type SourceChangePlan = Awaited<ReturnType<typeof planChange>>;

const LOCK_SOURCE = `SELECT status FROM sources WHERE id = ? AND status <> 'deleted' FOR UPDATE`;
const UPDATE_SOURCE = (columns: readonly string[]) =>
  `UPDATE sources SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`;
const FORGET_POSITION = 'UPDATE sources SET revision = revision + 1, position = NULL WHERE id = ?';
const RESTART_SCHEDULE = 'UPDATE sources SET next_run_at = ?, consecutive_failures = 0 WHERE id = ?';
const STOP_SCHEDULE = 'UPDATE sources SET next_run_at = NULL, is_requested = 0 WHERE id = ?';
const FORGET_ACCOUNTS = 'DELETE FROM source_accounts WHERE source_id = ?';

const REQUEST_RUN = `UPDATE sources SET is_requested = 1 WHERE id = ? AND status <> 'deleted'`;

/** Index: source_runs_page. */
const FIND_NEWEST_RUN = 'SELECT MAX(id) AS id FROM source_runs WHERE source_id = ?';

/**
 * Makes or removes the job scheduler of a source that was created or changed, and queues the source if it is due. If Redis is
 * unreachable, the reconciler finds the source when it is overdue.
 */
async function wakeSource({ queues, log }: Pick<Runtime, 'queues' | 'log'>, it: SourceRow): Promise<void> {
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
