import { parseThousandths } from '../../packages/statements/src/amounts.ts';
import type { Sql } from '../../src/database/transaction.ts';

/** Reads an exported CSV, and compares it with what is stored. */

/** The records of a CSV, by the names of its columns. No value has a line end. */
export function readCsv(text: string): Record<string, string>[] {
  const [header = [], ...records] = text
    .replace(/^\uFEFF/, '')
    .split('\r\n')
    .slice(0, -1)
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '',
      ),
    );
  return records.map((cells) => Object.fromEntries(header.map((name, at) => [name, cells[at] ?? ''])));
}

interface Total {
  movements: number;
  /** Thousandths: what came in, less what went out. */
  sum: bigint;
}

/** How many movements a CSV has, and the sum of its column `signed_amount`. */
export const totalOf = (records: readonly Record<string, string>[]): Total => ({
  movements: records.length,
  sum: records.reduce((sum, { signed_amount = '' }) => sum + parseThousandths(signed_amount), 0n),
});

/** The same as `totalOf`, from the database. Both days are inclusive. */
export async function readStoredTotal(
  sql: Sql,
  {
    customerId,
    currency,
    first,
    last,
  }: { customerId: string; currency: string; first: string; last: string },
): Promise<Total> {
  const [stored] = await sql.query<{ movements: string; sum: string }[]>(
    `SELECT COUNT(*) AS movements, COALESCE(SUM(IF(t.dc = 'Credit', t.amount, -t.amount)), 0) AS sum
     FROM transactions t JOIN accounts a ON a.id = t.account_id
     WHERE t.customer_id = ? AND a.currency = ? AND t.date_issue BETWEEN ? AND ?`,
    [customerId, currency, first, last],
  );
  return { movements: Number(stored?.movements), sum: parseThousandths(stored?.sum ?? '') };
}
