import type { IdRange } from './id-range.ts';
import type { Listing } from './listing.ts';

/** The WHERE clause, its values and the index to use. Both indexes contain all columns that are filtered by. */
export function conditions(
  { accountIds, customerId, starts, ends }: Listing,
  { first, last }: IdRange,
): { index: string; where: string; values: unknown[] } {
  const single = accountIds !== 'all' && accountIds.length === 1;
  const clauses = [single ? 't.account_id = ?' : 't.customer_id = ?', 't.id BETWEEN ? AND ?'];
  const values: unknown[] = [single ? accountIds[0] : customerId, first, last];
  if (accountIds !== 'all' && !single) {
    clauses.push('t.account_id IN (?)');
    values.push(accountIds);
  }
  if (starts !== null) {
    clauses.push('t.date_issue >= ?');
    values.push(starts);
  }
  if (ends !== null) {
    clauses.push('t.date_issue <= ?');
    values.push(ends);
  }
  return {
    index: single ? 'transactions_account_page' : 'transactions_customer_page',
    where: clauses.join(' AND '),
    values,
  };
}
