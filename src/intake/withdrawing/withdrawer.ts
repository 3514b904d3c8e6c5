import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { isTransient } from '../../database/errors.ts';
import type { Sql } from '../../database/transaction.ts';
import { createMatcher } from '../../ledger/matching.ts';
import type { Log } from '../../platform/log.ts';
import { type OpenWithdrawal, WithdrawalTakenOverError, withdrawPart } from './withdraw-part.ts';

/** Runs the withdrawals of a customer, a part at a time. */

/** Index: withdrawals_status. */
const FIND_OLDEST = `
  SELECT id, customer_id AS customerId, import_id AS importId, IF(statement_id = 0, NULL, statement_id) AS statementId, checkpoint
  FROM withdrawals WHERE status IN ('queued', 'running') AND customer_id = ? ORDER BY id LIMIT 1`;

/** A withdrawal fails after this many runs in a row that ended with an error. Then the customer's imports go on. */
const MAX_CRASHES = 10;

const COUNT_CRASH = `
  UPDATE withdrawals SET crash_count = crash_count + 1, status = IF(crash_count >= ${MAX_CRASHES}, 'failed', status),
    finished_at = IF(crash_count >= ${MAX_CRASHES}, NOW(6), NULL)
  WHERE id = ?`;

/** Milliseconds of a pause after a part. */
const LONGEST_REST = 1_000;

interface WithdrawerOptions {
  database: DataSource;
  /** Waits until a part of the customer may be withdrawn. @returns a function that ends the turn. */
  takeTurn: (customerId: string) => Promise<(() => void) | null>;
  /** Wakes webhooks. `reread`: they read themselves again. A failure is logged, and the reconciler wakes them later. */
  wake: (webhookIds: readonly string[], options: { reread: boolean }) => Promise<void>;
  log: Log;
}

/**
 * Creates a function that runs the withdrawals of a customer, the oldest first.
 * `goesOn` is asked after each part. `taken over`: another process goes on with them, or the customer is being deleted.
 */
export function createWithdrawer({ database, takeTurn, wake, log }: WithdrawerOptions) {
  const matcher = createMatcher();

  async function wakeAll(webhookIds: readonly string[], reread: boolean): Promise<void> {
    if (webhookIds.length > 0)
      await wake(webhookIds, { reread }).catch((err: unknown) => log.warn({ err }, 'webhooks not woken'));
  }

  /** @returns whether the part was withdrawn here. */
  async function withdraw(withdrawal: OpenWithdrawal): Promise<boolean> {
    const endTurn = await takeTurn(withdrawal.customerId);
    try {
      const { wake: woken, reread, isDone } = await withdrawPart(database, matcher, withdrawal);
      await wakeAll(reread, true);
      await wakeAll(woken, false);
      if (isDone) log.info({ withdrawalId: withdrawal.id }, 'withdrawal done');
      return true;
    } catch (error) {
      if (error instanceof WithdrawalTakenOverError) return false;
      log.error({ err: error, withdrawalId: withdrawal.id }, 'withdrawal interrupted');
      // An unreachable or locked database is not the fault of the withdrawal.
      if (!isTransient(error)) await database.query(COUNT_CRASH, [withdrawal.id]).catch(() => {});
      throw error;
    } finally {
      endTurn?.();
    }
  }

  return async function runWithdrawals(
    customerId: string,
    goesOn: () => Promise<boolean>,
  ): Promise<'done' | 'given back' | 'taken over'> {
    for (;;) {
      const [oldest] = await database.query<OpenWithdrawal[]>(FIND_OLDEST, [customerId]);
      if (oldest === undefined) return 'done';
      const began = performance.now();
      if (!(await withdraw(oldest))) return 'taken over';
      if (!(await goesOn())) return 'given back';
      // Leaves as much time to others as the part has taken.
      await sleep(Math.min(performance.now() - began, LONGEST_REST));
    }
  };
}

/** Index: withdrawals_status. */
const FIND_CUSTOMERS =
  "SELECT DISTINCT customer_id AS id FROM withdrawals WHERE status IN ('queued', 'running')";

/** Finds the customers with withdrawals that are not done. */
export const findWithdrawingCustomers = async (sql: Sql): Promise<string[]> =>
  (await sql.query<{ id: string }[]>(FIND_CUSTOMERS)).map(({ id }) => id);
