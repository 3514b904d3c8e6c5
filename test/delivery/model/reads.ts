import type { LogRead } from '../../../src/delivery/engine/log-ranges.ts';
import { type LogRequest, nextRange, nothingMatches } from '../../../src/delivery/engine/movement-log.ts';
import type { RetriesRead } from '../../../src/delivery/engine/retries.ts';
import type { SealedSettings } from '../../../src/delivery/posting/request.ts';
import type { LoggedMovement } from '../../../src/delivery/run/types.ts';
import type { LogFilter, WebhookState } from '../../../src/delivery/webhook-state.ts';
import { LEASE_SECONDS } from '../../../src/webhook-record/lease.ts';
import { indexAfter, type MovementRow, matchesRow, movementOf, type Tables } from './tables.ts';

/** The reads of a delivery run. Each function is one statement, so it sees one moment. */

/** Milliseconds. */
export const LEASE = LEASE_SECONDS * 1_000;

/** LEASE_IS_FREE of webhook-state.ts. */
export const isLeaseFree = ({ cursor: { leaseUntil } }: Tables, now: number): boolean =>
  leaseUntil === null || leaseUntil < now || leaseUntil > now + LEASE + 1_000;

/** READ of webhook-state.ts. The filters are those of the webhook itself; with `refiltered` they must be read as well. */
export function readWebhook(tables: Tables, now: number): { state: WebhookState; refiltered: boolean } {
  const { webhook, backlog, cursor, lock, retries, filters, replays } = tables;
  const { health, leaseUntil, rateNextAt } = cursor;
  const retryAt = nextRetryAt(retries, webhook.ordered);
  const openFor = health.openUntil === null ? null : health.openUntil - now;
  const rateUntil = rateNextAt !== null && rateNextAt < now + 2_000 ? rateNextAt : now;
  return {
    refiltered: filters.some(({ fromId }) => fromId > cursor.sentThrough),
    state: {
      settings: toSettings(tables),
      sentThrough: cursor.sentThrough,
      highestRecordedId: cursor.highestRecordedId,
      matchedThrough: backlog.matchedThrough,
      filters: [{ from: 0, through: null, filter: webhook.filter }],
      filtersVersion: lock.filtersVersion,
      deletedAccounts: [],
      accountsDeleted: 0,
      lastToken: cursor.leaseToken,
      lastWrites: cursor.leaseWrites,
      leasedFor: leaseUntil === null || isLeaseFree(tables, now) ? null : leaseUntil - now,
      crashCount: cursor.crashCount,
      openFor: openFor !== null && openFor > 0 ? openFor : null,
      probedFor: null,
      rateWait: Math.max(0, rateUntil - now),
      retryIn: retryAt === null ? null : retryAt - now,
      batchIn: readBatch(tables, now),
      feed: { epoch: 0, hasSample: false, removedThrough: 0 },
      replaying: replays.some(({ isFinished }) => !isFinished),
    },
  };
}

/** READ_FILTERS of webhook-state.ts. */
export const readFilters = ({ filters }: Tables): LogFilter[] =>
  filters.map(({ fromId, filter }, index) => ({
    from: fromId,
    through: filters[index + 1]?.fromId ?? null,
    filter,
  }));

/** readBatches of webhook-state.ts: for how long a batch that is not full still waits. */
function readBatch(tables: Tables, now: number): number {
  const { webhook, backlog, cursor, movements, deliveries } = tables;
  const { batch, filter } = webhook;
  const pending = backlog.matchedCount - cursor.deliveredCount - cursor.failedCount;
  const { batchLimit } = cursor.health;
  if (
    batch === null ||
    pending >= Math.min(batch.max, batchLimit ?? batch.max) ||
    webhook.status !== 'active'
  )
    return 0;
  const first = movements
    .slice(indexAfter(movements, cursor.sentThrough))
    .find(
      (it) =>
        it.id <= backlog.matchedThrough &&
        !it.isGone &&
        matchesRow(tables, filter, it) &&
        !deliveries.has(it.id),
    );
  return first === undefined ? 0 : Math.max(0, first.storedAt + batch.waitMs - now);
}

