import { recordEvent } from '../../../src/deliveries/events/operational-event.ts';
import { createAccount, importMovements, largeImport, movement } from '../../support/movements.ts';
import type { TestService } from '../../support/service.ts';
import { recordDeliveries } from '../../support/stored.ts';
import { createSubscriber, NOWHERE } from '../../support/subscriber.ts';

/** A customer that has rows in every table. */
export async function createFull(service: TestService) {
  const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);
  const subscriber = await createSubscriber(service, NOWHERE, {}, { event: 'NEW_DEBIT' });
  const { key, accountId, customerId, webhook, store } = subscriber;
  const { id: otherId } = await createAccount(service, key, { title: 'İki' });
  await service.call('POST', '/v1/apikeys', {
    key,
    body: { title: 'Limited', account: [Number(accountId)] },
    headers: { 'Idempotency-Key': `key of ${customerId}` },
  });
  await importMovements(service, key, [movement(accountId), movement(otherId)]);
  const { body } = await service.call('POST', '/v1/imports', { key, body: largeImport(otherId) });
  await query(
    "INSERT INTO import_errors (import_id, severity, line, path, message) VALUES (?, 'error', 1, '', 'wrong')",
    body.import.id,
  );
  const source = await query<unknown>(
    `INSERT INTO sources (customer_id, title, kind, settings, schedule, account_id, format, create_accounts)
     VALUES (?, 'Folder', 'folder', '{}', '{}', ?, 'auto', 0)`,
    customerId,
    accountId,
  );
  const { insertId } = source as unknown as { insertId: string };
  await query('INSERT INTO source_runs (source_id, customer_id) VALUES (?, ?)', insertId, customerId);
  await query('INSERT INTO source_accounts (source_id, account_id) VALUES (?, ?)', insertId, accountId);
  await query(
    "INSERT INTO source_files (source_id, customer_id, run_id, fingerprint, name, version) VALUES (?, ?, 1, '', 'a', '1')",
    insertId,
    customerId,
  );
  const [delivered = '', failed = '', waiting = ''] = await store(5);
  await recordDeliveries(service.runtime.database, webhook, [
    { transactionId: delivered, status: 'delivered' },
    { transactionId: failed, status: 'failed' },
    { transactionId: waiting, status: 'pending' },
  ]);
  const path = `/v1/webhooks/${webhook.id}/replay`;
  await service.call('POST', path, { key, body: { since: '2000-01-01 00:00:00' } });
  await recordEvent(service.runtime.database, { type: 'import.failed', customerId, data: {} });
  return subscriber;
}
