import pRetry from 'p-retry';
import { byOperator, recordChange } from '../customers/audit.ts';
import type { Operator } from '../customers/caller.ts';
import { findOperatorCustomer, requireOperatorCustomer } from '../customers/operator-customer.ts';
import { isDuplicate } from '../database/errors.ts';
import type { Runtime } from '../database/runtime.ts';
import { SEALED, type SecretBox } from '../database/secret-box.ts';
import { inTransaction, type Sql } from '../database/transaction.ts';
import { lockImports } from '../delivery/filters.ts';
import { wakeChangedWebhook } from '../delivery/wake.ts';
import type { OpsWebhook } from '../platform/config.ts';
import { addWebhook, changeColumns, markDeleted, replaceSecret } from './settings/save-webhook.ts';

/**
 * Keeps the operator's webhook as OPS_WEBHOOK_URL configures it. It belongs to a customer that represents the operator, so it works like
 * every other webhook. The OPERATIONAL webhooks of this customer get the events of all customers.
 */

/** The title identifies the webhook that the configuration controls. The operator may have others. */
const TITLE = 'OPS_WEBHOOK_URL';

/** Index: webhooks_customer. */
const FIND_OPERATOR_WEBHOOK = `
  SELECT id, endpoint, status, secret FROM webhooks
  WHERE customer_id = ? AND title = ? AND event = 'OPERATIONAL' AND status <> 'deleted' ORDER BY id LIMIT 1`;

interface StoredWebhook {
  id: string;
  endpoint: string;
  status: 'active' | 'paused' | 'disabled';
  secret: string;
}

/**
 * Creates, changes or deletes the operator's webhook, and records that in the audit log. Several processes may do this at the same time.
 * A webhook that was disabled because its endpoint failed becomes active again, because somebody has just started the service. A paused
 * webhook stays paused.
 */
export async function setOperatorWebhook(runtime: Runtime): Promise<void> {
  const { database, secrets, config } = runtime;
  // Another process may be creating the operator's customer.
  const changedId = await pRetry(
    () => inTransaction(database, (sql) => setWebhook(sql, secrets, config.opsWebhook)),
    {
      retries: 3,
      minTimeout: 50,
      shouldRetry: ({ error }) => isDuplicate(error),
    },
  );
  if (changedId !== null) await wakeChangedWebhook(runtime, changedId);
}

/** @returns the id of the webhook if it existed before and was changed, otherwise null. */
async function setWebhook(
  sql: Sql,
  secrets: SecretBox,
  wanted: OpsWebhook | undefined,
): Promise<string | null> {
  if (wanted === undefined && (await findOperatorCustomer(sql)) === null) return null;
  const customerId = await requireOperatorCustomer(sql, secrets, CONFIGURATION);
  // Other processes wait here, and then find the work done.
  await lockImports(sql, customerId);
  const [webhook] = await sql.query<StoredWebhook[]>(FIND_OPERATOR_WEBHOOK, [customerId, TITLE]);
  if (webhook === undefined) {
    if (wanted !== undefined) await add(sql, secrets, customerId, wanted);
    return null;
  }
  const { id } = webhook;
  if (wanted === undefined) {
    await markDeleted(sql, { id, customerId }, () => record(sql, customerId, 'delete', `webhook ${id}`));
    return id;
  }
  return (await adjust(sql, secrets, { customerId, webhook, wanted })) ? id : null;
}

const CONFIGURATION: Operator = { source: 'configuration', name: TITLE, role: 'admin' };

const record = (sql: Sql, customerId: string, action: string, subject: string, detail = '') =>
  recordChange(sql, byOperator(CONFIGURATION, customerId), { action, subject, detail });

async function add(sql: Sql, secrets: SecretBox, customerId: string, wanted: OpsWebhook): Promise<void> {
  const endpoint = new URL(wanted.url);
  await addWebhook(sql, {
    customerId,
    event: 'OPERATIONAL',
    accountId: null,
    columns: {
      title: TITLE,
      endpoint: endpoint.href,
      encoding: 'json',
      hash_encoding: 'hex',
      max_in_flight: 16,
    },
    seal: (id) => ({ secret: secrets.seal(wanted.secret, SEALED.webhookSecret(id)), headers: null }),
    record: (own, id) =>
      record(own, customerId, 'create', `webhook ${id}`, `OPERATIONAL to ${endpoint.host}`),
  });
}

/** @returns whether anything had to be changed. */
async function adjust(
  sql: Sql,
  secrets: SecretBox,
  { customerId, webhook, wanted }: { customerId: string; webhook: StoredWebhook; wanted: OpsWebhook },
): Promise<boolean> {
  const { id, endpoint, status, secret } = webhook;
  const url = new URL(wanted.url).href;
  const columns = {
    ...(endpoint === url ? {} : { endpoint: url }),
    ...(status === 'disabled' ? { status: 'active', status_reason: null } : {}),
  };
  const isChanged = Object.keys(columns).length > 0;
  if (isChanged) {
    const detail = [
      ...(status === 'disabled' ? ['status: active'] : []),
      ...(endpoint === url ? [] : ['endpoint']),
    ];
    await changeColumns(sql, { id, customerId, columns }, () =>
      record(sql, customerId, 'change', `webhook ${id}`, detail.join(', ')),
    );
  }
  const isRotated = secrets.open(secret, SEALED.webhookSecret(id)) !== wanted.secret;
  if (isRotated) {
    await replaceSecret(sql, id, secrets.seal(wanted.secret, SEALED.webhookSecret(id)));
    await record(sql, customerId, 'rotate secret', `webhook ${id}`);
  }
  return isChanged || isRotated;
}
