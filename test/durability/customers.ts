import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** A customer of the run, with its secrets. */
export interface Customer {
  id: string;
  apiKey: string;
  apiSecret: string;
  /** The accounts of the movements that are sent as JSON. */
  accountIds: readonly [string, string];
  /** The account of the statements that are uploaded. */
  uploadAccount: StatementAccount;
  /** The account of the statements that a folder source collects. */
  folderAccount: StatementAccount;
  /** Where the files of that source are put. */
  folder: string;
}

export interface StatementAccount {
  id: string;
  iban: string;
}

/** Creates customers, each with two accounts for JSON, two for statements, and a folder source. */
export async function createCustomers({
  cli,
  url,
  sourcesDirectory,
  count,
}: {
  cli: (args: string[]) => Promise<unknown>;
  url: string;
  sourcesDirectory: string;
  count: number;
}): Promise<Customer[]> {
  const customers: Customer[] = [];
  for (let n = 1; n <= count; n += 1) {
    const made = (await cli(['customers', 'create', '--name', `Müşteri ${n}`])) as {
      customer: { id: number };
      api_key: string;
      api_secret: string;
    };
    const post = async (path: string, body: object) => {
      const response = await fetch(url + path, {
        method: 'POST',
        headers: { Authentication: made.api_key, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
      return response.json();
    };
    const createAccount = async (title: string, iban?: string) => {
      const created = await post('/v1/accounts', { bank: 'Akbank', title, currency: 'TRY', iban });
      return String((created as { account: { id: number } }).account.id);
    };
    const createStatementAccount = async (title: string, number: number): Promise<StatementAccount> => {
      const iban = makeIban(number);
      return { id: await createAccount(title, iban), iban };
    };
    const folder = join(sourcesDirectory, String(made.customer.id), 'inbox');
    await mkdir(folder, { recursive: true });
    await post('/v1/sources', {
      title: 'Ekstre klasörü',
      kind: 'folder',
      settings: { path: 'inbox' },
      schedule: { every: '10s' },
    });
    customers.push({
      id: String(made.customer.id),
      apiKey: made.api_key,
      apiSecret: made.api_secret,
      accountIds: [await createAccount('Ana Hesap'), await createAccount('Kasa')],
      uploadAccount: await createStatementAccount('Ekstre', 2 * n),
      folderAccount: await createStatementAccount('Ekstre klasörü', 2 * n + 1),
      folder,
    });
  }
  return customers;
}

/** A Turkish IBAN with its check digits (ISO 13616-1, section 6). */
function makeIban(number: number): string {
  const account = `000460${String(number).padStart(16, '0')}`;
  const remainder = BigInt(`${account}292700`) % 97n; // T and R are 29 and 27.
  return `TR${String(98n - remainder).padStart(2, '0')}${account}`;
}
