// biome-ignore-all lint/correctness/useYield: a source that fails or hangs yields nothing.

import { setTimeout as delay } from 'node:timers/promises';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { createCollector } from '../../src/collecting/collector.ts';
import { type Connector, type OfferedFile, SourceError } from '../../src/collecting/connector.ts';
import type { ConnectorKind } from '../../src/collecting/connectors/kinds.ts';
import { createAddressGuard } from '../../src/delivering/posting/address-guard.ts';
import { createImporter } from '../../src/importing/importer.ts';
import { createStatementFormats } from '../../src/importing/statements/formats.ts';
import { mt940 } from '../importing/statements/statement-files.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

// No importer role: the tests run sources and imports themselves.
const service = useService({ roles: ['api'] });

const never = new AbortController().signal;

/** A kind of source that does what a test says. */
const kindOf = (connector: Partial<Connector>): ConnectorKind => ({
  Settings: v.unknown(),
  Credentials: v.unknown(),
  isExclusive: false,
  check: async () => null,
  create: () => ({ async *files() {}, close: async () => {}, ...connector }),
});

const fileOf = (name: string, content: string, fields: Partial<OfferedFile> = {}): OfferedFile => ({
  name,
  version: '1',
  format: 'auto',
  async *open() {
    yield Buffer.from(content);
  },
  ...fields,
});

async function newSource(connector: Partial<Connector>, fields: Record<string, unknown> = {}) {
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
    formats: createStatementFormats([]),
    log,
    wake: async () => {},
  });
  const collector = createCollector({
    database,
    secrets,
    guard: createAddressGuard({ allow: [] }),
    folderOf: () => null,
    queueImport: async (importId) => void (await importer.run(importId, never)),
    log,
    kinds: { test: kindOf(connector) },
    limits: { total: 60_000, silence: 2_000 },
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

const MARCH = [{ day: 2, amount: 150, reference: 'A1' }];

describe('a run', () => {
  it('collects each version of a file once, and goes on where the last one ended', async () => {
    const since: (string | null)[] = [];
    let versions = ['1'];
    const source = await newSource({
      async *files(from) {
        since.push(from);
        for (const version of versions) yield fileOf('a.sta', mt940(MARCH), { version });
      },
    });
    expect(await source.run()).toBe('done');
    expect(await source.run()).toBe('not due');
    await source.isDue();
    expect(await source.run()).toBe('done');
    versions = ['1', '2'];
    await source.isDue();
    await source.run();
    expect(since).toEqual([null, '1', '1']);
    expect((await source.runs()).map(({ files }) => files)).toEqual([1, 0, 1]);
    const imports = await source.imports();
    expect(imports.map(({ inserted }: { inserted: number }) => inserted)).toEqual([0, 1]);
  });

  it('reads rows of a connector that translates, for the accounts of the customer or the source’s only', async () => {
    for (const isLimited of [false, true]) {
      let rows = '';
      const source = await newSource({
        async *files() {
          yield fileOf('page', rows, { format: 'ndjson', cursor: 'page 2' });
        },
      });
      const other = await createAccount(service, source.key);
      rows = [source.accountId, other.id].map((id) => JSON.stringify(movement(id))).join('\n');
      const { database } = service.runtime;
      if (isLimited)
        await database.query('UPDATE sources SET account_id = ? WHERE id = ?', [source.accountId, source.id]);
      expect(await source.run()).toBe('done');
      expect(await source.movements()).toHaveLength(isLimited ? 1 : 2);
      expect(await source.row()).toMatchObject({ position: 'page 2' });
    }
  });

  it('goes on after a file that cannot be read, and fails with the reason', async () => {
    const source = await newSource({
      async *files() {
        yield fileOf('secret.sta', '', {
          async *open() {
            throw new SourceError('secret.sta may not be read.');
          },
        });
        yield fileOf('march.sta', mt940(MARCH));
      },
    });
    expect(await source.run()).toBe('failed');
    expect(await source.movements()).toHaveLength(1);
    expect(await source.row()).toMatchObject({
      consecutive_failures: 1,
      error: 'secret.sta may not be read.',
    });
  });

  it('stops at a file with a cursor that cannot be read, which would else be left out', async () => {
    const source = await newSource({
      async *files() {
        const open = async function* () {
          throw new SourceError('Page 1 cannot be read.');
        };
        yield fileOf('1', '', { open, cursor: '2' });
        yield fileOf('2', mt940(MARCH), { cursor: '3' });
      },
    });
    expect(await source.run()).toBe('failed');
    expect(await source.imports()).toEqual([]);
    expect(await source.row()).toMatchObject({ position: null });
  });

  it('ends when nothing comes any more, and closes the connection', async () => {
    let isClosed = false;
    const source = await newSource({
      async *files() {
        await new Promise(() => {});
        yield fileOf('never', '');
      },
      async close() {
        isClosed = true;
      },
    });
    expect(await source.run()).toBe('failed');
    expect(isClosed).toBe(true);
    expect(await source.row()).toMatchObject({ error: 'Nothing came from the source for 2 seconds.' });
  });

  it('backs off while the source fails, and is back at its schedule after a success', async () => {
    let isBroken = true;
    const source = await newSource({
      async *files() {
        if (isBroken) throw new SourceError('Nobody is there.');
      },
    });
    const waits: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      await source.isDue();
      const before = Date.now();
      expect(await source.run()).toBe('failed');
      const row = await source.row();
      waits.push(Math.round((Number(row?.next_run_at) - before) / 60_000));
    }
    for (const [index, wait] of waits.entries()) {
      const expected = 15 * 2 ** index;
      expect(wait).toBeGreaterThanOrEqual(expected * 0.75);
      expect(wait).toBeLessThanOrEqual(expected * 1.25);
    }
    isBroken = false;
    await source.isDue();
    expect(await source.run()).toBe('done');
    expect(await source.row()).toMatchObject({ consecutive_failures: 0, error: null });
  });

  it('never logs in its error what is unexpected', async () => {
    const source = await newSource({
      async *files() {
        throw new Error('password hunter2');
      },
    });
    expect(await source.run()).toBe('failed');
    expect(JSON.stringify([await source.row(), await source.runs()])).not.toContain('hunter2');
  });
});

describe('a source', () => {
  it('has one run at a time', async () => {
    let begun = 0;
    const source = await newSource({
      async *files() {
        begun += 1;
        await delay(300);
      },
    });
    await source.isDue();
    const outcomes = await Promise.all([source.run(), source.run(), source.run()]);
    expect(outcomes.toSorted()).toEqual(['done', 'in progress', 'in progress']);
    expect(begun).toBe(1);
  });

  it('is taken over when the process of its run is gone, and waits when that happens again and again', async () => {
    const { database } = service.runtime;
    const source = await newSource({});
    const outcomes: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      await database.query(
        `INSERT INTO source_runs (source_id, customer_id) SELECT id, customer_id FROM sources WHERE id = ?`,
        [source.id],
      );
      await database.query(
        `UPDATE sources SET run_id = (SELECT MAX(id) FROM source_runs WHERE source_id = ?), lease_until = NOW(6) - INTERVAL 1 SECOND,
           consecutive_failures = ? WHERE id = ?`,
        [source.id, i, source.id],
      );
      outcomes.push(await source.run());
    }
    expect(outcomes).toEqual(['done', 'done', 'done', 'not due']);
    expect(await source.row()).toMatchObject({ run_id: null, error: expect.stringMatching(/process/) });
    const crashed = (await source.runs()).filter(({ error }) => error?.startsWith('The process that ran it'));
    expect(crashed).toHaveLength(4);
  });

  it('loses its run when it is changed meanwhile, and nothing of that run is recorded', async () => {
    const { database } = service.runtime;
    const source = await newSource({
      async *files() {
        await database.query('UPDATE sources SET run_id = NULL, lease_until = NULL WHERE customer_id = ?', [
          (await source.row())?.customer_id,
        ]);
        yield fileOf('march.sta', mt940(MARCH));
      },
    });
    expect(await source.run()).toBe('lost');
    expect(await database.query('SELECT id FROM source_files WHERE source_id = ?', [source.id])).toEqual([]);
  });

  it('whose run is ended by a shutdown is due immediately, and has not failed', async () => {
    const shutdown = new AbortController();
    const source = await newSource({
      async *files(_, signal) {
        shutdown.abort();
        await delay(60_000, undefined, { signal });
      },
    });
    expect(await source.collector.run(source.id, shutdown.signal)).toBe('interrupted');
    expect(await source.row()).toMatchObject({ consecutive_failures: 0, error: null, run_id: null });
    expect(await source.runs()).toMatchObject([
      { status: 'failed', error: 'The service was stopped during the run.' },
    ]);
  });
});

