import { describe, expect, it } from 'vitest';
import type { Connector, FileOutcome } from '../../../src/sources/connectors/connector.ts';
import { reservePort } from '../../support/reserved-port.ts';
import { collect, measure } from './collect.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { CREDENTIALS } from './s3-server.ts';
import { useS3Source } from './s3-source.ts';
import { startWebServer } from './web-server.ts';

const MIB = 1024 * 1024;
const { connect, put, server } = useS3Source();
const names = async (connector: Connector) => (await collect(connector)).map(({ name }) => name);

describe('an S3 source', () => {
  it('collects the objects under its prefix, with their ETags as versions, and changes nothing', async () => {
    await put('statements/a.sta', 'first');
    await put('statements/2026/11/b.sta', 'second');
    await put('other/c.sta', 'third');
    const files = await collect(connect({ prefix: 'statements/' }));
    expect(files).toEqual([
      {
        name: 'statements/2026/11/b.sta',
        version: expect.stringMatching(/^"[0-9a-f]{32}"$/),
        cursor: undefined,
        text: 'second',
      },
      {
        name: 'statements/a.sta',
        version: expect.stringMatching(/^"[0-9a-f]{32}"$/),
        cursor: undefined,
        text: 'first',
      },
    ]);
    expect(await collect(connect({ prefix: 'statements/' }))).toEqual(files);
    await put('statements/a.sta', 'changed');
    const [, changed] = await collect(connect({ prefix: 'statements/' }));
    expect(changed?.text).toBe('changed');
    expect(changed?.version).not.toBe(files[1]?.version);
  });

  it('lists more objects than one page holds', async () => {
    for (let first = 0; first < 1_010; first += 101) {
      await Promise.all(
        Array.from({ length: 101 }, (_, i) => put(`${String(first + i).padStart(4, '0')}.sta`, 'x')),
      );
    }
    const found: string[] = [];
    for await (const { name } of connect().files(null, new AbortController().signal)) found.push(name);
    expect(found).toEqual(Array.from({ length: 1_010 }, (_, i) => `${String(i).padStart(4, '0')}.sta`));
  });

  // s3rver escapes quotes and ampersands twice in its lists.
  it('collects objects with unusual names', async () => {
    const keys = ['Kasım ekstresi (1) öz #%?+=;$.sta', 'it is * [all] {here} \\ 😀.sta', 'a  b/-c.sta'];
    for (const key of keys) await put(key, key);
    const files = await collect(connect());
    expect(files.map(({ text }) => text).toSorted()).toEqual(keys.toSorted());
    expect(files.map(({ name }) => name).toSorted()).toEqual(keys.toSorted());
  });

  // s3rver does not decode all that AWS decodes in the header of a copy, such as "#".
  it.each(['Kasım ekstresi (1).sta', 'it is * [all] {here} 😀 100%.sta', 'a  b/c.sta'])(
    'moves the object %j',
    async (key) => {
      await put(key, 'movements');
      const connector = connect({ after: 'move' });
      const [file] = await collect(connector);
      await connector.mark?.({ name: key, version: file?.version ?? '' }, { status: 'done' });
      expect(await collect(connect())).toMatchObject([{ name: `done/${key}`, text: 'movements' }]);
    },
  );

  it('ignores folders, unfinished objects, and names that do not match the pattern', async () => {
    for (const key of ['folder/', 'a.sta.part', '.hidden.sta', 'notes.txt']) await put(key, 'x');
    await put('folder/b.sta', 'movements');
    expect(await names(connect({ pattern: '*.sta' }))).toEqual(['folder/b.sta']);
  });

  it('reads 100 MB in constant memory', async () => {
    await put('huge.sta', Buffer.alloc(100 * MIB));
    const { bytes, memory } = await measure(connect());
    expect(bytes).toBe(100 * MIB);
    expect(memory).toBeLessThan(64 * MIB);
  });
});

