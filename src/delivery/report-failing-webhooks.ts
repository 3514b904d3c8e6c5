import type { DataSource } from 'typeorm';
import { inTransaction } from '../database/transaction.ts';
import {
  findRecorded,
  recordEvent,
  type SubjectRow,
  subjectColumns,
  toSubject,
} from './operational-event.ts';
import { DISABLE_AFTER_DAYS } from './run/circuit-breaker.ts';

/** Reports webhooks that are on their way to being disabled. */

const DAY_SECONDS = 24 * 60 * 60;
const DISABLE_AFTER_SECONDS = DISABLE_AFTER_DAYS * DAY_SECONDS;

/** After these percentages of the time until a webhook is disabled, its owner is told. In descending order. */
const PERCENTAGES = [90, 70, 50] as const;
const FIRST_PERCENTAGE = 50;

/**
 * Finds only webhooks with a failed attempt on each day so far, because after a day without one the count begins again. Index:
 * webhook_cursors_failing.
 */
const READ_FAILING = `
  SELECT ${subjectColumns('w')}, w.customer_id, c.failing_since, c.last_error,
    TIMESTAMPDIFF(SECOND, c.failing_since, NOW(6)) AS failing_for
  FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id
  WHERE w.status = 'active' AND c.failing_since <= NOW(6) - INTERVAL ? SECOND
    AND FLOOR(TIMESTAMPDIFF(SECOND, c.failing_since, NOW(6)) / ${DAY_SECONDS}) <= c.failing_days`;

type Row = SubjectRow & {
  customer_id: string;
  failing_since: Date;
  last_error: string | null;
  failing_for: string | number;
};

/**
 * Records a `webhook.failing` for each webhook that has passed 50, 70 or 90 % of the time until it is disabled. In a period of failures,
 * each percentage is recorded once. If several have passed since the last check, only the highest is recorded.
 */
export async function reportFailingWebhooks(database: DataSource): Promise<void> {
  const rows = await database.query<Row[]>(READ_FAILING, [(DISABLE_AFTER_SECONDS * FIRST_PERCENTAGE) / 100]);
  const due = rows.map((row) => {
    const percent = percentageOf(Number(row.failing_for));
    return { row, percent, occasion: occasionOf(row, percent) };
  });
  const recorded = await findRecorded(
    database,
    due.map(({ occasion }) => occasion),
  );
  for (const { row, percent, occasion } of due) {
    if (recorded.has(occasion)) continue;
    const { customer_id: customerId, subject_id: webhookId, failing_since, last_error } = row;
    const disabledAt = new Date(failing_since.getTime() + DISABLE_AFTER_SECONDS * 1_000);
    await inTransaction(database, (sql) =>
      recordEvent(sql, {
        type: 'webhook.failing',
        customerId,
        webhookId,
        occasion,
        data: {
          customer_id: Number(customerId),
          webhook: toSubject(row),
          percent,
          failing_since: failing_since.toISOString(),
          disabled_at: disabledAt.toISOString(),
          last_error,
        },
      }),
    );
  }
}

const percentageOf = (failingSeconds: number): number =>
  PERCENTAGES.find((it) => failingSeconds * 100 >= it * DISABLE_AFTER_SECONDS) ?? FIRST_PERCENTAGE;

const occasionOf = ({ subject_id, failing_since }: Row, percent: number): string =>
  `webhook.failing ${subject_id} ${failing_since.toISOString()} ${percent}`;
