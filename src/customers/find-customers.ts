import type { Sql } from '../database/transaction.ts';
import { Problem } from '../platform/problem.ts';
import type { StoredCustomer } from './customer-view.ts';

/** Finds customers: by their own ids, by those of a program, by name, and by what belongs to them. */

/** Index of deletions: the primary key. account_id 0 is the whole customer. */
const COLUMNS = `
  c.id, c.name, c.external_id, c.metadata, c.created_at,
  EXISTS (SELECT 1 FROM deletions d WHERE d.customer_id = c.id AND d.account_id = 0) AS is_deleting`;

/** How an operator names a customer. */
export type CustomerName = { id: string } | { externalId: string };

/** Indexes: the primary key and customers_external_id. */
export async function findCustomer(sql: Sql, name: CustomerName): Promise<StoredCustomer | undefined> {
  const [column, value] = 'id' in name ? ['id', name.id] : ['external_id', name.externalId];
  const [customer] = await sql.query<StoredCustomer[]>(
    `SELECT ${COLUMNS} FROM customers c WHERE c.${column} = ?`,
    [value],
  );
  return customer;
}

/** @throws {Problem} 404. */
export async function requireCustomer(sql: Sql, name: CustomerName): Promise<StoredCustomer> {
  const customer = await findCustomer(sql, name);
  if (customer !== undefined) return customer;
  throw new Problem(
    'unknown-customer',
    `A customer with this ${'id' in name ? 'id' : 'external id'} does not exist.`,
  );
}

/** @throws {Problem} 409 when the customer is being deleted. */
export function requireKept({ is_deleting }: StoredCustomer): void {
  if (Number(is_deleting) === 1)
    throw new Problem('customer-deleting', 'This customer is being deleted. Nothing of it can be changed.');
}

/** Which customers to list. The index of each: the primary key, customers_name, customers_external_id. */
export interface CustomerFilters {
  name?: string | undefined;
  externalId?: string | undefined;
  /** A single customer; null: none. */
  id?: string | null | undefined;
}

/** Lists customers, the oldest first. */
export function findCustomers(
  sql: Sql,
  { name, externalId, id }: CustomerFilters,
  { after, limit }: { after: string; limit: number },
): Promise<StoredCustomer[]> {
  const conditions = [
    ['c.name = ?', name] as const,
    ['c.external_id = ?', externalId] as const,
    ['c.id = ?', id === null ? '0' : id] as const,
  ].filter(([, value]) => value !== undefined);
  const where = [...conditions.map(([condition]) => condition), 'c.id > ?'].join(' AND ');
  return sql.query<StoredCustomer[]>(
    `SELECT ${COLUMNS} FROM customers c WHERE ${where} ORDER BY c.id LIMIT ?`,
    [...conditions.map(([, value]) => value), after, limit],
  );
}
