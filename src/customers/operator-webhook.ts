import pRetry from 'p-retry';
import type { OpsWebhook } from '../config/ops-webhook.ts';
import { SEALED, type SecretBox } from '../database/secret-box.ts';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { lockImports } from '../delivering/filters.ts';
import type { Runtime } from '../runtime.ts';
import { wakeChangedWebhook } from '../webhooks/wake-changed.ts';
import { addWebhook, deleteWebhook, replaceSecret, updateWebhook } from '../webhooks/writes.ts';
import { addCustomer } from './customers.ts';

/**
 * Keeps the webhook of OPS_WEBHOOK_URL as the configuration says. It belongs to a customer that stands for the operator, so that it is
 * sent, retried and shown like every other webhook. The OPERATIONAL webhooks of this customer get the events of all customers.
 */

/** The title says which of the operator's webhooks the configuration decides about. */
const TITLE = 'OPS_WEBHOOK_URL';

/** Index: customers_operator. */
const OPERATOR = 'SELECT id FROM customers WHERE is_operator = 1';

/** Index: webhooks_customer. */
const WEBHOOK = `
  SELECT id, endpoint, status, secret FROM webhooks
  WHERE customer_id = ? AND title = ? AND event = 'OPERATIONAL' AND status <> 'deleted' ORDER BY id LIMIT 1`;

interface StoredWebhook {
  id: string;
  endpoint: string;
  status: 'active' | 'paused' | 'disabled';
  secret: string;
}

const ER_DUP_ENTRY = 1062;

/**
 * Creates, changes or deletes the operator's webhook. Several processes may do so at the same time. A webhook that was disabled because
 * its endpoint failed becomes active again, since somebody has just started the service; one that was paused stays paused.
 */
export async function setOperatorWebhook(runtime: Runtime): Promise<void> {
  const { database, secrets, config } = runtime;
  // Another process may be creating the operator's customer.
  const changed = await pRetry(
    () => inTransaction(database, (sql) => findOrAdd(sql, secrets, config.opsWebhook)),
    {
      retries: 3,
      minTimeout: 50,
      shouldRetry: ({ error }) => 'errno' in error && error.errno === ER_DUP_ENTRY,
    },
  );
  if (changed === null) return;
  const { customerId, webhook } = changed;
  if (config.opsWebhook === undefined)
    await deleteWebhook(database, { id: webhook.id, customerId }, async () => {});
  else await adjust(runtime, customerId, webhook, config.opsWebhook);
  await wakeChangedWebhook(runtime, webhook.id);
}

/** @returns the webhook that was found; null when there is none to change. */
async function findOrAdd(
  sql: Sql,
  secrets: SecretBox,
  wanted: OpsWebhook | undefined,
): Promise<{ customerId: string; webhook: StoredWebhook } | null> {
  const [operator] = await sql.query<{ id: string }[]>(OPERATOR);
  if (operator === undefined && wanted === undefined) return null;
  const { id: customerId } =
    operator ?? (await addCustomer(sql, secrets, { name: 'Operator', isOperator: true }));
  await lockImports(sql, customerId);
  const [webhook] = await sql.query<StoredWebhook[]>(WEBHOOK, [customerId, TITLE]);
  if (webhook !== undefined) return { customerId, webhook };
  if (wanted === undefined) return null;
  await addWebhook(sql, {
    customerId,
    event: 'OPERATIONAL',
    accountId: null,
    columns: {
      title: TITLE,
      endpoint: new URL(wanted.url).href,
      encoding: 'json',
      hash_encoding: 'hex',
      max_in_flight: 16,
    },
    seal: (id) => ({ secret: secrets.seal(wanted.secret, SEALED.webhookSecret(id)), headers: null }),
  });
  return null;
}

async function adjust(
  { database, secrets }: Runtime,
  customerId: string,
  { id, endpoint, status, secret }: StoredWebhook,
  wanted: OpsWebhook,
): Promise<void> {
  const url = new URL(wanted.url).href;
  const columns = {
    ...(endpoint === url ? {} : { endpoint: url }),
    ...(status === 'disabled' ? { status: 'active', status_reason: null } : {}),
  };
  if (Object.keys(columns).length > 0)
    await updateWebhook(database, { id, customerId, columns }, async () => {});
  if (secrets.open(secret, SEALED.webhookSecret(id)) !== wanted.secret)
    await replaceSecret(database, id, secrets.seal(wanted.secret, SEALED.webhookSecret(id)));
}
