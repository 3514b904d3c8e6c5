import type { DataSource } from 'typeorm';
import type { StatementEntry } from '../../src/intake/known/entry.ts';

/** Movements in the table of a test that has a database and no service. */

/** Creates customer 1 with account 11, which tests of statements use. */
export async function createOwner(database: DataSource): Promise<void> {
  await database.query("INSERT INTO customers (id, name, api_secret) VALUES (1, 'Müşteri', '-')");
  await database.query("INSERT INTO banks (id, customer_id, name) VALUES (1, 1, 'Banka')");
  await database.query(
    "INSERT INTO accounts (id, customer_id, bank_id, title, currency) VALUES (11, 1, 1, 'Hesap', 'TRY')",
  );
}

/** Entries of account 11 on one day, with ordinals as in a file. An entry is an amount, and perhaps a reference: "10.00 A". */
export function entriesOf(date: string, texts: readonly string[], accountId = '11'): StatementEntry[] {
  const counts = new Map<string, number>();
  return texts.map((text, index) => {
    const [amount = '', reference = null] = text.split(' ');
    const ordinal = (counts.get(amount) ?? 0) + 1;
    counts.set(amount, ordinal);
    return {
      line: 1,
      movement: {
        account_id: accountId,
        dc: 'Credit',
        code: null,
        amount,
        balance: null,
        description: null,
        date_issue: date,
        opponent_id: null,
        opponent_iban: null,
        unique_id: null,
        name: null,
      },
      reference,
      statement: { kind: 'final' as const, format: 'mt940', file: null, opening: null, closing: null },
      details: { currency: null },
      index,
      ordinal,
    };
  });
}

/** Stores entries as an import does. Those with null as their id are stored already. */
export async function storeEntries(
  database: DataSource,
  importId: string,
  entries: readonly StatementEntry[],
  ids: readonly (string | null)[],
): Promise<void> {
  const rows = entries.flatMap(({ movement: { account_id, dc, amount, date_issue } }, index) =>
    ids[index] == null
      ? []
      : [[1, account_id, importId, ids[index], dc, amount, date_issue, '2026-01-15 00:00:00']],
  );
  if (rows.length === 0) return;
  await database.query(
    `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed) VALUES ?`,
    [rows],
  );
}

/** The id of the newest movement, as an import lock has it. */
export async function newestOf(database: DataSource): Promise<string> {
  const [row] = await database.query<{ newest: string }[]>(
    'SELECT COALESCE(MAX(id), 0) AS newest FROM transactions',
  );
  return row?.newest ?? '0';
}
