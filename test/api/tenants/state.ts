import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import type { TestService } from '../../support/service.ts';

/** For each table, the query of one customer's rows. Each `?` stands for the customer's id. */
const ROWS: Record<string, string> = {
  customers: 'SELECT * FROM customers WHERE id = ?',
  import_locks: 'SELECT * FROM import_locks WHERE customer_id = ?',
  segment_checkpoints: 'SELECT * FROM segment_checkpoints WHERE customer_id = ?',
  transaction_segments: 'SELECT * FROM transaction_segments WHERE customer_id = ? ORDER BY 1, 2, 3',
  // Without the last use, which every request changes.
  api_keys:
    'SELECT id, title, prefix, key_hash, all_accounts, scopes, created_at FROM api_keys WHERE customer_id = ? ORDER BY id',
  idempotency_keys: 'SELECT * FROM idempotency_keys WHERE customer_id = ? ORDER BY 1, 2',
  api_key_accounts:
    'SELECT a.* FROM api_key_accounts a JOIN api_keys k ON k.id = a.api_key_id WHERE k.customer_id = ? ORDER BY 1, 2',
  banks: 'SELECT * FROM banks WHERE customer_id = ? ORDER BY id',
  accounts: 'SELECT * FROM accounts WHERE customer_id = ? ORDER BY id',
  transactions: 'SELECT * FROM transactions WHERE customer_id = ? ORDER BY id',
  imports: 'SELECT * FROM imports WHERE customer_id = ? ORDER BY id',
  import_parts:
    'SELECT p.* FROM import_parts p JOIN imports i ON i.id = p.import_id WHERE i.customer_id = ? ORDER BY 1, 2',
  import_duplicates:
    'SELECT d.* FROM import_duplicates d JOIN imports i ON i.id = d.import_id WHERE i.customer_id = ? ORDER BY d.id',
  import_errors:
    'SELECT e.* FROM import_errors e JOIN imports i ON i.id = e.import_id WHERE i.customer_id = ? ORDER BY 1, 2, 3, 4',
  sources: 'SELECT * FROM sources WHERE customer_id = ? ORDER BY id',
  source_runs: 'SELECT * FROM source_runs WHERE customer_id = ? ORDER BY id',
  source_files: 'SELECT * FROM source_files WHERE customer_id = ? ORDER BY id',
  source_accounts:
    'SELECT a.* FROM source_accounts a JOIN sources s ON s.id = a.source_id WHERE s.customer_id = ? ORDER BY 1, 2',
  webhooks: 'SELECT * FROM webhooks WHERE customer_id = ? ORDER BY id',
  webhook_filters: 'SELECT * FROM webhook_filters WHERE customer_id = ? ORDER BY 1, 2',
  webhook_backlogs: 'SELECT * FROM webhook_backlogs WHERE customer_id = ? ORDER BY 1, 2',
  webhook_standings: 'SELECT * FROM webhook_standings WHERE customer_id = ? ORDER BY 1',
  webhook_cursors: 'SELECT * FROM webhook_cursors WHERE customer_id = ? ORDER BY 1, 2',
  deliveries: 'SELECT * FROM deliveries WHERE customer_id = ? ORDER BY 1, 2',
  retries: 'SELECT * FROM retries WHERE customer_id = ? ORDER BY 1, 2',
  rejected_batches: 'SELECT * FROM rejected_batches WHERE customer_id = ? ORDER BY id',
  attempts: 'SELECT * FROM attempts WHERE customer_id = ? ORDER BY 1, 2, 3',
  statements: 'SELECT * FROM statements WHERE customer_id = ? ORDER BY id',
  withdrawals: 'SELECT * FROM withdrawals WHERE customer_id = ? ORDER BY id',
  withdrawn_statements: 'SELECT * FROM withdrawn_statements WHERE customer_id = ? ORDER BY id',
  withdrawn_transactions: 'SELECT * FROM withdrawn_transactions WHERE customer_id = ? ORDER BY id',
  told_balances: 'SELECT * FROM told_balances WHERE customer_id = ? ORDER BY account_id',
  statement_checks: 'SELECT * FROM statement_checks WHERE customer_id = ? ORDER BY account_id',
  movement_conflicts: 'SELECT * FROM movement_conflicts WHERE customer_id = ? ORDER BY id',
  repeated_entries:
    'SELECT * FROM repeated_entries WHERE customer_id = ? ORDER BY statement_id, transaction_id',
  batch_details: 'SELECT * FROM batch_details WHERE customer_id = ? ORDER BY transaction_id, position',
  transaction_details: 'SELECT * FROM transaction_details WHERE customer_id = ? ORDER BY transaction_id',
  deletions: 'SELECT * FROM deletions WHERE customer_id = ? ORDER BY 1, 2',
  replays: 'SELECT * FROM replays WHERE customer_id = ? ORDER BY id',
  operational_events: 'SELECT * FROM operational_events WHERE customer_id = ? ORDER BY id',
  audit_events: 'SELECT * FROM audit_events WHERE customer_id = ? ORDER BY id',
};

/** Tables whose rows belong to no customer. */
const NOBODYS = [
  'group_commits',
  'installation',
  'installation_id',
  'migrations',
  'minimum_version',
  'operator_tokens',
  'webhook_templates',
  'processes',
  'write_checks',
];

/**
 * All that the database holds of a customer: the rows of each table, as one text and in numbers. Fails when there is a table
 * that this file does not know.
 */
export async function readState(
  { runtime }: TestService,
  customerId: string,
): Promise<Record<string, { rows: number; digest: string }>> {
  const tables = await runtime.database.query<{ name: string }[]>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = DATABASE()',
  );
  expect(tables.map(({ name }) => name).sort()).toEqual([...Object.keys(ROWS), ...NOBODYS].sort());
  const state: Record<string, { rows: number; digest: string }> = {};
  for (const [table, sql] of Object.entries(ROWS)) {
    const rows = await runtime.database.query<unknown[]>(sql, [customerId]);
    state[table] = {
      rows: rows.length,
      digest: createHash('sha256').update(JSON.stringify(rows)).digest('hex'),
    };
  }
  return state;
}
