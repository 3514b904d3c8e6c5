import * as v from 'valibot';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { createImporter } from '../../src/intake/importer/importer.ts';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import type { Connector, OfferedFile } from '../../src/sources/connectors/connector.ts';
import type { ConnectorKind } from '../../src/sources/connectors/kinds.ts';
import { createCollector } from '../../src/sources/runs/collector.ts';
import { mt940 } from '../intake/statement-files.ts';
import { createAccount } from '../support/movements.ts';
import type { TestService } from '../support/service.ts';

/** Sources of a kind that does what a test says. The test runs them, and their imports, itself. */

export const never = new AbortController().signal;

/** A kind of source that does what a test says. */
export const kindOf = (connector: Partial<Connector>): ConnectorKind => ({
  Settings: v.unknown(),
  Credentials: v.unknown(),
  isExclusive: false,
  showsUnfinished: false,
  server: () => '',
  check: async () => null,
  checkAgain: () => null,
  create: () => ({ async *files() {}, close: async () => {}, ...connector }),
});

export const fileOf = (name: string, content: string, fields: Partial<OfferedFile> = {}): OfferedFile => ({
  name,
  version: '1',
  format: 'auto',
  async *open() {
    yield Buffer.from(content);
  },
  ...fields,
});

/** Stores a source that is due, and creates a collector for it. */
export async function createTestSource(
  service: TestService,
  connector: Partial<Connector>,
  fields: Record<string, unknown> = {},
  /** How long the source may send nothing. Milliseconds; by default more than a busy machine needs. */
  silence = 20_000,
) {
  const { api_key: key, customer } = await service.customer();
  const account = await createAccount(service, key, { iban: 'TR330006100519786457841326' });
  const { database, secrets, log } = service.runtime;
  const columns = {
    customer_id: customer.id,
    title: 'Deneme',
    kind: 'test',
    settings: '{}',
    schedule: '{"every":"15m"}',
    format: 'auto',
    create_accounts: 0,
    next_run_at: new Date(),
    ...fields,
  };
  const names = Object.keys(columns);
  const { insertId } = await database.query<{ insertId: number }>(
    `INSERT INTO sources (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    Object.values(columns),
  );
  const id = String(insertId);
  const importer = createImporter({
    database,
    reader: createStatementFormats([], READ_SETTINGS),
    log,
    wake: async () => {},
  });
  const collector = createCollector({
    database,
    secrets,
    guard: createAddressGuard({ allow: [] }),
    folderOf: () => null,
    queueImport: async ({ importId }) => void (await importer.run(importId, never)),
    log,
    kinds: { test: kindOf(connector) },
    limits: { total: 120_000, silence },
  });
  const row = async () =>
    (await database.query<Record<string, unknown>[]>('SELECT * FROM sources WHERE id = ?', [id]))[0];
  return {
    id,
    key,
    accountId: String(account.id),
    collector,
    row,
    isDue: () => database.query('UPDATE sources SET next_run_at = NOW(6) WHERE id = ?', [id]),
    run: () => collector.run(id, never),
    runs: () =>
      database.query<{ status: string; files: number; error: string | null }[]>(
        'SELECT status, files, error FROM source_runs WHERE source_id = ? ORDER BY id',
        [id],
      ),
    imports: async () => (await service.call('GET', '/v1/imports', { key })).body.imports,
    movements: async () =>
      (await service.call('GET', '/v1/transactions?starts=2026-01-01', { key })).body.transactions,
  };
}

/** A statement of one movement. */
export const STATEMENT = mt940([{ day: 2, amount: 150, reference: 'A1' }]);
