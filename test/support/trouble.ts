import { wakeChangedWebhook } from '../../src/delivery/wake.ts';
import { createAccount, importMovements, movement } from './movements.ts';
import type { Receiver } from './receiver.ts';
import type { TestService } from './service.ts';
import { setCursor } from './subscriber.ts';
import { insertTroubleSources, SOURCE_SECRETS, type TroubleSources } from './trouble-sources.ts';
import { until } from './until.ts';
import { subscribe } from './webhooks.ts';

/** An installation in which some things work and others do not, for the console. */
export interface Trouble {
  key: string;
  customerId: string;
  accountId: string;
  webhooks: { healthy: string; dead: string; paused: string; disabled: string };
  imports: { done: string; conflicting: string; rejected: string; failed: string };
  sources: TroubleSources;
  /** Open ones. */
  conflicts: [string, string];
  /** The ids of the movements that were imported first, the oldest first. */
  movementIds: string[];
  /** The unique_id of the first movement. */
  uniqueId: string;
  /** Texts that no page may contain: secrets of the customer and its webhooks. */
  secrets: string[];
}

export const CUSTOMER = 'Şahin Tekstil A.Ş.';
export const DEAD_TITLE = 'Muhasebe <b>kapalı</b>';
export const DEAD_ANSWER = 'no healthy upstream <script>alert(1)</script>';
const HEADER_SECRET = 'Bearer gizli-anahtar-MARKER';
const MOVEMENTS = 20;
/** So many deliveries has each webhook: the movements, and the one that was stored of the import with a rejected row. */
export const MATCHED = MOVEMENTS + 1;
/** All deliveries. The disabled webhook has not matched the last movement. */
export const DELIVERIES = 3 * MATCHED + MOVEMENTS;

/** Creates the trouble on a service with all roles: a dead endpoint beside a healthy one, and imports that failed. */
export async function createTrouble(service: TestService, receiver: Receiver): Promise<Trouble> {
  const { database } = service.runtime;
  const { api_key: key, api_secret: apiSecret, customer } = await service.customer(CUSTOMER);
  const { id: accountId } = await createAccount(service, key);
  receiver.answer('/gone', (_received, response) => {
    response.writeHead(410).end();
  });
  receiver.answer('/dead', (_received, response) => {
    response.writeHead(503).end(DEAD_ANSWER);
  });
  const healthy = await subscribe(service, key, `${receiver.url}/healthy`, {
    title: 'Depo',
    headers: { 'x-token': HEADER_SECRET },
  });
  const dead = await subscribe(service, key, `${receiver.url}/dead`, { title: DEAD_TITLE });
  const paused = await subscribe(service, key, `${receiver.url}/paused`, { title: 'CRM' });
  const disabled = await subscribe(service, key, `${receiver.url}/gone`, { title: 'Eski sistem' });
  await service.call('PATCH', `/v1/webhooks/${paused.id}`, { key, body: { status: 'paused' } });
  const uniqueId = 'GB20260115-000001';
  const done = await importMovements(
    service,
    key,
    Array.from({ length: MOVEMENTS }, (_, at) =>
      movement(accountId, {
        unique_id: at === 0 ? uniqueId : `GB20260115-${at}`,
        description: `Fatura ${at}`,
      }),
    ),
  );
  await until('the webhook whose endpoint is gone is disabled', async () => {
    const { body } = await service.call('GET', `/v1/webhooks/${disabled.id}`, { key });
    return body.webhook.status === 'disabled';
  });
  const conflicting = await importMovements(
    service,
    key,
    ['1', '2'].map((at) => movement(accountId, { unique_id: `GB20260115-${at}`, amount: `${at}.77` })),
  );
  const { body: conflicts } = await service.call('GET', '/v1/conflicts', { key });
  const rejected = await importRejected(service, key, accountId);
  const failed = await insertFailedImport(service, customer.id);
  await until('the dead endpoint has failed, and the healthy one has all', async () => {
    const [row] = await database.query<{ failures: number; leased: Date | null; delivered: string }[]>(
      `SELECT d.consecutive_failures AS failures, d.lease_until AS leased, h.delivered_count AS delivered
       FROM webhook_cursors d JOIN webhook_cursors h ON h.webhook_id = ? WHERE d.webhook_id = ?`,
      [healthy.id, dead.id],
    );
    if (Number(row?.failures) >= 3) return row?.leased === null && Number(row?.delivered) === MATCHED;
    await retryNow(service, dead.id);
    return false;
  });
  // As after an hour, and for long enough that no probe changes what is being looked at. A run that has its lease would write over it.
  await until('no run of the dead webhook has its lease, and it looks as after an hour', async () => {
    const { affectedRows } = await database.query<{ affectedRows: number }>(
      `UPDATE webhook_cursors SET failing_since = NOW(6) - INTERVAL 1 HOUR, consecutive_failures = 7, circuit_openings = 5,
        circuit_open_until = NOW(6) + INTERVAL 10 MINUTE WHERE webhook_id = ? AND lease_until IS NULL`,
      [dead.id],
    );
    return affectedRows === 1;
  });
  const sources = await insertTroubleSources(service, customer.id, rejected);
  const movements = await database.query<{ id: string }[]>(
    'SELECT id FROM transactions WHERE customer_id = ? ORDER BY id LIMIT ?',
    [customer.id, MOVEMENTS],
  );
  return {
    key,
    customerId: customer.id,
    accountId,
    webhooks: { healthy: healthy.id, dead: dead.id, paused: paused.id, disabled: disabled.id },
    imports: { done: String(done.id), conflicting: String(conflicting.id), rejected, failed },
    sources,
    conflicts: conflicts.conflicts.map(({ id }: { id: number }) => String(id)),
    movementIds: movements.map(({ id }) => id),
    uniqueId,
    secrets: [
      ...[key, apiSecret, HEADER_SECRET, 'gizli-anahtar', ...SOURCE_SECRETS],
      ...[healthy, dead].map(({ secret }) => secret),
    ],
  };
}