it('a file that is staged and not recorded is not staged again by the next run', async () => {
  const { database } = service.runtime;
  const source = await newSource({
    async *files() {
      yield fileOf('march.sta', mt940(MARCH));
    },
  });
  expect(await source.run()).toBe('done');
  // As if the process had ended between the two.
  await database.query('DELETE FROM source_files WHERE source_id = ?', [source.id]);
  await source.isDue();
  expect(await source.run()).toBe('done');
  expect(await source.imports()).toHaveLength(1);
  expect(await source.runs()).toMatchObject([{ files: 1 }, { files: 1 }]);
});

it('a large file whose import takes long is marked by a later run', async () => {
  const marked: string[] = [];
  const source = await newSource({
    async *files() {
      yield fileOf('march.sta', mt940(MARCH));
    },
    async mark({ name }, { status }) {
      marked.push(`${name} ${status}`);
    },
  });
  const { database, secrets, log } = service.runtime;
  const slow = createCollector({
    database,
    secrets,
    guard: createAddressGuard({ allow: [] }),
    folderOf: () => null,
    // No importer takes it.
    queueImport: async () => {},
    log,
    kinds: {
      test: kindOf({
        async *files() {
          yield fileOf('march.sta', mt940(MARCH));
        },
      }),
    },
  });
  expect(await slow.run(source.id, never)).toBe('done');
  expect(marked).toEqual([]);
  await database.query("UPDATE imports SET status = 'done' WHERE source_id = ?", [source.id]);
  // Not due by its schedule, but there is a file to mark.
  expect(await source.run()).toBe('done');
  await until('it is marked', () => marked.length === 1);
  expect(marked).toEqual(['march.sta done']);
  expect(await source.run()).toBe('not due');
});
