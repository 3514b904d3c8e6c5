import { MAX_GROUP_MOVEMENTS } from '../../src/ledger/group-commit.ts';
import type { TestService } from './service.ts';
import { until } from './until.ts';

/** An account at a bank, as the API makes it; its id as the database has it. */
export async function createAccount(
  service: TestService,
  key: string,
  fields: object = {},
): Promise<{ id: string }> {
  const { body } = await service.call('POST', '/v1/accounts', {
    key,
    body: { bank: 'Garanti BBVA', title: 'Ana Hesap', currency: 'TRY', ...fields },
  });
  return { ...body.account, id: String(body.account.id) };
}

/** A movement that the API accepts. */
export const movement = (accountId: string, fields: object = {}) => ({
  account_id: accountId,
  dc: 'Credit',
  code: 'EFT',
  amount: '1250.00',
  balance: '5000.50',
  description: 'EFT gönderen Şükrü Özgür İnce',
  date_issue: '2026-01-15',
  opponent_id: ' 12345678901',
  opponent_iban: 'TR330006100519786457841326',
  unique_id: null,
  name: null,
  ...fields,
});

/** The body of an import that is too large to be stored inline. Without an importer it stays queued. */
export const largeImport = (accountId: string) => ({
  transactions: Array.from({ length: MAX_GROUP_MOVEMENTS + 1 }, () => movement(accountId)),
});

/** Imports movements and waits until the import is done. @returns the import. */
export async function importMovements(service: TestService, key: string, movements: object[]) {
  const { status, body } = await service.call('POST', '/v1/imports', {
    key,
    body: { transactions: movements },
  });
  if (status !== 202) throw new Error(`import refused: ${JSON.stringify(body)}`);
  return importDone(service, key, body.import.id);
}

export function importDone(service: TestService, key: string, id: string | number) {
  return until(`import ${id} done`, async () => {
    const { body } = await service.call('GET', `/v1/imports/${id}`, { key });
    return body.import.status === 'done' && body.import;
  });
}
