import type { DataSource } from 'typeorm';
import { recordEvent } from '../deliveries/events/operational-event.ts';
import { inTransaction, type WriteResult } from '../platform/database/transaction.ts';
import { readCompleteness, viewPeriod } from './find-statements.ts';
import { isWrong } from './statement-chain.ts';

/** Reports gaps and contradictions between the statements of an account, once each. */

/** Index: statement_checks_due. */
const DUE =
  'SELECT account_id, customer_id, due_at FROM statement_checks WHERE due_at <= NOW(6) ORDER BY due_at LIMIT 100';

/** A statement that was stored since has set a later time. */
const DONE = 'DELETE FROM statement_checks WHERE account_id = ? AND due_at <= NOW(6)';

/** Checks accounts whose last statement came ten minutes ago. @returns how many were checked. */
export async function checkStatements(database: DataSource): Promise<number> {
  const due = await database.query<{ account_id: string; customer_id: string }[]>(DUE);
  for (const { account_id, customer_id } of due) await checkAccount(database, customer_id, account_id);
  return due.length;
}

async function checkAccount(database: DataSource, customerId: string, accountId: string): Promise<void> {
  await inTransaction(database, async (sql) => {
    const { affectedRows } = await sql.query<WriteResult>(DONE, [accountId]);
    if (affectedRows === 0) return;
    const { periods } = await readCompleteness(sql, accountId);
    for (const period of periods.filter(isWrong)) {
      const { status, statements } = period;
      await recordEvent(sql, {
        type: `statement.${status}`,
        customerId,
        occasion: `statement.${status} ${statements[0]?.id} ${statements.at(-1)?.id}`,
        data: { customer_id: Number(customerId), account_id: Number(accountId), period: viewPeriod(period) },
      });
    }
  });
}
