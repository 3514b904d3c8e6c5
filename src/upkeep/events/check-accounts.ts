import type { DataSource } from 'typeorm';
import { isWrong } from '../../../packages/reconcile/src/periods.ts';
import { readCompleteness, TooManyStatementsError, viewPeriod } from '../../books/find-statements.ts';
import { readLateAt } from '../../books/late-statements.ts';
import { inTransaction, type Sql, type WriteResult } from '../../database/transaction.ts';
import { findRecorded, type OperationalEvent, recordEvent } from '../../delivery/operational-event.ts';

/** Reports gaps and contradictions between the statements of an account, and late statements. Reports each only once. */

/** Index: statement_checks_due. */
const FIND_DUE_CHECKS =
  'SELECT account_id, customer_id FROM statement_checks WHERE due_at <= NOW(6) ORDER BY due_at LIMIT 100';

/**
 * Postpones a check before it begins, so that a check that fails or takes long does not come first again. If a statement was stored since,
 * due_at is later already and does not change.
 */
const POSTPONE_CHECK = `
  UPDATE statement_checks SET due_at = NOW(6) + INTERVAL 10 MINUTE WHERE account_id = ? AND due_at <= NOW(6)`;

/** Makes new statements wait until the check has ended. They are checked later. Index: the primary key. */
const LOCK_CHECK = 'SELECT account_id FROM statement_checks WHERE account_id = ? FOR UPDATE';

/** Index: the primary key. */
const READ_ACCOUNT =
  'SELECT id, customer_id, currency, late_after_days AS lateAfterDays, NOW(6) AS now FROM accounts WHERE id = ?';

/** The account is checked again when its next statement is late. */
const FINISH_CHECK =
  'UPDATE statement_checks SET completeness = ?, late_since = ?, due_at = ? WHERE account_id = ?';

/** Tries again later, because the limit of events in this hour is reached. */
const TELL_LATER = 'UPDATE statement_checks SET due_at = NOW(6) + INTERVAL 10 MINUTE WHERE account_id = ?';

interface CheckedAccount {
  id: string;
  customer_id: string;
  currency: string;
  lateAfterDays: number | null;
  now: Date;
}

/** Checks accounts whose last statement came ten minutes ago, or whose next statement is late. @returns how many were checked. */
export async function checkStatements(database: DataSource): Promise<number> {
  const due = await database.query<{ account_id: string }[]>(FIND_DUE_CHECKS);
  await eachAlone(due, async ({ account_id }) => {
    const { affectedRows } = await database.query<WriteResult>(POSTPONE_CHECK, [account_id]);
    if (affectedRows === 0) return;
    await inTransaction(database, async (sql) => {
      await sql.query(LOCK_CHECK, [account_id]);
      const [account] = await sql.query<CheckedAccount[]>(READ_ACCOUNT, [account_id]);
      if (account !== undefined) await checkAccount(sql, account);
    });
  });
  return due.length;
}

async function checkAccount(sql: Sql, account: CheckedAccount): Promise<void> {
  const { id, customer_id: customerId, currency, now } = account;
  const about = { customer_id: Number(customerId), account_id: Number(id) };
  const { status, periods } = await readCompleteness(sql, id).catch(
    (error: unknown): Awaited<ReturnType<typeof readCompleteness>> => {
      if (error instanceof TooManyStatementsError) return { status: 'unknown', periods: [] };
      throw error;
    },
  );
  const lateAt = await readLateAt(sql, account);
  const isLate = lateAt !== null && lateAt <= now;
  await sql.query(FINISH_CHECK, [status, isLate ? lateAt : null, isLate ? null : lateAt, id]);
  const events = periods.filter(isWrong).map((period): ReportedEvent => {
    const { status, statements } = period;
    return {
      type: `statement.${status}`,
      customerId,
      accountId: id,
      occasion: `statement.${status} ${statements[0]?.id} ${statements.at(-1)?.id}`,
      data: { ...about, period: viewPeriod(period, currency) },
    };
  });
  if (isLate)
    events.push({
      type: 'statement.late',
      customerId,
      accountId: id,
      occasion: `statement.late ${id} ${lateAt.toISOString()}`,
      data: { ...about, late_since: lateAt.toISOString() },
    });
  const full = new Set<string>();
  for (const event of events) {
    if (full.has(event.type) || (await recordEvent(sql, event))) continue;
    if ((await findRecorded(sql, [event.occasion])).size === 0) full.add(event.type);
  }
  if (full.size > 0) await sql.query(TELL_LATER, [id]);
}

type ReportedEvent = OperationalEvent & { occasion: string };

/**
 * Does the work for each item, one after the other. Continues after a failure.
 * @throws the first error, when all have been done.
 */
export async function eachAlone<T>(items: Iterable<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const errors: unknown[] = [];
  for (const item of items) await work(item).catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}