/** Sends the next retry without waiting for its delay or for the circuit. */
async function retryNow(service: TestService, webhookId: string): Promise<void> {
  await service.runtime.database.query(
    'UPDATE retries SET due_at = NOW(6) WHERE webhook_id = ? AND due_at > NOW(6)',
    [webhookId],
  );
  await setCursor(service, webhookId, 'circuit_open_until = LEAST(circuit_open_until, NOW(6))');
  await wakeChangedWebhook(service.runtime, webhookId);
}

/** An NDJSON import with one row that is stored, and one that is not. */
async function importRejected(service: TestService, key: string, accountId: string): Promise<string> {
  const rows = [movement(accountId, { unique_id: 'ND-1' }), movement(accountId, { amount: 'çok' })];
  const { body } = await service.call('POST', '/v1/imports', {
    key,
    type: 'application/x-ndjson',
    body: rows.map((row) => JSON.stringify(row)).join('\n'),
  });
  const { id } = body.import;
  await until('the import with a rejected row is done', async () => {
    const answer = await service.call('GET', `/v1/imports/${id}`, { key });
    return answer.body.import.status === 'done';
  });
  return String(id);
}

/** The state of an import that was quarantined before its first row was stored. */
async function insertFailedImport(
  { runtime: { database } }: TestService,
  customerId: string,
): Promise<string> {
  const [key] = await database.query<{ id: string }[]>('SELECT id FROM api_keys WHERE customer_id = ?', [
    customerId,
  ]);
  const { insertId } = await database.query<{ insertId: number }>(
    `INSERT INTO imports (customer_id, api_key_id, format, status, crash_count, error)
     VALUES (?, ?, 'ndjson', 'failed', 10, 'Reading on from row 1 crashed its process ten times.')`,
    [customerId, key?.id],
  );
  await database.query('INSERT INTO import_parts VALUES (?, 0, ?)', [insertId, Buffer.from('')]);
  return String(insertId);
}
