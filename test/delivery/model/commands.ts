import { type Filter, matchesFilter } from '../../../src/webhook-record/filter.ts';
import { between, pick } from './random.ts';
import {
  ALL,
  filterAt,
  type MovementRow,
  matchesRow,
  movementOf,
  resetHealth,
  setFilter,
  type WebhookRow,
} from './tables.ts';
import { wakeWebhook } from './waking.ts';
import { note, type World } from './world.ts';
import { findEnded, makePendingAgain } from './writes.ts';

/** The transactions of the api and the importer. Each function is one transaction, followed by a wake-up. */

export const FILTERS: readonly Filter[] = [
  ALL,
  { event: 'NEW_DEBIT', accountId: null, withdrawals: false },
  { event: 'NEW_CREDIT', accountId: '2', withdrawals: false },
  { event: 'NEW_TRANSACTION', accountId: '1', withdrawals: false },
  { event: 'NEW_TRANSACTION', accountId: '2', withdrawals: false },
];

/** Whether the webhook matches this movement: not what the product does, but what it must do. */
const matches = ({ event, accountId }: Filter, { accountId: account, dc }: MovementRow): boolean =>
  (accountId === null || accountId === account) &&
  (event === 'NEW_TRANSACTION' || event.endsWith(dc.toUpperCase()));

/** storeBatches of store.ts, with advanceBacklogs of matching.ts. */
export function importMovements(world: World, count: number): void {
  const { tables, random, checks } = world;
  const { webhook, backlog, lock } = tables;
  const before = lock.newest;
  const accounts = pick(random, [['1'], ['2'], ['1', '2']]);
  const matched: number[] = [];
  for (let left = count; left > 0; left -= 1) {
    // Other customers take ids as well.
    lock.newest += random() < 0.8 ? 1 : between(random, 2, 9);
    const movement: MovementRow = {
      id: lock.newest,
      accountId: pick(random, accounts),
      dc: random() < 0.5 ? 'Debit' : 'Credit',
      storedAt: world.timeline.now,
      isGone: false,
    };
    tables.movements.push(movement);
    if (webhook.status !== 'disabled' && matches(webhook.filter, movement)) matched.push(movement.id);
  }
  note(world, 'import', `${before} … ${lock.newest}, matched: [${matched}]`);
  if (matched.length === 0) return;
  backlog.matchedThrough = lock.newest;
  backlog.matchedCount += matched.length;
  checks.matched(matched);
  wakeWebhook(world, false);
}

/** A change of a webhook. `redirects`: another endpoint. */
export type Change = Partial<Omit<WebhookRow, 'revision'>> & { redirects?: boolean };

/** updateWebhook of store.ts. */
export function changeWebhook(world: World, change: Change): void {
  const { tables } = world;
  const { webhook } = tables;
  const { redirects = false, ...columns } = change;
  const before = filterOf(webhook);
  Object.assign(webhook, columns);
  webhook.revision += 1;
  const after = filterOf(webhook);
  if (JSON.stringify(before) !== JSON.stringify(after)) setFilter(tables, after);
  if (columns.status === 'active' || redirects) resetHealth(tables);
  note(world, 'api', `changes ${JSON.stringify(change)}, from ${tables.lock.newest}`);
  wakeWebhook(world, true);
}

const filterOf = ({ status, filter }: WebhookRow): Filter | null => (status === 'disabled' ? null : filter);

/** Another webhook of the customer gets another filter. */
export function changeOtherWebhook(world: World): void {
  world.tables.lock.filtersVersion += 1;
  note(world, 'api', 'changes the filter of another webhook');
}

/** redeliver of replays.ts. */
export function redeliver(world: World, index: number): void {
  const { tables, timeline, checks } = world;
  const ids = [...tables.deliveries.keys()];
  const id = ids[index % Math.max(1, ids.length)];
  if (id === undefined || tables.webhook.status === 'disabled') return;
  note(world, 'api', `redelivers ${id}`);
  const again = makePendingAgain(tables, timeline.now, [id]);
  checks.pendingAgain(again);
  const retry = tables.retries.get(id);
  if (again.length === 0 && retry?.dueAt != null) retry.dueAt = Math.min(retry.dueAt, timeline.now);
  wakeWebhook(world, true);
}

