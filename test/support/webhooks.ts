import { afterAll } from 'vitest';
import type { Role } from '../../src/database/runtime.ts';
import type { RunnerOptions } from '../../src/delivery/engine/ports.ts';
import { startDeliveryWorker } from '../../src/delivery/worker.ts';
import type { TestService } from './service.ts';

/** A webhook that the API accepts. */
export const webhook = (fields: object = {}) => ({
  title: 'Muhasebe',
  endpoint: 'http://127.0.0.1:9/hook',
  event: 'NEW_TRANSACTION',
  account: 'all',
  ...fields,
});

/** A webhook for all movements of the customer, made over the API; its id as the database has it. */
export async function subscribe(service: TestService, key: string, endpoint: string, fields: object = {}) {
  const { status, body } = await service.call('POST', '/v1/webhooks', {
    key,
    body: webhook({ title: endpoint, endpoint, ...fields }),
  });
  if (status !== 200) throw new Error(`webhook refused: ${JSON.stringify(body)}`);
  const { id, secret } = body.webhook as { id: number; secret: string };
  return { id: String(id), secret };
}

/** Delivery workers that the test starts itself. Stopped after the file. */
export function useDeliveryWorkers(service: TestService) {
  const running: Role[] = [];
  afterAll(async () => {
    await Promise.all(running.map((role) => role.stop()));
  });
  return {
    start(tuning: Partial<RunnerOptions> = {}): Role {
      const role = startDeliveryWorker(service.runtime, tuning);
      running.push(role);
      return role;
    },
  };
}

export interface DeliveryRow {
  id: string;
  transaction_id: string;
  status: string;
  attempts: number;
  failures: number;
  due_at: Date | null;
}

/** A matching movement after the cursor that has no row is pending, and due since it was stored. */
const DELIVERIES = `
  SELECT CONCAT(d.webhook_id, '-', d.transaction_id) AS id, d.transaction_id, d.status, d.attempts,
    COALESCE(r.failures, 0) AS failures, r.due_at
  FROM deliveries d LEFT JOIN retries r ON r.webhook_id = d.webhook_id AND r.transaction_id = d.transaction_id
  WHERE d.webhook_id = ?
  UNION ALL
  SELECT CONCAT(c.webhook_id, '-', t.id), t.id, 'pending', 0, 0, t.date_readed
  FROM webhook_cursors c JOIN transactions t ON t.customer_id = c.customer_id AND t.id > c.sent_through
  JOIN webhook_filters f ON f.webhook_id = c.webhook_id
    AND f.from_id = (SELECT MAX(g.from_id) FROM webhook_filters g WHERE g.webhook_id = c.webhook_id AND g.from_id < t.id)
  WHERE c.webhook_id = ? AND (f.account_id IS NULL OR f.account_id = t.account_id)
    AND (f.event = 'NEW_TRANSACTION' OR f.event = CONCAT('NEW_', UPPER(t.dc)))
    AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = c.webhook_id AND d.transaction_id = t.id)
  ORDER BY transaction_id`;

/** The deliveries of a webhook in the order of their movements, with those that were never attempted. */
export async function deliveriesOf({ runtime }: TestService, webhookId: string): Promise<DeliveryRow[]> {
  const rows = await runtime.database.query<(DeliveryRow & { attempts: unknown; failures: unknown })[]>(
    DELIVERIES,
    [webhookId, webhookId],
  );
  // Numbers of a UNION have different types on MySQL and MariaDB.
  return rows.map((row) => ({ ...row, attempts: Number(row.attempts), failures: Number(row.failures) }));
}

export interface AttemptRow {
  delivery_id: string;
  number: number;
  outcome: string;
  status_code: number | null;
  error: string | null;
  response: string | null;
}

const ATTEMPTS = `
  SELECT CONCAT(webhook_id, '-', transaction_id) AS delivery_id, transaction_id, number, outcome, status_code, error, response
  FROM attempts a WHERE webhook_id = ? AND NOT EXISTS (
    SELECT 1 FROM deliveries d WHERE d.webhook_id = a.webhook_id AND d.transaction_id = a.transaction_id AND d.attempts = a.number)
  UNION ALL
  SELECT CONCAT(webhook_id, '-', transaction_id), transaction_id, attempts, outcome, status_code, error, response
  FROM deliveries WHERE webhook_id = ?
  ORDER BY transaction_id, number`;

/** All attempts of a webhook, in order, with the last one of each delivery. */
export async function attemptsOf({ runtime }: TestService, webhookId: string): Promise<AttemptRow[]> {
  const rows = await runtime.database.query<(AttemptRow & { transaction_id: string })[]>(ATTEMPTS, [
    webhookId,
    webhookId,
  ]);
  return rows.map(({ transaction_id: _, ...row }) => row);
}
