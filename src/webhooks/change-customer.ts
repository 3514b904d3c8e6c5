import type { DataSource } from 'typeorm';
import type { Operator } from '../customers/caller.ts';
import type { CustomerChange } from '../customers/customer-view.ts';
import { updateCustomer } from '../customers/customers.ts';
import { requireCustomer } from '../customers/find-customers.ts';
import { isDuplicate } from '../database/errors.ts';
import { inTransaction } from '../database/transaction.ts';
import { Problem } from '../platform/problem.ts';
import { keepWebhooksOf, shareTemplates } from './template-webhooks.ts';

/** The webhooks of templates send the external id, so that their runs must read it again. Index: webhooks_customer. */
const END_RUNS =
  "UPDATE webhooks SET revision = revision + 1 WHERE customer_id = ? AND template_id IS NOT NULL AND status <> 'deleted'";

/**
 * Changes what a program says of a customer, and adapts the customer's webhooks of templates.
 * @throws {Problem} 404; 409 when the customer is being deleted, or another customer has the external id.
 */
export async function changeCustomer(
  database: DataSource,
  operator: Operator,
  id: string,
  change: CustomerChange,
): Promise<void> {
  try {
    await inTransaction(database, async (sql) => {
      if (change.metadata !== undefined) await shareTemplates(sql);
      await updateCustomer(sql, operator, id, change);
      const { metadata } = await requireCustomer(sql, { id });
      if (change.metadata !== undefined) await keepWebhooksOf(sql, { id, metadata });
      if (change.external_id !== undefined) await sql.query(END_RUNS, [id]);
    });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    throw new Problem('external-id-taken', 'Another customer has this external id.');
  }
}
