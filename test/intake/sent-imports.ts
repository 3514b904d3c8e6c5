import { createAccount } from '../support/movements.ts';
import type { TestService } from '../support/service.ts';

/** Sends imports as JSON, and reads what was stored of them. */
export function useImports(service: TestService) {
  const query = <T>(sql: string, values: unknown[]) => service.runtime.database.query<T[]>(sql, values);
  return {
    query,
    async customerWithAccount() {
      const { api_key: key, customer } = await service.customer();
      return { key, customerId: customer.id, accountId: (await createAccount(service, key)).id };
    },
    send: (key: string, transactions: object[], headers: Record<string, string> = {}) =>
      service.call('POST', '/v1/imports', { key, body: { transactions }, headers }),
    /** How many movements of the customer are stored. */
    storedRows: async (customerId: string) =>
      (await query('SELECT id FROM transactions WHERE customer_id = ?', [customerId])).length,
  };
}
