import type * as v from 'valibot';
import { formatAmount } from '../../packages/statements/src/amounts.ts';
import type { Sql } from '../database/transaction.ts';
import type { GapView } from './books-view.ts';
import { readCompleteness, TooManyStatementsError } from './find-statements.ts';

/** Finds the gaps before the statements of an import. */

/** An import may bring statements of any number of accounts. The gaps of these are looked for. */
const MOST_ACCOUNTS = 10;

/** Index: statements_import, and the primary key. */
const FIND_ACCOUNTS_OF_IMPORT = `
  SELECT s.account_id AS id, a.currency, GROUP_CONCAT(s.id) AS statements
  FROM statements s FORCE INDEX (statements_import) JOIN accounts a ON a.id = s.account_id
  WHERE s.import_id = ? AND s.kind = 'final' GROUP BY s.account_id, a.currency ORDER BY s.account_id LIMIT ${MOST_ACCOUNTS}`;

/** Finds the gaps that end where a statement of the import begins. */
export async function findGapsBefore(sql: Sql, importId: string): Promise<v.InferOutput<typeof GapView>[]> {
  const accounts = await sql.query<{ id: string; currency: string; statements: string }[]>(
    FIND_ACCOUNTS_OF_IMPORT,
    [importId],
  );
  const gaps = await Promise.all(
    accounts.map(async ({ id, currency, statements }) => {
      const own = new Set(statements.split(','));
      const { periods } = await readCompleteness(sql, id).catch((error: unknown) => {
        if (error instanceof TooManyStatementsError) return { periods: [] };
        throw error;
      });
      return periods
        .filter((it) => it.status === 'gap' && own.has(it.statements.at(-1)?.id ?? ''))
        .map(({ from, to, difference }) => ({
          account_id: Number(id),
          from,
          to,
          difference: formatAmount(difference, currency),
          currency,
        }));
    }),
  );
  return gaps.flat();
}
