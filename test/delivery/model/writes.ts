import type { LeasedRecord } from '../../../src/delivery/engine/ports.ts';
import type { Quarantine } from '../../../src/delivery/engine/webhook-status.ts';
import type { AttemptResult } from '../../../src/delivery/run/types.ts';
import type { Lease, LeaseRequest } from '../../../src/webhook-record/lease.ts';
import { isLeaseFree, LEASE } from './reads.ts';
import { movementOf, type ReplayRow, setFilter, type Tables } from './tables.ts';

/** The writes of a delivery run. Each function is one transaction. */

/** takeLeases of webhook-state.ts. @returns null when another run has it, or has had it since the webhook was read. */
export function takeLease(
  tables: Tables,
  now: number,
  { webhookId, revision, lastToken, lastWrites, token }: LeaseRequest & { token: string },
): Lease | null {
  const { cursor, webhook } = tables;
  if (webhook.revision !== revision) return null;
  if (cursor.leaseToken !== lastToken || cursor.leaseWrites !== lastWrites) return null;
  if (!isLeaseFree(tables, now)) return null;
  cursor.leaseToken = token;
  cursor.leaseUntil = now + LEASE;
  cursor.leaseWrites = 0;
  cursor.crashCount += 1;
  return { webhookId, token, writes: 0 };
}

/** RENEW of webhook-state.ts. @returns whether the lease is still held. */
export function renewLease({ cursor }: Tables, now: number, { token }: Lease): boolean {
  if (cursor.leaseToken !== token || cursor.leaseUntil === null) return false;
  cursor.leaseUntil = now + LEASE;
  return true;
}

/** The outcome of recordResults. `written before`: only the answer had been lost. `lost`: the lease is, and nothing was written. */
export type Recorded = 'lost' | 'written before' | 'written';

/** recordResults of record-results.ts. */
export function recordResults(
  tables: Tables,
  now: number,
  { lease, record, now: runNow }: LeasedRecord,
): Recorded {
  const { cursor, webhook } = tables;
  if (cursor.leaseToken !== lease.token) return 'lost';
  if (cursor.leaseWrites !== lease.writes || cursor.leaseUntil === null) {
    return cursor.leaseWrites === lease.writes + 1 ? 'written before' : 'lost';
  }
  const { health } = record;
  const results =
    webhook.revision === record.revision ? record.results : endMeanwhile(tables, record.results);
  cursor.leaseUntil = record.release ? null : now + LEASE;
  cursor.leaseWrites += 1;
  cursor.crashCount = 0;
  cursor.sentThrough = Math.max(cursor.sentThrough, record.cursor.sentThrough);
  cursor.highestRecordedId = Math.max(cursor.highestRecordedId, record.cursor.highestRecordedId);
  cursor.deliveredCount += results.filter(({ status }) => status === 'delivered').length;
  cursor.failedCount += results.filter(({ status }) => status === 'failed').length;
  cursor.rateNextAt = record.rateWait === null ? null : now + record.rateWait;
  if (health !== null && cursor.healthRevision <= record.revision) {
    const { openUntil, ...stored } = health;
    const openFor = openUntil === null || openUntil <= runNow ? null : openUntil - runNow;
    cursor.health = { ...stored, openUntil: openFor === null ? null : now + openFor };
  }
  for (const result of results) addResult(tables, now, result);
  return 'written';
}

/** endMeanwhile of record-results.ts: deliveries that ended while they were being sent would count twice, and are not tried again. */
function endMeanwhile(
  { deliveries, cursor }: Tables,
  results: readonly AttemptResult[],
): readonly AttemptResult[] {
  return results.map((result) => {
    const row = deliveries.get(result.subjectId);
    if (row === undefined || row.status === 'pending') return result;
    if (row.status === 'delivered') cursor.deliveredCount -= 1;
    else cursor.failedCount -= 1;
    const ended = { ...result, source: 'retries' as const };
    return result.status === 'pending' ? { ...ended, status: 'failed', retryIn: null } : ended;
  });
}

function addResult({ deliveries, retries }: Tables, now: number, result: AttemptResult): void {
  const { subjectId: id, status, number, failures, retryIn, source } = result;
  deliveries.set(id, { status, attempts: number });
  if (status !== 'delivered') {
    retries.set(id, { dueAt: retryIn === null ? null : now + retryIn, attempts: number, failures });
  } else if (source === 'retries') retries.delete(id);
}

/** disableWebhook of webhook-status.ts. */
export function disableWebhook(tables: Tables, revision: number): void {
  const { webhook } = tables;
  if (webhook.status !== 'active' || webhook.revision !== revision) return;
  webhook.status = 'disabled';
  webhook.revision += 1;
  setFilter(tables, null);
}

/** quarantineWebhook of webhook-status.ts. */
export function quarantine({ webhook }: Tables): Quarantine {
  if (webhook.status !== 'active') return 'not active';
  webhook.status = 'paused';
  webhook.revision += 1;
  return 'paused';
}

/** makePendingAgain of make-pending.ts. @returns the deliveries that had ended and are pending again. */
export function makePendingAgain(tables: Tables, now: number, ids: readonly number[]): number[] {
  const { deliveries, retries, cursor } = tables;
  return ids.filter((id) => {
    const row = deliveries.get(id);
    if (row === undefined || row.status === 'pending' || movementOf(tables, id)?.isWithdrawn) return false;
    if (row.status === 'delivered') cursor.deliveredCount -= 1;
    else cursor.failedCount -= 1;
    deliveries.set(id, { ...row, status: 'pending' });
    retries.set(id, { dueAt: now, attempts: row.attempts, failures: 0 });
    return true;
  });
}

/** expandReplay of expand-replay.ts. @param page deliveries made due at a time; 200 in the product. */
export function expandReplay(
  tables: Tables,
  now: number,
  page: number,
): { again: number[]; replaying: boolean } {
  const open = () => tables.replays.find(({ isFinished }) => !isFinished);
  const replay = open();
  if (replay === undefined) return { again: [], replaying: false };
  const found = findEnded(tables, replay).slice(0, page);
  const again = makePendingAgain(tables, now, found);
  replay.isFinished = found.length < page;
  replay.position = replay.isFinished ? replay.untilId : (found.at(-1) ?? replay.untilId);
  return { again, replaying: open() !== undefined };
}

/** The deliveries that a replay finds, in the order of their movements. */
export const findEnded = (
  { deliveries }: Tables,
  { position, untilId, statuses }: Pick<ReplayRow, 'position' | 'untilId' | 'statuses'>,
): number[] =>
  [...deliveries]
    .filter(([id, { status }]) => id > position && id <= untilId && (statuses as string[]).includes(status))
    .map(([id]) => id)
    .sort((one, other) => one - other);
