import { expect } from 'vitest';
import { createAccount, importDone } from '../support/movements.ts';
import { countRows } from '../support/rows.ts';
import type { TestService } from '../support/service.ts';

/** The IBAN of the account of a dry run's customer. */
export const IBAN = 'TR330006100519786457841326';

/** Creates a customer with an account, who tries files, which stores nothing, and imports them. */
export async function createDryRunCustomer(service: TestService) {
  const { api_key: key } = await service.customer();
  const { id: accountId } = await createAccount(service, key, { iban: IBAN });
  const post = (
    body: string | Uint8Array,
    query: string,
    type: string,
    headers: Record<string, string> = {},
  ) => service.call('POST', `/v1/imports${query}`, { key, body: Buffer.from(body as string), type, headers });
  return {
    key,
    accountId,
    async dryRun(
      body: string | Uint8Array,
      query = '',
      type = 'application/octet-stream',
      headers: Record<string, string> = {},
    ) {
      const before = await countRows(service);
      const { status, body: answer } = await post(body, `?dry_run=true${query}`, type, headers);
      expect({ status, rows: await countRows(service) }).toEqual({ status: 200, rows: before });
      return answer;
    },
    async importFile(body: string | Uint8Array, query = '', type = 'application/octet-stream') {
      const answer = await post(body, query, type);
      expect(answer.status).toBe(202);
      return importDone(service, key, answer.body.import.id);
    },
  };
}