describe('an S3 source that moves objects', () => {
  const run = async (outcome: FileOutcome) => {
    const connector = connect({ prefix: 'in/', after: 'move' });
    const files = await collect(connector);
    for (const file of files) await connector.mark?.(file, outcome);
    return files;
  };

  it('moves objects to done/, keeps objects of the same name apart, and does not offer them again', async () => {
    for (const text of ['one', 'two']) {
      await put('in/a.sta', text);
      expect(await run({ status: 'done' })).toMatchObject([{ name: 'in/a.sta', text }]);
    }
    expect(await run({ status: 'done' })).toEqual([]);
    expect(await names(connect())).toEqual(['in/done/a.2.sta', 'in/done/a.sta']);
  });

  it('moves an object that cannot be imported to failed/, with the reason beside it', async () => {
    await put('in/a.sta', 'nonsense');
    await run({ status: 'failed', reason: 'The file is no statement.' });
    const files = await collect(connect());
    expect(files.map(({ name, text }) => [name, text])).toEqual([
      ['in/failed/a.sta', 'nonsense'],
      ['in/failed/a.sta.error.txt', 'The file is no statement.\n'],
    ]);
  });

  it('puts an object back from done/, again after a crash, and leaves another object of its name', async () => {
    await put('in/a.sta', 'old');
    const connector = connect({ prefix: 'in/', after: 'move' });
    const [file] = await collect(connector);
    const known = { name: 'in/a.sta', version: file?.version ?? '' };
    const place = (await connector.mark?.(known, { status: 'done' })) ?? null;
    expect(place).toBe('in/done/a.sta');
    const putBack = () => connector.putBack?.({ ...known, place }, new AbortController().signal);
    expect([await putBack(), await putBack()]).toEqual(['put back', 'put back']);
    expect(await run({ status: 'done' })).toMatchObject([{ name: 'in/a.sta', text: 'old' }]);
    await put('in/a.sta', 'new');
    expect(await putBack()).toBe('put back');
    expect(await names(connect())).toEqual(['in/a.2.sta', 'in/a.sta']);
    await put('in/done/a.sta', 'another');
    expect(await putBack()).toEqual({ failure: expect.stringContaining('not in "in/done/a.sta"') });
  });

  it('moves an object once, and leaves a new object of the same name', async () => {
    await put('in/a.sta', 'old');
    const connector = connect({ prefix: 'in/', after: 'move' });
    const [file] = await collect(connector);
    await put('in/a.sta', 'new');
    const known = { name: 'in/a.sta', version: file?.version ?? '' };
    await connector.mark?.(known, { status: 'done' });
    expect(await collect(connect())).toMatchObject([{ name: 'in/a.sta', text: 'new' }]);
    await run({ status: 'done' });
    await connector.mark?.(known, { status: 'done' });
    expect(await names(connect())).toEqual(['in/done/a.sta']);
  });
});

describe('an S3 source fails', () => {
  it.each([
    ['an unknown access key', { ...CREDENTIALS, access_key_id: 'AKIAUNKNOWN' }, 'access_key_id'],
    ['a wrong secret', { ...CREDENTIALS, secret_access_key: 'wrong' }, 'secret_access_key'],
  ])('for %s', async (_what, credentials, name) => {
    await expect(collect(connect({}, { credentials }))).rejects.toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining(name),
    });
  });

  it('for a bucket that does not exist', async () => {
    await expect(collect(connect({ bucket: 'no-such-bucket' }))).rejects.toThrow(
      'There is no bucket "no-such-bucket"',
    );
  });

  it('when nobody listens, or when the port belongs to another service', async () => {
    const port = await reservePort();
    await expect(collect(connect({ endpoint: `http://127.0.0.1:${port}` }))).rejects.toThrow(
      'refuses connections',
    );
    const web = await startWebServer((_request, response) =>
      response.writeHead(404).end('<h1>Not found</h1>'),
    );
    await expect(collect(connect({ endpoint: web.origin }))).rejects.toMatchObject({ name: 'SourceError' });
  });

  it('when the server does not answer', async () => {
    const web = await startWebServer(() => {});
    const limits = { connect: 200, idle: 200 };
    await expect(collect(connect({ endpoint: web.origin }, { limits }))).rejects.toMatchObject({
      name: 'SourceError',
    });
  });

  it.each([
    ['ends', 'end', 'broke off'],
    ['is reset', 'reset', 'broke off'],
    ['goes silent', 'stall', 'sent nothing for 0.5 s'],
  ] as const)('when the connection %s in the middle of an object', async (_what, kind, reason) => {
    await put('a.sta', Buffer.alloc(4 * MIB, 'x'));
    const port = await startFaultProxy(server.port, { kind, afterBytes: MIB });
    const connector = connect(
      { endpoint: `http://127.0.0.1:${port}` },
      { limits: { connect: 5_000, idle: 500 } },
    );
    await expect(collect(connector)).rejects.toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining(reason),
    });
  });

  it('when the object changes between the list and the transfer', async () => {
    await put('a.sta', 'old');
    const reading = (async () => {
      for await (const file of connect().files(null, new AbortController().signal)) {
        await put('a.sta', 'new');
        for await (const part of file.open(new AbortController().signal)) expect(part).toBeUndefined();
      }
    })();
    await expect(reading).rejects.toThrow('changed while it was being read');
  });
});
