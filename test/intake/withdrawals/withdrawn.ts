import { importDone } from '../../support/movements.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

/** Withdraws and uploads for tests. */

/** Uploads a file, and waits until it is imported. @returns the import. */
export async function upload(service: TestService, key: string, file: string, query = '') {
  const { status, body } = await service.call('POST', `/v1/imports${query}`, {
    key,
    body: file,
    type: 'application/octet-stream',
  });
  if (status !== 202) throw new Error(`import refused: ${JSON.stringify(body)}`);
  return importDone(service, key, body.import.id);
}

/** Withdraws an import or a statement, and waits until this is done. @param path as `imports/12`. */
export async function withdrawn(service: TestService, key: string, path: string, reason = 'wrong file') {
  const { status, body } = await service.call('POST', `/v1/${path}/withdraw`, { key, body: { reason } });
  if (status !== 202) throw new Error(`withdrawal refused: ${JSON.stringify(body)}`);
  return until(`withdrawal ${body.withdrawal.id} done`, async () => {
    const { body: now } = await service.call('GET', `/v1/withdrawals/${body.withdrawal.id}`, { key });
    return ['done', 'failed'].includes(now.withdrawal.status) && now.withdrawal;
  });
}

/** The movements of the customer, as the listing shows them. */
export async function listed(service: TestService, key: string, query = 'starts=2000-01-01') {
  const { body } = await service.call('GET', `/v1/transactions?${query}&per_page=1000`, { key });
  return body.transactions as { id: number; amount: string; unique_id: string; account_id: number }[];
}
