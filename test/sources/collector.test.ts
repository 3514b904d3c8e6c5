// biome-ignore-all lint/correctness/useYield: a source that fails or hangs yields nothing.

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import { type Connector, SourceError } from '../../src/sources/connectors/connector.ts';
import { createHttpConnector } from '../../src/sources/connectors/http.ts';
import { createS3Connector } from '../../src/sources/connectors/s3.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { startWebServer } from './connectors/web-server.ts';
import { createTestSource, fileOf, STATEMENT } from './test-source.ts';

// No importer role: the tests run sources and imports themselves.
const service = useService({ roles: ['api'] });

const newSource = (connector: Partial<Connector>, silence?: number) =>
  createTestSource(service, connector, {}, silence);

it('a version that is too long to be stored is the error of its file, and the others are collected', async () => {
  const etags = {
    'a.sta': `"${'e'.repeat(254)}"`,
    'b.sta': `"${'e'.repeat(100_000)}"`,
    'c.sta': `"${'e'.repeat(253)}"`,
  };
  const contents = Object.entries(etags).map(
    ([key, etag]) =>
      `<Contents><Key>${key}</Key><ETag>${etag}</ETag><Size>${STATEMENT.length}</Size></Contents>`,
  );
  const server = await startWebServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://s3');
    if (pathname.endsWith('.sta')) response.writeHead(200, { etag: etags['c.sta'] }).end(STATEMENT);
    else
      response
        .writeHead(200, { 'content-type': 'application/xml' })
        .end(`<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`);
  });
  const source = await newSource(
    createS3Connector({
      settings: {
        endpoint: server.origin,
        region: 'us-east-1',
        bucket: 'statements',
        pattern: '*',
        after: 'leave',
      },
      credentials: { access_key_id: 'x', secret_access_key: 'y' },
      guard: createAddressGuard({ allow: ['127.0.0.0/8'], subject: 'source' }),
    }),
  );
  for (const files of [1, 0]) {
    await source.isDue();
    expect(await source.run()).toBe('done');
    expect((await source.runs()).at(-1)).toEqual({
      status: 'done',
      files,
      error: `a.sta: The server gives it a version (an ETag) of more than 255 characters. Have the server send a shorter one, or upload the file to another source. 1 more file failed.`,
    });
  }
  expect(await source.movements()).toHaveLength(1);
});

it('a slow download that cannot be offered before its end keeps its run going', {
  timeout: 120_000,
}, async () => {
  const silence = 3_000;
  const server = await startWebServer(async (_request, response) => {
    response.writeHead(200, { 'transfer-encoding': 'chunked' });
    response.write(STATEMENT);
    // In all longer than the source may be silent.
    for (let i = 0; i < 5; i += 1) {
      response.write(' '.repeat(64 * 1_024));
      await sleep(silence / 4);
    }
    response.end();
  });
  const guard = createAddressGuard({ allow: ['127.0.0.0/8'], subject: 'source' });
  const connector = createHttpConnector({
    settings: { url: `${server.origin}/march.sta`, format: 'file' },
    credentials: {},
    guard,
  });
  const source = await newSource(connector, silence);
  expect(await source.run()).toBe('done');
  expect(await source.runs()).toMatchObject([{ status: 'done', files: 1 }]);
});

describe('a run of a source', () => {
  it('collects each version of a file once, and goes on after the last position', async () => {
    const since: (string | null)[] = [];
    let versions = ['1'];
    const source = await newSource({
      async *files(from) {
        since.push(from);
        for (const version of versions) yield fileOf('a.sta', STATEMENT, { version });
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

  it('reads the rows of a translating connector, for all accounts of the customer or only the source’s account', async () => {
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

  it('goes on after a file that cannot be read, and ends as failed with the reason', async () => {
    const source = await newSource({
      async *files() {
        yield fileOf('secret.sta', '', {
          async *open() {
            throw new SourceError('secret.sta may not be read.');
          },
        });
        yield fileOf('march.sta', STATEMENT);
      },
    });
    expect(await source.run()).toBe('failed');
    expect(await source.movements()).toHaveLength(1);
    expect(await source.row()).toMatchObject({
      consecutive_failures: 1,
      error: 'secret.sta may not be read.',
    });
  });

  it('stops at an unreadable file with a cursor, because going on would skip the file', async () => {
    const source = await newSource({
      async *files() {
        const open = async function* () {
          throw new SourceError('Page 1 cannot be read.');
        };
        yield fileOf('1', '', { open, cursor: '2' });
        yield fileOf('2', STATEMENT, { cursor: '3' });
      },
    });
    expect(await source.run()).toBe('failed');
    expect(await source.imports()).toEqual([]);
    expect(await source.row()).toMatchObject({ position: null });
  });

  it('ends when the connector sends nothing any more, and closes the connection', async () => {
    let isClosed = false;
    const source = await newSource(
      {
        async *files() {
          await new Promise(() => {});
          yield fileOf('never', '');
        },
        async close() {
          isClosed = true;
        },
      },
      2_000,
    );
    expect(await source.run()).toBe('failed');
    expect(isClosed).toBe(true);
    expect(await source.row()).toMatchObject({ error: 'Nothing came from the source for 2 seconds.' });
  });

  it('ends when the connector sends too slowly', async () => {
    const source = await newSource(
      {
        async *files() {
          yield fileOf('drips', '', {
            async *open() {
              for (;;) {
                yield Buffer.from('x');
                await sleep(200);
              }
            },
          });
        },
      },
      2_000,
    );
    expect(await source.run()).toBe('failed');
    expect(await source.row()).toMatchObject({
      error: 'Less than 64 KiB came from the source for 2 seconds.',
    });
  });

  it('waits as long as the server asks', async () => {
    const source = await newSource({
      async *files() {
        throw new SourceError('Come back later.', { wait: 3 * 3_600_000 });
      },
    });
    const before = Date.now();
    expect(await source.run()).toBe('failed');
    const row = await source.row();
    expect(Math.round((Number(row?.next_run_at) - before) / 60_000)).toBe(180);
  });

  it('backs off while the source fails, and returns to its schedule after a success', async () => {
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

  it('never shows the text of an unexpected error in the source or its runs', async () => {
    const source = await newSource({
      async *files() {
        throw new Error('password hunter2');
      },
    });
    expect(await source.run()).toBe('failed');
    expect(JSON.stringify([await source.row(), await source.runs()])).not.toContain('hunter2');
  });
});
