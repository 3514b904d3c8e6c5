import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { createImporter } from '../../src/intake/importer/importer.ts';
import { createAccount } from '../support/movements.ts';
import type { useService } from '../support/service.ts';

/** Statement files for tests, and imports of them. */

type Service = ReturnType<typeof useService>;

/** An entry of a statement: the day of March 2026, the signed amount, and the bank's reference. */
export interface TestEntry {
  day: number;
  amount: number;
  reference?: string;
  text?: string;
}

const swiftAmount = (amount: number) => Math.abs(amount).toFixed(2).replace('.', ',');
const two = (number: number) => String(number).padStart(2, '0');

/** Renders a statement as MT940, or an interim report of the day as MT942. */
export function mt940(
  entries: readonly TestEntry[],
  {
    account = 'TR330006100519786457841326',
    opening = 1_000,
    closing = undefined as number | undefined,
    interim = false,
  } = {},
): string {
  const end = closing ?? entries.reduce((sum, { amount }) => sum + amount, opening);
  const balance = (tag: string, amount: number) =>
    `:${tag}:${amount < 0 ? 'D' : 'C'}260331TRY${swiftAmount(amount)}`;
  const lines = entries.flatMap(({ day, amount, reference = 'NONREF', text = 'PAYMENT' }) => [
    `:61:2603${two(day)}03${two(day)}${amount < 0 ? 'D' : 'C'}${swiftAmount(amount)}NTRF${reference}`,
    `:86:${text}`,
  ]);
  return interim
    ? [':20:X', `:25:${account}`, ':28C:1/1', ':34F:TRY0,', ':13D:2603311200+0300', ...lines, ''].join('\r\n')
    : [
        ':20:X',
        `:25:${account}`,
        ':28C:1/1',
        balance('60F', opening),
        ...lines,
        balance('62F', end),
        '',
      ].join('\r\n');
}

/** Creates a customer with the account of the statements, and imports files one after the other. */
export async function createStatementCustomer(
  service: Service,
  formats = createStatementFormats([], READ_SETTINGS),
) {
  const { api_key: key, customer } = await service.customer();
  const account = await createAccount(service, key, { iban: 'TR330006100519786457841326' });
  const { database, log } = service.runtime;
  const importer = createImporter({
    database,
    reader: formats,
    log,
    wake: async () => {},
  });
  const never = new AbortController().signal;
  return {
    key,
    customerId: customer.id,
    accountId: String(account.id),
    async importFile(
      file: string | Uint8Array,
      fields: { format?: string; account_id?: string; create_accounts?: number; source_id?: string } = {},
    ) {
      const { format = 'auto', account_id = null, create_accounts = 0, source_id = null } = fields;
      const { insertId } = await database.query<{ insertId: number }>(
        `INSERT INTO imports (customer_id, api_key_id, source_id, format, account_id, create_accounts, status)
         SELECT customer_id, IF(? IS NULL, id, NULL), ?, ?, ?, ?, 'queued' FROM api_keys WHERE customer_id = ?`,
        [source_id, source_id, format, account_id, create_accounts, customer.id],
      );
      await database.query('INSERT INTO import_parts (import_id, seq, bytes) VALUES (?, 0, ?)', [
        insertId,
        Buffer.from(file as string),
      ]);
      await importer.run(String(insertId), never);
      const { import: it } = (await service.call('GET', `/v1/imports/${insertId}`, { key })).body;
      const { errors, warnings } = (await service.call('GET', `/v1/imports/${insertId}/errors`, { key }))
        .body;
      return { ...it, errors, warningMessages: warnings.map(({ message }: { message: string }) => message) };
    },
    async movements(): Promise<
      { date_issue: string; dc: string; amount: string; balance: string; description: string }[]
    > {
      const listed = await service.call('GET', '/v1/transactions?starts=2026-01-01', { key });
      return listed.body.transactions;
    },
  };
}