function nextRetryAt(retries: Tables['retries'], ordered: boolean): number | null {
  let first = Number.POSITIVE_INFINITY;
  let at: number | null = null;
  for (const [id, { dueAt }] of retries) {
    if (dueAt === null || (ordered ? id : dueAt) >= first) continue;
    first = ordered ? id : dueAt;
    at = dueAt;
  }
  return at;
}

const toSettings = ({ webhook, cursor: { health } }: Tables): SealedSettings => ({
  id: '1',
  customer_id: '1',
  template_id: null,
  is_template: 0,
  external_id: null,
  settings_revision: webhook.revision,
  status: webhook.status,
  account_id: webhook.filter.accountId,
  delivery: 'push',
  endpoint: '',
  event: 'NEW_TRANSACTION',
  withdrawals: 0,
  revision: webhook.revision,
  secret: '',
  previous_secret: null,
  encoding: 'json',
  body: 'standard',
  hash_encoding: 'hex',
  ordered: webhook.ordered ? 1 : 0,
  rate_limit: webhook.rateLimit,
  batch_max: webhook.batch?.max ?? null,
  batch_wait_ms: webhook.batch?.waitMs ?? 0,
  max_in_flight: webhook.maxInFlight,
  headers: null,
  api_secret: '',
  consecutive_failures: health.consecutiveFailures,
  failing_since: health.failingSince === null ? null : new Date(health.failingSince),
  failing_days: health.failingDays,
  circuit_openings: health.circuitOpenings,
  recovery_successes: health.recoverySuccesses,
  consecutive_rejections: health.consecutiveRejections,
  batch_limit: health.batchLimit,
  last_error: null,
});

/**
 * The read of movement-log.ts.
 * @param page movements read at a time; 300 in the product.
 * @param cached the moment of an earlier read that the process has cached, if it is used.
 */
export function readLog(
  tables: Tables,
  request: LogRequest,
  page: number,
  cached: { newest: number; filtersVersion: number } | null,
): LogRead {
  const { filter, after, through, withoutResultsOf } = nextRange(request);
  if (filter === null) return nothingMatches(after, through);
  const isCached = cached !== null && through === null && cached.newest > after;
  const { newest, filtersVersion } = isCached ? cached : tables.lock;
  const last = through ?? newest;
  const found: MovementRow[] = [];
  const { movements } = tables;
  for (let at = indexAfter(movements, after); found.length < page; at += 1) {
    const movement = movements[at];
    if (movement === undefined || movement.id > last) break;
    const { id, isGone } = movement;
    if (isGone || !matchesRow(tables, filter, movement)) continue;
    if (withoutResultsOf === null || !tables.deliveries.has(id)) found.push(movement);
  }
  const isFull = found.length === page;
  return {
    movements: found.map(toMovement),
    through: Math.max(after, isFull ? (found.at(-1)?.id ?? 0) : last),
    complete: !isFull && through === null && !isCached,
    filtersVersion,
  };
}

/** The read of retries.ts. */
export function readRetries(
  tables: Tables,
  now: number,
  { ordered, limit }: { ordered: boolean; limit: number },
): RetriesRead {
  const waiting: { id: number; dueIn: number; attempts: number; failures: number }[] = [];
  for (const [id, { dueAt, attempts, failures }] of tables.retries)
    if (dueAt !== null) waiting.push({ id, dueIn: dueAt - now, attempts, failures });
  waiting.sort((one, other) => (ordered ? one.id - other.id : one.dueIn - other.dueIn));
  const rows = waiting.slice(0, limit);
  const firstLater = rows.findIndex(({ dueIn }) => dueIn > 0);
  const later = rows[firstLater];
  const due = later === undefined ? rows : rows.slice(0, firstLater);
  return {
    deliveries: due.map(({ id, attempts, failures }) => {
      const movement = movementOf(tables, id);
      return {
        subjectId: id,
        source: 'retries',
        attempts,
        failures,
        content: movement === undefined || movement.isGone ? null : toMovement(movement),
      };
    }),
    nextIn: later === undefined ? (due.length === limit ? 0 : null) : later.dueIn,
  };
}

/** The engine looks at nothing else of a movement. */
const toMovement = ({ id, accountId }: MovementRow) =>
  ({ transaction_id: String(id), account_id: accountId, stored_at: '0' }) as LoggedMovement;