/** createReplay of replays.ts. @param part where in the log it begins, in [0, 1]. */
export function replay(world: World, statuses: readonly ('delivered' | 'failed')[], part: number): void {
  const { tables, checks } = world;
  const { movements, lock, webhook } = tables;
  if (webhook.status === 'disabled') return;
  const position = movements[Math.floor(movements.length * part)]?.id ?? 0;
  const range = { position, untilId: lock.newest, statuses };
  const found = findEnded(tables, range);
  note(world, 'api', `replays ${statuses} after ${position}: [${found}]`);
  tables.replays.push({ ...range, isFinished: found.length === 0 });
  checks.replayed(found);
  wakeWebhook(world, true);
}

/** withdrawPart of withdraw-part.ts: withdraws movements that are stored one after the other. */
export function withdrawMovements(world: World, index: number, count: number): void {
  const { tables, checks, timeline } = world;
  const { webhook, backlog, cursor, lock, movements, deliveries, retries } = tables;
  const stored = movements.filter(({ isGone, withdraws }) => !isGone && withdraws === undefined);
  const first = index % Math.max(1, stored.length);
  const withdrawn = stored.slice(first, first + count);
  if (withdrawn.length === 0) return;
  const isDue = ({ id }: MovementRow) => (retries.get(id)?.dueAt ?? null) !== null;
  const isUnsent = ({ id, accountId, dc }: MovementRow) =>
    id > cursor.sentThrough &&
    id <= backlog.matchedThrough &&
    !deliveries.has(id) &&
    matchesAt(id, accountId, dc);
  const matchesAt = (id: number, accountId: string, dc: MovementRow['dc']) => {
    const filter = filterAt(tables, id);
    return filter !== null && matchesFilter(filter, { account_id: accountId, dc });
  };
  const isBehind = cursor.sentThrough < (withdrawn.at(-1)?.id ?? 0);
  const pending = withdrawn.filter((it) => isDue(it) || isUnsent(it)).map(({ id }) => id);
  const isChanged = isBehind || withdrawn.some(isDue);
  if (isChanged) webhook.revision += 1;
  for (const id of pending) {
    const attempts = (deliveries.get(id)?.attempts ?? 0) + 1;
    deliveries.set(id, { status: 'failed', attempts });
    retries.set(id, { dueAt: null, attempts, failures: (retries.get(id)?.failures ?? 0) + 1 });
    cursor.failedCount += 1;
    cursor.highestRecordedId = Math.max(cursor.highestRecordedId, id);
  }
  for (const movement of withdrawn) {
    Object.assign(movement, { isGone: true, isWithdrawn: true });
    lock.newest += 1;
    const { accountId, dc } = movement;
    movements.push({
      id: lock.newest,
      accountId,
      dc,
      storedAt: timeline.now,
      isGone: false,
      withdraws: movement.id,
    });
  }
  const events = movements.slice(-withdrawn.length);
  const heard =
    webhook.status === 'disabled' ? [] : events.filter((it) => matchesRow(tables, webhook.filter, it));
  note(world, 'api', `withdraws [${withdrawn.map(({ id }) => id)}], heard: [${heard.map(({ id }) => id)}]`);
  checks.withdrawn(
    withdrawn.map(({ id }) => id),
    pending,
  );
  if (heard.length > 0) {
    backlog.matchedThrough = lock.newest;
    backlog.matchedCount += heard.length;
    checks.matched(heard.map(({ id }) => id));
  }
  if (isChanged) wakeWebhook(world, true);
  if (heard.length > 0) wakeWebhook(world, false);
}

/** Deletes the row of a movement whose delivery waits for a retry. */
export function deleteMovement(world: World, index: number): void {
  const { tables, checks } = world;
  const waiting = [...tables.retries].filter(([, { dueAt }]) => dueAt !== null);
  const id = waiting[index % Math.max(1, waiting.length)]?.[0];
  const movement = id === undefined ? undefined : movementOf(tables, id);
  if (movement === undefined) return;
  movement.isGone = true;
  checks.gone(movement.id);
  note(world, 'nobody', `deletes the movement ${movement.id}`);
}
