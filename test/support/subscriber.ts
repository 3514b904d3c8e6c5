import { createAccount } from './movements.ts';
import type { TestService } from './service.ts';
import { storeMovements } from './stored.ts';
import { subscribe } from './webhooks.ts';

/** Nothing listens on this port. */
export const NOWHERE = 'http://127.0.0.1:9/';

export interface Subscriber {
  key: string;
  customerId: string;
  accountId: string;
  /** Its first webhook. */
  webhook: { id: string; customerId: string };
  webhookIds: string[];
  /** Stores movements of its account as an import does, but wakes no webhook. @returns their ids. */
  store(movements: number | Parameters<typeof storeMovements>[2], accountId?: string): Promise<string[]>;
}

/** Creates a customer with an account and webhooks. @param fields of one webhook each. Default: one webhook. */
export async function createSubscriber(
  service: TestService,
  endpoint = NOWHERE,
  ...fields: object[]
): Promise<Subscriber> {
  const { api_key: key, customer } = await service.customer();
  const { id: accountId } = await createAccount(service, key);
  const webhookIds: string[] = [];
  for (const own of fields.length === 0 ? [{}] : fields) {
    webhookIds.push((await subscribe(service, key, endpoint, own)).id);
  }
  const customerId = customer.id;
  return {
    key,
    customerId,
    accountId,
    webhook: { id: webhookIds[0] ?? '', customerId },
    webhookIds,
    store: (movements, account = accountId) =>
      storeMovements(
        service.runtime.database,
        { customerId, accountId: account },
        typeof movements === 'number' ? Array.from({ length: movements }, () => ({})) : movements,
      ),
  };
}

/** The webhook's row in `webhook_cursors`. */
export async function cursorOf({ runtime }: TestService, webhookId: string): Promise<CursorRow> {
  const [row] = await runtime.database.query<CursorRow[]>(
    'SELECT * FROM webhook_cursors WHERE webhook_id = ?',
    [webhookId],
  );
  if (row === undefined) throw new Error(`webhook ${webhookId} has no cursor`);
  return row;
}

export interface CursorRow {
  sent_through: string;
  highest_recorded_id: string;
  delivered_count: string;
  failed_count: string;
  lease_token: string;
  lease_until: Date | null;
  lease_writes: number;
  crash_count: number;
  health_revision: number;
  consecutive_failures: number;
  failing_since: Date | null;
  failing_days: number;
  circuit_openings: number;
  circuit_open_until: Date | null;
  recovery_successes: number | null;
  rate_next_at: Date | null;
  last_error: string | null;
  unreported_failures: string;
  failures_reported_at: Date | null;
  progressed_at: Date | null;
}

/** Sets columns of the webhook's row in `webhook_cursors`. @param assignments SQL. */
export async function setCursor(
  { runtime }: TestService,
  webhookId: string,
  assignments: string,
): Promise<void> {
  await runtime.database.query(`UPDATE webhook_cursors SET ${assignments} WHERE webhook_id = ?`, [webhookId]);
}
