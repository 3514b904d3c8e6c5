import type { Sql } from '../database/transaction.ts';
import { recordEvent } from '../delivering/events/record-event.ts';

/** Failed runs in a row after which a source is reported. One or two may be a network that was down for a moment. */
const FAILURES = 3;

const READ = 'SELECT id, customer_id, title, kind, next_run_at FROM sources WHERE id = ?';

interface FailingSource {
  id: string;
  customer_id: string;
  title: string;
  kind: string;
  next_run_at: Date | null;
}

/**
 * Records a `source.failing` with the third failure in a row: once for each series of failures, since each failure raises their
 * number by one.
 * @param sql the transaction that counts the failure.
 */
export async function reportFailingSource(
  sql: Sql,
  sourceId: string,
  { failures, error }: { failures: number; error: string },
): Promise<void> {
  if (failures !== FAILURES) return;
  const [source] = await sql.query<FailingSource[]>(READ, [sourceId]);
  if (source === undefined) return;
  const { id, customer_id, title, kind, next_run_at } = source;
  await recordEvent(sql, {
    type: 'source.failing',
    customerId: customer_id,
    data: {
      customer_id: Number(customer_id),
      source: { id: Number(id), title, kind },
      consecutive_failures: failures,
      error,
      next_run_at: next_run_at?.toISOString() ?? null,
    },
  });
}
