/** The filter of a webhook: which movements it matches, and the index that holds them. */

export interface Filter {
  event: 'NEW_TRANSACTION' | 'NEW_DEBIT' | 'NEW_CREDIT';
  /** null: every account of the customer. */
  accountId: string | null;
}

export function matchesFilter(
  filter: Filter,
  movement: { account_id: string; dc: 'Debit' | 'Credit' },
): boolean {
  const { accountId } = filter;
  const dc = dcOf(filter);
  return (accountId === null || accountId === movement.account_id) && (dc === null || dc === movement.dc);
}

/** The movements that a filter of a customer matches. */
interface Matching {
  customerId: string;
  filter: Filter;
}

/** The first column of the index that holds a filter's movements. */
export const ownerOf = ({ filter }: Matching): 'customer_id' | 'account_id' =>
  filter.accountId === null ? 'customer_id' : 'account_id';

export const ownerIdOf = ({ filter, customerId }: Matching): string => filter.accountId ?? customerId;

/** The direction that a filter matches; null: both. */
export const dcOf = ({ event }: Filter): 'Debit' | 'Credit' | null =>
  event === 'NEW_TRANSACTION' ? null : event === 'NEW_DEBIT' ? 'Debit' : 'Credit';

/** The index that holds a filter's movements, with its columns in order. @param alias of the table. */
export function indexOf(matching: Matching, alias: string): { name: string; columns: string } {
  const owner = ownerOf(matching);
  const of = owner === 'customer_id' ? 'customer' : 'account';
  return dcOf(matching.filter) === null
    ? { name: `transactions_${of}_page`, columns: `${alias}.${owner}, ${alias}.id` }
    : { name: `transactions_${of}_dc`, columns: `${alias}.${owner}, ${alias}.dc, ${alias}.id` };
}
