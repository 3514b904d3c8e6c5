import { afterAll } from 'vitest';
import type { PumpOptions } from '../../src/delivering/pump.ts';
import { startDeliveryWorker } from '../../src/delivering/worker.ts';
import type { Role } from '../../src/runtime.ts';
import type { TestService } from './service.ts';

/** A webhook that the API accepts. */
export const webhook = (fields: object = {}) => ({
  title: 'Muhasebe',
  endpoint: 'http://127.0.0.1:9/hook',
  event: 'NEW_TRANSACTION',
  account: 'all',
  ...fields,
});

/** A webhook for all movements of the customer, made over the API. */
export async function subscribe(service: TestService, key: string, endpoint: string, fields: object = {}) {
  const { status, body } = await service.call('POST', '/v1/webhooks', {
    key,
    body: webhook({ title: endpoint, endpoint, ...fields }),
  });
  if (status !== 200) throw new Error(`webhook refused: ${JSON.stringify(body)}`);
  return body.webhook as { id: string; secret: string };
}

/** Delivery workers of the test's own, ended with the file. */
export function useDeliveryWorkers(service: TestService) {
  const running: Role[] = [];
  afterAll(async () => {
    await Promise.all(running.map((role) => role.stop()));
  });
  return {
    start(tuning: Partial<PumpOptions> = {}): Role {
      const role = startDeliveryWorker(service.runtime, tuning);
      running.push(role);
      return role;
    },
  };
}

export interface DeliveryRow {
  id: string;
  status: string;
  attempts: number;
  failures: number;
  due_at: Date | null;
}

/** The deliveries of a webhook, by id. */
export function deliveriesOf({ runtime }: TestService, webhookId: string): Promise<DeliveryRow[]> {
  return runtime.database.query(
    'SELECT id, status, attempts, failures, due_at FROM deliveries WHERE webhook_id = ? ORDER BY id',
    [webhookId],
  );
}

export interface AttemptRow {
  delivery_id: string;
  number: number;
  outcome: string;
  status_code: number | null;
  error: string | null;
  response: string | null;
}

/** The attempt log of a webhook, in order. */
export function attemptsOf({ runtime }: TestService, webhookId: string): Promise<AttemptRow[]> {
  return runtime.database.query(
    `SELECT a.delivery_id, a.number, a.outcome, a.status_code, a.error, a.response FROM attempts a
     JOIN deliveries d ON d.id = a.delivery_id WHERE d.webhook_id = ? ORDER BY a.delivery_id, a.number`,
    [webhookId],
  );
}
