import { createHash } from 'node:crypto';
import type { Sql } from '../platform/database/transaction.ts';
import { formatAmount } from '../statements/values.ts';
import type { Chunk } from './store-chunk.ts';

/** Keeps the statements that files have brought. The same statement is kept once, however often it comes. */

/** Leaves out an account that has just been deleted. Index: statements_same. */
const ADD = `
  INSERT IGNORE INTO statements (customer_id, account_id, import_id, line, kind, number, sequence, from_date, to_date, opening_balance,
    closing_balance, difference, entries, fingerprint) VALUES ?`;

/** Statements are checked when no more files have come for a while: they may come in any order. */
const CHECK = `
  INSERT IGNORE INTO statement_checks (account_id, customer_id, due_at)
  SELECT id, customer_id, NOW(6) + INTERVAL 10 MINUTE FROM accounts WHERE id IN (?)
  ON DUPLICATE KEY UPDATE due_at = VALUES(due_at)`;

/** Its balance is looked at when the import has ended. */
const CHECK_BALANCE = `
  INSERT IGNORE INTO told_balances (account_id, customer_id, import_id)
  SELECT id, customer_id, ? FROM accounts WHERE id IN (?)
  ON DUPLICATE KEY UPDATE import_id = VALUES(import_id)`;

const NAME_LENGTH = 64;

const money = (amount: bigint | null): string | null => (amount === null ? null : formatAmount(amount));

/**
 * Stores the statements that end in a chunk.
 * @param sql the transaction of the chunk.
 */
export async function storeStatements(
  sql: Sql,
  { customerId, importId, ended }: Pick<Chunk, 'customerId' | 'importId' | 'ended'>,
): Promise<void> {
  if (ended.length === 0) return;
  const rows = ended.map((it) => {
    const { accountId, line, kind, from, to, opening, closing, difference, entries } = it;
    const [number, sequence] = [it.number, it.sequence].map((name) => name?.slice(0, NAME_LENGTH) ?? null);
    const balances = [opening, closing, difference === 0n ? null : difference].map(money);
    const sums = [it.credits, it.debits].map(money);
    const content = [kind, number, sequence, from, to, ...balances, ...sums, entries];
    const fingerprint = createHash('sha256').update(JSON.stringify(content)).digest().subarray(0, 16);
    return [
      customerId,
      accountId,
      importId,
      line,
      kind,
      number,
      sequence,
      from,
      to,
      ...balances,
      entries,
      fingerprint,
    ];
  });
  await sql.query(ADD, [rows]);
  const accountIds = [...new Set(ended.map(({ accountId }) => accountId))];
  await sql.query(CHECK, [accountIds]);
  await sql.query(CHECK_BALANCE, [importId, accountIds]);
}
