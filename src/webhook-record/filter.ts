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

/** Whether a filter matches a new movement. */
export function matchesFilter(
  filter: Pick<Filter, 'event' | 'accountId'>,
  movement: { account_id: string; dc: 'Debit' | 'Credit' },
): boolean {
  const { event, accountId } = filter;
  if (!isOfNewMovements(event)) return false;
  const dc = dcOf({ event });
  return (accountId === null || accountId === movement.account_id) && (dc === null || dc === movement.dc);
}

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
