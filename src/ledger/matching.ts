import { LRUCache } from 'lru-cache';
import { derivedRows, type Sql } from '../database/transaction.ts';
import { EVENTS_WITHOUT_MOVEMENTS } from '../database/webhook-enums.ts';
import { type Filter, matchesFilter } from '../webhook-record/filter.ts';

/** Customers whose filters a process caches. */
const CACHED_CUSTOMERS = 10_000;

/** Number of movements of one import with the same account and direction. */
export interface MovementCount {
  customerId: string;
  importId: string;
  accountId: string;
  dc: 'Debit' | 'Credit';
  movements: number;
}

interface WebhookFilter extends Pick<Filter, 'event' | 'accountId'> {
  webhookId: string;
  delivery: 'push' | 'pull';
}

/** The deliveries and webhooks that counted movements match. */
export interface Matches {
  /** Number of deliveries by import. */
  deliveries: ReadonlyMap<string, number>;
  /** Number of matched movements by webhook, with the webhook's customer. isPull: the reconciler need not look at the webhook. */
  webhooks: ReadonlyMap<string, { customerId: string; isPull: boolean; movements: number }>;
}

/** Finds the webhooks that new movements match. */
export interface Matcher {
  /** @param locks of the customers. They keep the filters from changing until the transaction ends. */
  match(
    sql: Sql,
    locks: ReadonlyMap<string, { filtersVersion: number }>,
    counts: readonly MovementCount[],
  ): Promise<Matches>;
}

/**
 * A paused webhook matches too: its deliveries are pending until it is active again. A webhook for events matches no movement.
 * Index: webhooks_customer.
 */
const READ_MATCHING_FILTERS = `
  /* READ_MATCHING_FILTERS */ SELECT id AS webhookId, customer_id, event, account_id AS accountId, delivery FROM webhooks
  WHERE customer_id IN (?) AND is_template = 0 AND status IN ('active', 'paused') AND event NOT IN ${EVENTS_WITHOUT_MOVEMENTS} ORDER BY id`;

/**
 * One statement for many webhooks, however many movements matched. An import writes nothing else for its deliveries. import_locks
 * is updated before. STRAIGHT_JOIN: see UPDATE_ACCOUNTS.
 */
const ADVANCE_BACKLOGS = (webhooks: number) => `
  /* ADVANCE_BACKLOGS */ UPDATE (${derivedRows(['webhook_id', 'matched', 'is_pull'], webhooks)}) r
  STRAIGHT_JOIN webhook_backlogs b FORCE INDEX (PRIMARY) ON b.webhook_id = r.webhook_id
  STRAIGHT_JOIN import_locks l FORCE INDEX (PRIMARY) ON l.customer_id = b.customer_id
  SET b.matched_through = l.last_transaction_id, b.matched_count = b.matched_count + r.matched, 
    b.due_at = IF(r.is_pull, NULL, LEAST(COALESCE(b.due_at, NOW(6)), NOW(6)))`;

const BACKLOGS_PER_STATEMENT = 500;

/** Caches filters per process. The lock's `filters_version` shows whether they are still current. */
export function createMatcher(cachedCustomers = CACHED_CUSTOMERS): Matcher {
  const cache = new LRUCache<string, { version: number; filters: readonly WebhookFilter[] }>({
    max: cachedCustomers,
  });

  /** Returns the filters of all these customers, however many the cache holds. */
  async function readFilters(sql: Sql, locks: ReadonlyMap<string, { filtersVersion: number }>) {
    const found = new Map([...locks.keys()].map((id) => [id, cache.get(id)]));
    const stale = [...locks].filter(([id, { filtersVersion }]) => found.get(id)?.version !== filtersVersion);
    if (stale.length === 0) return found;
    const customerIds = stale.map(([id]) => id);
    const rows = await sql.query<(WebhookFilter & { customer_id: string })[]>(READ_MATCHING_FILTERS, [
      customerIds,
    ]);
    for (const [id, { filtersVersion: version }] of stale) {
      const read = { version, filters: rows.filter(({ customer_id }) => customer_id === id) };
      cache.set(id, read);
      found.set(id, read);
    }
    return found;
  }

  return {
    async match(sql, locks, counts) {
      const found = await readFilters(sql, locks);
      const deliveries = new Map<string, number>();
      const webhooks = new Map<string, { customerId: string; isPull: boolean; movements: number }>();
      for (const { customerId, importId, accountId, dc, movements } of counts) {
        for (const filter of found.get(customerId)?.filters ?? []) {
          if (!matchesFilter(filter, { account_id: accountId, dc })) continue;
          deliveries.set(importId, (deliveries.get(importId) ?? 0) + movements);
          const matched = webhooks.get(filter.webhookId)?.movements ?? 0;
          webhooks.set(filter.webhookId, {
            customerId,
            isPull: filter.delivery === 'pull',
            movements: matched + movements,
          });
        }
      }
      return { deliveries, webhooks };
    },
  };
}

/** Adds matched movements to the backlogs of their webhooks, in the transaction that stores them. */
export async function advanceBacklogs(sql: Sql, { webhooks }: Matches): Promise<void> {
  // In primary key order, like every statement that locks these rows.
  const rows = [...webhooks]
    .map(([webhookId, { movements, isPull }]) => [webhookId, movements, isPull ? 1 : 0])
    .sort(([one], [other]) => Number(one) - Number(other));
  for (let start = 0; start < rows.length; start += BACKLOGS_PER_STATEMENT) {
    const part = rows.slice(start, start + BACKLOGS_PER_STATEMENT);
    await sql.query(ADVANCE_BACKLOGS(part.length), part.flat());
  }
}
