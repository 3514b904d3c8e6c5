import type { EndpointHealth } from '../../../src/delivery/run/types.ts';
import { concerns, type Filter, matchesFilter } from '../../../src/webhook-record/filter.ts';

/** The rows of one customer with one webhook, as the SQL leaves them. Each function that changes them is one transaction. */
export interface Tables {
  webhook: WebhookRow;
  /** In the order of from_id. */
  filters: FilterRow[];
  backlog: { matchedThrough: number; matchedCount: number };
  cursor: CursorRow;
  /** import_locks. */
  lock: { newest: number; filtersVersion: number };
  /** transactions, in the order of their ids. */
  movements: MovementRow[];
  deliveries: Map<number, DeliveryRow>;
  retries: Map<number, RetryRow>;
  replays: ReplayRow[];
}

export interface WebhookRow {
  status: 'active' | 'paused' | 'disabled';
  revision: number;
  filter: Filter;
  ordered: boolean;
  rateLimit: number | null;
  maxInFlight: number;
  batch: { max: number; waitMs: number } | null;
}

export interface FilterRow {
  fromId: number;
  /** null: nothing matches. */
  filter: Filter | null;
}

export interface CursorRow {
  sentThrough: number;
  highestRecordedId: number;
  deliveredCount: number;
  failedCount: number;
  leaseToken: string;
  leaseUntil: number | null;
  leaseWrites: number;
  crashCount: number;
  healthRevision: number;
  health: EndpointHealth;
  rateNextAt: number | null;
}

export interface MovementRow {
  id: number;
  accountId: string;
  dc: 'Debit' | 'Credit';
  /** When it was stored, in milliseconds since 1970. */
  storedAt: number;
  /** Whether its row was deleted, or it was withdrawn. */
  isGone: boolean;
  /** The row is the withdrawal of this movement. */
  withdraws?: number;
  isWithdrawn?: boolean;
}

export interface DeliveryRow {
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
}

export interface RetryRow {
  /** null: failed for good. */
  dueAt: number | null;
  attempts: number;
  failures: number;
}

export interface ReplayRow {
  statuses: readonly ('delivered' | 'failed')[];
  position: number;
  untilId: number;
  isFinished: boolean;
}

export const ALL: Filter = { event: 'NEW_TRANSACTION', accountId: null, withdrawals: false };

const NEW_HEALTH: CursorRow['health'] = {
  consecutiveFailures: 0,
  failingSince: null,
  failingDays: 0,
  circuitOpenings: 0,
  openUntil: null,
  recoverySuccesses: 0,
  consecutiveRejections: 0,
  batchLimit: null,
};

/** A customer with one webhook, created when `newest` was the newest movement. */
export function createTables(webhook: WebhookRow, newest: number): Tables {
  return {
    webhook,
    filters: [{ fromId: newest, filter: webhook.filter }],
    backlog: { matchedThrough: newest, matchedCount: 0 },
    cursor: {
      sentThrough: newest,
      highestRecordedId: newest,
      deliveredCount: 0,
      failedCount: 0,
      leaseToken: '',
      leaseUntil: null,
      leaseWrites: 0,
      crashCount: 0,
      healthRevision: 0,
      health: NEW_HEALTH,
      rateNextAt: null,
    },
    lock: { newest, filtersVersion: 1 },
    movements: [],
    deliveries: new Map(),
    retries: new Map(),
    replays: [],
  };
}

/** Resets a webhook's health as `resetHealth` of webhook-status.ts does. */
export function resetHealth({ cursor, webhook }: Tables): void {
  cursor.health = NEW_HEALTH;
  cursor.crashCount = 0;
  cursor.healthRevision = webhook.revision;
}

/** Sets what the webhook matches from now on, as filters.ts does. */
export function setFilter({ filters, lock }: Tables, filter: Filter | null): void {
  lock.filtersVersion += 1;
  const last = filters.at(-1);
  if (last?.fromId === lock.newest) last.filter = filter;
  else filters.push({ fromId: lock.newest, filter });
}

/** The filter that the webhook had at a movement. */
export const filterAt = ({ filters }: Tables, id: number): Filter | null =>
  filters.findLast(({ fromId }) => fromId < id)?.filter ?? null;

/** Whether a filter matches a row of the log: a new movement, or the withdrawal of one that the webhook's filter was about. */
export function matchesRow(
  tables: Tables,
  filter: Filter,
  { accountId, dc, withdraws }: MovementRow,
): boolean {
  const row = { account_id: accountId, dc };
  if (withdraws === undefined) return matchesFilter(filter, row);
  const before = filterAt(tables, withdraws);
  return filter.withdrawals && before !== null && concerns(before, row);
}

export function movementOf({ movements }: Tables, id: number): MovementRow | undefined {
  const found = movements[indexAfter(movements, id - 1)];
  return found?.id === id ? found : undefined;
}

/** The index of the first movement with a larger id. */
export function indexAfter(movements: readonly { id: number }[], id: number): number {
  let low = 0;
  let high = movements.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((movements[middle]?.id ?? 0) <= id) low = middle + 1;
    else high = middle;
  }
  return low;
}
