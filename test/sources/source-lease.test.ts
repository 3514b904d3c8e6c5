// biome-ignore-all lint/correctness/useYield: a source that fails or hangs yields nothing.

import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import { type Connector, SourceError } from '../../src/sources/connectors/connector.ts';
import { createCollector } from '../../src/sources/runs/collector.ts';
import { finishRun } from '../../src/sources/runs/finish-run.ts';
import { claimSource } from '../../src/sources/runs/source-lease.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createTestSource, fileOf, kindOf, never, STATEMENT } from './test-source.ts';

// No importer role: the tests run sources and imports themselves.
const service = useService({ roles: ['api'] });

const newSource = (connector: Partial<Connector>) => createTestSource(service, connector);

describe('a source', () => {
  it('has one run at a time', async () => {
    let begun = 0;
    const outcomes: string[] = [];
    const source = await newSource({
      async *files() {
        begun += 1;
        await until('the others have ended', () => outcomes.length === 2);
      },
    });
    await source.isDue();
    const run = async () => void outcomes.push(await source.run());
    await Promise.all([run(), run(), run()]);
    expect(outcomes).toEqual(['in progress', 'in progress', 'done']);
    expect(begun).toBe(1);
  });

  /** A run whose process is gone. */
  async function leaveRun(
    sourceId: string,
    { files, failuresBefore }: { files: number; failuresBefore: number },
  ) {
    const { database } = service.runtime;
    await database.query(
      'INSERT INTO source_runs (source_id, customer_id, files) SELECT id, customer_id, ? FROM sources WHERE id = ?',
      [files, sourceId],
    );
    await database.query(
      `UPDATE sources SET run_id = (SELECT MAX(id) FROM source_runs WHERE source_id = ?), lease_until = NOW(6) - INTERVAL 1 SECOND,
         consecutive_failures = ? WHERE id = ?`,
      [sourceId, failuresBefore, sourceId],
    );
  }

  it('is taken over after the process of its run has died, and waits after several such deaths in a row', async () => {
    const source = await newSource({});
    const outcomes: string[] = [];
    for (const failuresBefore of [0, 1, 2, 3]) {
      await leaveRun(source.id, { files: 0, failuresBefore });
      outcomes.push(await source.run());
    }
    expect(outcomes).toEqual(['done', 'done', 'done', 'not due']);
    expect(await source.row()).toMatchObject({ run_id: null, error: expect.stringMatching(/process/) });
    const crashed = (await source.runs()).filter(({ error }) => error?.startsWith('The process that ran it'));
    expect(crashed).toHaveLength(4);
  });

  it('whose run was taken over is changed only by its newest run', async () => {
    const { database } = service.runtime;
    const source = await newSource({});
    await source.isDue();
    const claim = async () => {
      const claimed = await claimSource(database, source.id);
      if (claimed.outcome !== 'claimed') throw new Error(`the source is ${claimed.outcome}`);
      await database.query('UPDATE sources SET lease_until = NOW(6) WHERE id = ?', [source.id]);
      return claimed.source;
    };
    const former = await claim();
    const newest = await claim();
    const tally = { done: 0, failed: 0, firstFailure: null };
    for (const end of [
      { status: 'done', tally },
      { status: 'failed', error: 'late' },
      { status: 'interrupted', error: 'late' },
    ] as const)
      await finishRun(database, former, end);
    const [row] = await database.query<{ run: string }[]>('SELECT run_id AS run FROM sources WHERE id = ?', [
      source.id,
    ]);
    expect(row).toEqual({ run: newest.runId });
    expect((await source.runs()).map(({ status }) => status)).toEqual(['failed', 'running']);
    await finishRun(database, newest, { status: 'done', tally });
    expect((await source.runs())[1]).toMatchObject({ status: 'done', error: null });
  });

  it('has one run for each due time, even when the run ends before that time', async () => {
    const source = await newSource({});
    await service.runtime.database.query(
      `UPDATE sources SET schedule = '{"every":"1h"}', created_at = NOW(6) + INTERVAL 4 SECOND - INTERVAL 1 HOUR,
         next_run_at = NOW(6) + INTERVAL 4 SECOND WHERE id = ?`,
      [source.id],
    );
    expect(await source.run()).toBe('done');
    expect(await source.run()).toBe('not due');
  });

  it('does not wait after a dead run that had collected files', async () => {
    const source = await newSource({});
    await leaveRun(source.id, { files: 1, failuresBefore: 3 });
    expect(await source.run()).toBe('done');
  });

  it('that changes during its run records nothing of that run', async () => {
    const { database } = service.runtime;
    const source = await newSource({
      async *files() {
        await database.query('UPDATE sources SET run_id = NULL, lease_until = NULL WHERE customer_id = ?', [
          (await source.row())?.customer_id,
        ]);
        yield fileOf('march.sta', STATEMENT);
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

it('a file that is staged but not recorded is not staged again by the next run', async () => {
  const { database } = service.runtime;
  const source = await newSource({
    async *files() {
      yield fileOf('march.sta', STATEMENT);
    },
  });
  expect(await source.run()).toBe('done');
  // As if the process had ended between staging and recording.
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
      yield fileOf('march.sta', STATEMENT);
    },
    async mark({ name }, { status }) {
      marked.push(`${name} ${status}`);
      return null;
    },
  });
  const { database, secrets, log } = service.runtime;
  const slow = createCollector({
    database,
    secrets,
    guard: createAddressGuard({ allow: [] }),
    folderOf: () => null,
    // No importer runs, so the import stays unfinished.
    queueImport: async () => {},
    log,
    kinds: {
      test: kindOf({
        async *files() {
          yield fileOf('march.sta', STATEMENT);
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

it('a file that could not be marked is marked by a later run', async () => {
  const marked: string[] = [];
  let isReadOnly = true;
  const source = await newSource({
    async *files() {
      yield fileOf('march.sta', STATEMENT);
    },
    async mark({ name }, { status }) {
      if (isReadOnly) throw new SourceError('The folder is read-only.');
      marked.push(`${name} ${status}`);
      return null;
    },
  });
  expect(await source.run()).toBe('failed');
  isReadOnly = false;
  await source.isDue();
  expect(await source.run()).toBe('done');
  expect(marked).toEqual(['march.sta done']);
});
