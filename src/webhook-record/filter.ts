import {
  isOfNewMovements,
  type NewMovementEvent,
  type WITHDRAWN_TRANSACTION,
} from '../database/webhook-enums.ts';

/** The filter of a webhook: which movements it matches, and the index that holds them. */

export interface Filter {
  /** WITHDRAWN_TRANSACTION: the filter matches no new movement. */
  event: NewMovementEvent | typeof WITHDRAWN_TRANSACTION;
  /** null: every account of the customer. */
  accountId: string | null;
  /** Whether it matches withdrawals of movements. */
  withdrawals: boolean;
}

/** A filter as `webhooks` and `webhook_filters` store it. event null: it matches nothing. */
export interface StoredFilter {
  event: Filter['event'] | null;
  account_id: string | null;
  withdrawals: number;
}

export const toFilter = ({ event, account_id, withdrawals }: StoredFilter): Filter | null =>
  event === null ? null : { event, accountId: account_id, withdrawals: withdrawals === 1 };

/** Whether a filter can match new movements. null: it matches nothing. */
export const matchesNewMovements = (filter: Filter | null): filter is Filter & { event: NewMovementEvent } =>
  filter !== null && isOfNewMovements(filter.event);

/** A movement, as far as filters look at it. */
interface Filtered {
  account_id: string;
  dc: 'Debit' | 'Credit';
}

/** Whether a filter matches a new movement. */
export const matchesFilter = (filter: Pick<Filter, 'event' | 'accountId'>, movement: Filtered): boolean =>
  isOfNewMovements(filter.event) && concerns(filter, movement);

/**
 * Whether a filter is about a movement. A webhook that lists withdrawals hears of the withdrawal of each movement that the filter which it had
 * when the movement was stored is about. A filter for withdrawals alone is about both directions.
 */
export function concerns(
  filter: Pick<Filter, 'event' | 'accountId'>,
  { account_id, dc: movementDc }: Filtered,
): boolean {
  const dc = dcOf(filter);
  return (filter.accountId === null || filter.accountId === account_id) && (dc === null || dc === movementDc);
}

/**
 * The same rule as SQL: whether the filter that a webhook (`?`) had at a movement is about the movement. Index: the primary key of
 * webhook_filters.
 * @param alias of the withdrawn movement.
 */
export const concernedAt = (alias: string): string => `COALESCE((
  SELECT f.event IS NOT NULL AND (f.account_id IS NULL OR f.account_id = ${alias}.account_id)
    AND f.event <> IF(${alias}.dc = 'Debit', 'NEW_CREDIT', 'NEW_DEBIT')
  FROM webhook_filters f WHERE f.webhook_id = ? AND f.from_id < ${alias}.id ORDER BY f.from_id DESC LIMIT 1), 0)`;

/** The new movements that a filter of a customer matches. */
interface Matching {
  customerId: string;
  filter: Pick<Filter, 'event' | 'accountId'>;
}

/** The first column of the index that holds a filter's movements. */
export const ownerOf = ({ filter }: Matching): 'customer_id' | 'account_id' =>
  filter.accountId === null ? 'customer_id' : 'account_id';

export const ownerIdOf = ({ filter, customerId }: Matching): string => filter.accountId ?? customerId;

/** The direction of the new movements that a filter matches; null: both. */
export const dcOf = ({ event }: Pick<Filter, 'event'>): 'Debit' | 'Credit' | null =>
  event === 'NEW_DEBIT' ? 'Debit' : event === 'NEW_CREDIT' ? 'Credit' : null;

/** The index that holds a filter's movements, with its columns in order. @param alias of the table. */
export function indexOf(matching: Matching, alias: string): { name: string; columns: string } {
  const owner = ownerOf(matching);
  const of = owner === 'customer_id' ? 'customer' : 'account';
  return dcOf(matching.filter) === null
    ? { name: `transactions_${of}_page`, columns: `${alias}.${owner}, ${alias}.id` }
    : { name: `transactions_${of}_dc`, columns: `${alias}.${owner}, ${alias}.dc, ${alias}.id` };
}
