import { beforeAll, describe, expect, it } from 'vitest';
import { cutTo, TEXT_COLUMNS } from '../../src/database/text-columns.ts';
import { useOwnService } from '../support/service.ts';
import { createFull } from '../upkeep/deletion/full-customer.ts';

const service = useOwnService({ because: 'columns of rows of any kind are written', roles: ['api'] });

beforeAll(async () => {
  const { customerId } = await createFull(service);
  const { database } = service.runtime;
  await database.query('UPDATE accounts SET number = NULL WHERE customer_id = ?', [customerId]);
  await database.query(
    "UPDATE imports SET api_key_id = NULL, source_id = NULL, operator = 'ayse' WHERE customer_id = ?",
    [customerId],
  );
});

/** Texts of the service itself, texts that are checked when they are received, and texts that are part of what identifies something. */
const OTHERS = {
  checked: [
    ...['api_keys.scopes', 'api_keys.title', 'customers.name', 'sources.schedule', 'sources.settings'],
    ...['customers.external_id', 'customers.metadata', 'operator_tokens.title', 'webhook_templates.metadata'],
    ...['sources.title', 'webhooks.description', 'webhooks.endpoint', 'webhooks.title', 'withdrawals.reason'],
  ],
  ofMovements: [
    ...['batch_details.creditor_reference', 'batch_details.description', 'batch_details.end_to_end_id'],
    ...['batch_details.name', 'batch_details.opponent_iban', 'movement_conflicts.received'],
    ...['repeated_entries.reference', 'transaction_details.batch_reference'],
    ...['transaction_details.creditor_reference', 'transaction_details.end_to_end_id'],
    ...['transaction_details.exchange_rate', 'transaction_details.mandate_reference'],
    ...['transactions.code', 'transactions.description', 'transactions.name', 'transactions.opponent_iban'],
    'transactions.opponent_id',
    ...['withdrawn_transactions.code', 'withdrawn_transactions.description', 'withdrawn_transactions.name'],
    ...['withdrawn_transactions.opponent_iban', 'withdrawn_transactions.opponent_id'],
  ],
  ofFiles: ['source_files.place', 'source_files.version', 'sources.position'],
  // accounts.error is a copy of sources.error.
  own: [
    ...['accounts.encoding', 'accounts.error', 'accounts.status', 'api_keys.prefix', 'audit_events.action'],
    ...['audit_events.actor', 'audit_events.subject', 'imports.detected_format', 'imports.format'],
    ...[
      'imports.members',
      'imports.profile',
      'migrations.name',
      'operator_tokens.prefix',
      'operational_events.data',
      'processes.host',
    ],
    ...[
      'processes.dns_problem',
      'processes.mysql_problem',
      'processes.name',
      'processes.plain_text_host',
      'processes.redis_problem',
      'processes.roles',
    ],
    ...[
      'processes.time_zone_offset',
      'processes.version',
      'replays.account_ids',
      'sources.encoding',
      'sources.format',
      'sources.kind',
    ],
    ...['sources.profile', 'statements.format', 'webhooks.status_reason', 'withdrawn_statements.format'],
    ...['withdrawn_statements.number', 'withdrawn_statements.sequence'],
  ],
};

const readColumns = () =>
  service.runtime.database.query<{ name: string }[]>(
    `SELECT CONCAT(table_name, '.', column_name) AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND data_type IN ('varchar', 'text', 'mediumtext')
     AND character_set_name <> 'ascii'`,
  );

/** Ends within a character at every limit, in UTF-16 and in UTF-8. */
const WORST = ['x', 'é', '€', '\u{1f4b8}', 'a\u{1f4b8}'].map((text) => text.repeat(20_000));

describe('texts that others write', () => {
  it.each(TEXT_COLUMNS)('%s keeps the beginning of whatever comes', async (column) => {
    const [table, name] = column.split('.');
    for (const text of WORST) {
      const kept = cutTo(column, text);
      const read = await service.runtime.database.transaction(async (sql) => {
        await sql.query(`UPDATE ${table} SET ${name} = ? LIMIT 1`, [kept]);
        return sql.query<Record<string, string>[]>(
          `SELECT ${name} AS kept FROM ${table} WHERE ${name} = ? LIMIT 1`,
          [kept],
        );
      });
      expect(read[0]?.kept).toBe(kept);
      expect(text.startsWith(kept)).toBe(true);
      expect(kept).not.toMatch(/[\uD800-\uDBFF]$/);
      expect(cutTo(column, kept)).toBe(kept);
    }
  });

  it('are in the list, or are checked or cut where they are received', async () => {
    const listed = new Set<string>([...TEXT_COLUMNS, ...Object.values(OTHERS).flat()]);
    const columns = (await readColumns()).map(({ name }) => name);
    expect(columns.sort()).toEqual([...listed].sort());
  });
});
