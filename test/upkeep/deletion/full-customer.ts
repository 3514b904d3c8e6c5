import type { DataSource } from 'typeorm';
import { recordBalance, recordEvent } from '../../../src/delivery/operational-event.ts';
import { dispatchEvents } from '../../../src/upkeep/events/dispatch-events.ts';
import { createAccount, importMovements, largeImport, movement } from '../../support/movements.ts';
import type { TestService } from '../../support/service.ts';
import { recordDeliveries } from '../../support/stored.ts';
import { createSubscriber, NOWHERE } from '../../support/subscriber.ts';
import { subscribe } from '../../support/webhooks.ts';

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
  await query(
    'INSERT INTO webhook_standings (webhook_id, customer_id, failing) VALUES (?, ?, 1)',
    webhook.id,
    customerId,
  );
  await recordDeliveries(service.runtime.database, webhook, [
    { transactionId: delivered, status: 'delivered' },
    { transactionId: failed, status: 'failed' },
    { transactionId: waiting, status: 'pending' },
  ]);
  await query(
    `INSERT INTO rejected_batches (webhook_id, customer_id, first_id, last_id, events, status_code, started_at, duration_ms)
     VALUES (?, ?, 1, 2, 2, 422, NOW(6), 1)`,
    webhook.id,
    customerId,
  );
  const path = `/v1/webhooks/${webhook.id}/replay`;
  await service.call('POST', path, { key, body: { since: '2000-01-01 00:00:00' } });
  const { database } = service.runtime;
  await recordEvent(database, { type: 'import.failed', customerId, data: {} });
  const [own] = await query<{ id: string }>(
    'SELECT id FROM transactions WHERE account_id = ? ORDER BY id DESC LIMIT 1',
    accountId,
  );
  await storeStatement(database, {
    customerId,
    accountId,
    // An importer may store the other account's movements meanwhile, so that those above may be of either.
    transactionId: own?.id ?? '',
    importId: body.import.id,
  });
  await storeWithdrawn(database, { customerId, accountId, webhookId: webhook.id });
  const balances = await subscribe(service, key, NOWHERE, { event: 'BALANCE_UPDATED' });
  const alerts = await subscribe(service, key, NOWHERE, { event: 'OPERATIONAL' });
  await recordBalance(database, { customerId, accountId, data: {} });
  await recordEvent(database, { type: 'statement.gap', customerId, accountId, data: {} });
  await dispatchEvents(database);
  const events = await query<{ id: string }>(
    'SELECT id FROM operational_events WHERE account_id = ?',
    accountId,
  );
  await database.query('DELETE FROM retries WHERE webhook_id IN (?)', [[balances.id, alerts.id]]);
  for (const { id } of [balances, alerts])
    await recordDeliveries(
      database,
      { id, customerId },
      events.map(({ id }) => ({ transactionId: id, status: 'delivered' })),
    );
  return subscriber;
}

/** A withdrawn movement with its statement, and a delivery of it. */
async function storeWithdrawn(
  database: DataSource,
  { customerId, accountId, webhookId }: { customerId: string; accountId: string; webhookId: string },
): Promise<void> {
  const { insertId: id } = await database.query<{ insertId: string }>(
    `INSERT INTO withdrawals (customer_id, import_id, reason, status, finished_at)
     SELECT ?, 1000000 + COALESCE(MAX(id), 0), 'wrong file', 'done', NOW(6) FROM withdrawals`,
    [customerId],
  );
  await database.query(
    `INSERT INTO withdrawn_transactions (event_id, id, customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed,
       withdrawal_id, withdrawn_at)
     SELECT MAX(id) + 1000000 + ?, MAX(id) + 2000000 + ?, ?, ?, 1, 'w', 'Debit', 1, '2026-01-01', NOW(6), ?, NOW(6) FROM transactions`,
    [id, id, customerId, accountId, id],
  );
  await database.query(
    `INSERT INTO transaction_details (transaction_id, customer_id, line, position)
     SELECT id, customer_id, 1, 0 FROM withdrawn_transactions WHERE withdrawal_id = ?`,
    [id],
  );
  await database.query(
    `INSERT INTO deliveries (webhook_id, transaction_id, customer_id, status, attempts, outcome, started_at, duration_ms)
     SELECT ?, id, customer_id, 'failed', 1, 'failed', NOW(6), 0 FROM withdrawn_transactions WHERE withdrawal_id = ?`,
    [webhookId, id],
  );
  await database.query(
    `INSERT INTO withdrawn_statements (id, customer_id, account_id, import_id, line, format, kind, credits, debits, entries, received_at,
       withdrawal_id)
     VALUES (1000000 + ?, ?, ?, 1, 1, 'mt940', 'final', 0, 0, 1, NOW(6), ?)`,
    [id, customerId, accountId, id],
  );
}

/** A statement with one entry, and everything else that is kept beside it. */
async function storeStatement(
  database: DataSource,
  ids: { customerId: string; accountId: string; transactionId: string; importId: string },
): Promise<void> {
  const { customerId, accountId, transactionId, importId } = ids;
  const { insertId } = await database.query<{ insertId: string }>(
    `INSERT INTO statements (customer_id, account_id, import_id, line, format, kind, from_date, to_date, credits, debits, entries, fingerprint)
     VALUES (?, ?, ?, 1, 'mt940', 'final', '2026-01-01', '2026-01-01', 0, 0, 1, UNHEX(REPLACE(UUID(), '-', '')))`,
    [customerId, accountId, importId],
  );
  await database.query(
    'INSERT INTO transaction_details (transaction_id, customer_id, statement_id, line, position) VALUES (?, ?, ?, 1, 0)',
    [transactionId, customerId, insertId],
  );
  await database.query(
    `INSERT INTO repeated_entries (statement_id, transaction_id, account_id, customer_id, import_id, position, date_issue)
     VALUES (?, ?, ?, ?, ?, 0, '2026-01-01')`,
    [insertId, transactionId, accountId, customerId, importId],
  );
  await database.query(
    `INSERT INTO batch_details (transaction_id, position, customer_id, import_id, dc, amount) VALUES (?, 0, ?, ?, 'Debit', 1)`,
    [transactionId, customerId, importId],
  );
  await database.query(
    `INSERT INTO movement_conflicts (customer_id, account_id, transaction_id, dc, amount, date_issue, received, import_id, line)
     VALUES (?, ?, ?, 'Debit', 1, '2026-01-01', '{}', ?, 1)`,
    [customerId, accountId, transactionId, importId],
  );
  await database.query(
    "INSERT INTO import_duplicates (import_id, line, reason, transaction_id) VALUES (?, 1, 'same', ?)",
    [importId, transactionId],
  );
  await database.query('INSERT INTO told_balances (account_id, customer_id, import_id) VALUES (?, ?, ?)', [
    accountId,
    customerId,
    importId,
  ]);
  await database.query('INSERT INTO statement_checks (account_id, customer_id) VALUES (?, ?)', [
    accountId,
    customerId,
  ]);
}
