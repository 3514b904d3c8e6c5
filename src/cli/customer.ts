import type { Sql } from '../database/transaction.ts';
import { Failure } from './failure.ts';

/** @throws {Failure} when there is no such customer. */
export async function requireCustomer(sql: Sql, customerId: string): Promise<void> {
  const found = await sql.query<unknown[]>('SELECT 1 FROM customers WHERE id = ?', [customerId]);
  if (found.length === 0) {
    throw new Failure('There is no customer of that id. See them with: npm run cli -- customers list');
  }
}
