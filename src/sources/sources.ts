import type * as v from 'valibot';
import { recordChange } from '../customers/audit.ts';
import type { Caller } from '../customers/caller.ts';
import type { Runtime } from '../database/runtime.ts';
import { SEALED, type SecretBox } from '../database/secret-box.ts';
import { inTransaction, type Sql } from '../database/transaction.ts';
import type { AddressGuard } from '../platform/address-guard.ts';
import { notFound } from '../platform/problem.ts';
import { findSource, type SourceRow } from './find-source.ts';
import { revokeRun } from './runs/source-lease.ts';
import {
  insertSource,
  markDeleted,
  requestRun,
  type SourceChangePlan,
  updateSource,
  wakeSource,
} from './settings/save-source.ts';
import { createSourceChecks, type NewSource, type SourceChange, type SourceChecks } from './source-input.ts';
import { queueSources, unscheduleSource } from './source-jobs.ts';

/** The changes that clients make to sources. Each change is audited in its transaction. */

/** Creates a source. @throws {Problem} 422 for an account, settings or credentials that are not allowed. */
export async function createSource(
  runtime: Runtime,
  guard: AddressGuard,
  caller: Caller,
  body: v.InferOutput<typeof NewSource>,
): Promise<SourceRow> {
  const { database, secrets } = runtime;
  const checks = createSourceChecks(runtime, guard, caller);
  await checks.requireAccount(body.account_id);
  const credentials = checks.requireCredentials(body.kind, body.credentials);
  const settings = await checks.requireSettings({ ...body, id: '0' });
  const id = await insertSource(database, {
    customerId: caller.customerId,
    columns: {
      customer_id: caller.customerId,
      title: body.title,
      kind: body.kind,
      settings,
      schedule: JSON.stringify(body.schedule),
      account_id: body.account_id,
      format: body.format,
      profile: body.profile,
      create_accounts: body.create_accounts,
      force_account: body.force_account,
      on_conflict: body.on_conflict,
    },
    schedule: body.schedule,
    seal: (sourceId) =>
      credentials === null ? null : secrets.seal(credentials, SEALED.sourceCredentials(sourceId)),
    record: (sql, sourceId) =>
      recordChange(sql, caller, { action: 'create', subject: `source ${sourceId}`, detail: body.kind }),
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
  const isChanged = await updateSource(database, source.id, plan, (sql) =>
    recordChange(sql, caller, {
      action: 'change',
      subject: `source ${source.id}`,
      detail: [...(status === undefined ? [] : [`status: ${status}`]), ...Object.keys(others)].join(', '),
    }),
  );
  if (!isChanged) throw notFound('source');
  const changed = await findSource(database, caller, source.id);
  await wakeSource(runtime, changed);
  return changed;
}

/** The columns of `sources` that a change sets, and its other effects. @throws {Problem} 422 for wrong settings or credentials. */
async function planChange(
  change: SourceChange,
  source: SourceRow,
  { checks, secrets }: { checks: SourceChecks; secrets: SecretBox },
): Promise<SourceChangePlan> {
  const { settings, credentials, schedule, ...plain } = change;
  const { id, kind } = source;
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
    schedule: schedule ?? JSON.parse(source.schedule),
    isElsewhere: isForgotten || text !== undefined,
    isForgotten,
    isRescheduled: schedule !== undefined,
    status: change.status,
  };
}

/** Deletes a source. @throws {Problem} 404. */
export async function deleteSource(
  { database, queues, log }: Runtime,
  caller: Caller,
  sourceId: string,
): Promise<void> {
  const { id } = await findSource(database, caller, sourceId);
  const isDeleted = await markDeleted(database, id, (sql) =>
    recordChange(sql, caller, { action: 'delete', subject: `source ${id}` }),
  );
  if (!isDeleted) throw notFound('source');
  // If Redis is unreachable, the next job of the scheduler removes the scheduler.
  await unscheduleSource(queues, id).catch((err: unknown) =>
    log.warn({ err, sourceId: id }, 'source not unscheduled yet'),
  );
}

/**
 * Runs a source now, whatever its schedule.
 * @returns the source, with the id of the last run that began before; null: none did.
 * @throws {Problem} 404.
 */
export async function runSource(
  { database, queues, log }: Runtime,
  caller: Caller,
  sourceId: string,
): Promise<{ source: SourceRow; previousRun: string | null }> {
  const source = await findSource(database, caller, sourceId);
  const previousRun = await inTransaction(database, async (sql) => {
    const newest = await requestRun(sql, source.id);
    await recordChange(sql, caller, { action: 'run', subject: `source ${source.id}` });
    return newest;
  });
  // If Redis is unreachable, the reconciler queues the source within 10 s.
  await queueSources(queues, [source.id]).catch((err: unknown) =>
    log.warn({ err, sourceId: source.id }, 'source not queued yet'),
  );
  return { source, previousRun };
}

/** Index: sources_page. */
const SOURCES = `
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
  const sources = await sql.query<{ id: string }[]>(SOURCES, [customerId, accountId, accountId]);
  for (const { id } of sources) {
    await revokeRun(sql, id, 'The source was deleted during the run.');
    await sql.query(DELETE_SOURCE, [id]);
  }
}
