import { mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Connector, OfferedFile } from '../../../src/sources/connectors/connector.ts';
import { collect, readText } from './collect.ts';
import { hasOpenSsh, hasPasswords, PASSWORD, useOpenSsh } from './openssh.ts';
import { useSftpSource } from './sftp-source.ts';

const server = useOpenSsh();
const source = useSftpSource(server);
const DAY = new Date(Date.UTC(2026, 9, 1));

async function put(name: string, text: string): Promise<void> {
  await writeFile(join(source.folder, name), text);
  await utimes(join(source.folder, name), DAY, DAY);
}

const list = async (folder: string) => (await readdir(join(source.folder, folder))).toSorted();
const done = { status: 'done' } as const;

/** As a run that collects everything and marks it. */
async function run(connector: Connector, outcome: Parameters<NonNullable<Connector['mark']>>[1]) {
  const files = await collect(connector);
  for (const file of files) await connector.mark?.(file, outcome);
  return files.map(({ text }) => text);
}

async function collectUnread(connector: Connector): Promise<OfferedFile[]> {
  const files: OfferedFile[] = [];
  for await (const file of connector.files(null, new AbortController().signal)) files.push(file);
  return files;
}

describe.skipIf(!hasOpenSsh)('an SFTP source that moves files', () => {
  const connect = () => source.connect({ after: 'move' });

  it('moves a file to processing before it reads it, and then to done', async () => {
    await put('a.sta', 'movements');
    const connector = connect();
    const [file] = await collect(connector);
    expect(await list('processing')).toEqual([`9-${DAY.getTime() / 1_000}-a.sta`]);
    await connector.mark?.({ name: 'a.sta', version: file?.version ?? '' }, done);
    expect(await list('processing')).toEqual([]);
    expect(await readFile(join(source.folder, 'done/a.sta'), 'utf8')).toBe('movements');
    expect(await collect(connect())).toEqual([]);
  });

  it('moves a file that cannot be imported to failed, with the reason beside it', async () => {
    await put('a.sta', 'nonsense');
    await run(connect(), { status: 'failed', reason: 'The file is no statement.' });
    expect(await list('failed')).toEqual(['a.sta', 'a.sta.error.txt']);
    expect(await readFile(join(source.folder, 'failed/a.sta.error.txt'), 'utf8')).toBe(
      'The file is no statement.\n',
    );
  });

  it('keeps files of the same name apart in done', async () => {
    for (const text of ['one', 'two', 'three']) {
      await put('a.sta', text);
      expect(await run(connect(), done)).toEqual([text]);
    }
    expect(await list('done')).toEqual(['a.2.sta', 'a.3.sta', 'a.sta']);
  });

  it('moves the file that was read, and not a new file of the same name', async () => {
    await put('a.sta', 'old');
    const connector = connect();
    const [file] = await collect(connector);
    await put('a.sta', 'new content');
    await connector.mark?.({ name: 'a.sta', version: file?.version ?? '' }, done);
    expect(await readFile(join(source.folder, 'done/a.sta'), 'utf8')).toBe('old');
    expect(await run(connect(), done)).toEqual(['new content']);
  });

  it('offers a file again that a crash left in processing, and marks it once', async () => {
    await put('a.sta', 'movements');
    const [first] = await collect(connect());
    const connector = connect();
    const [again] = await collect(connector);
    expect(again).toEqual(first);
    const file = { name: 'a.sta', version: first?.version ?? '' };
    await connector.mark?.(file, done);
    await connect().mark?.(file, done);
    expect(await list('done')).toEqual(['a.sta']);
  });

  it('names a file by the path that its owner knows when it cannot be read', async () => {
    await put('a.sta', 'movements');
    await collect(connect());
    const [taken = ''] = await list('processing');
    const [file] = await collectUnread(connect());
    await rm(join(source.folder, 'processing', taken));
    await expect(readText(file as OfferedFile)).rejects.toMatchObject({
      name: 'FileError',
      message: `"${join(source.folder, 'a.sta')}" was removed before it was read. Upload it again if it is missing.`,
    });
  });

  it('reads a file again that was changed while it was in processing', async () => {
    await put('a.sta', 'begin');
    await collect(connect());
    const [taken = ''] = await list('processing');
    await writeFile(join(source.folder, 'processing', taken), 'begin and the rest');
    expect(await run(connect(), done)).toEqual(['begin and the rest']);
    expect(await list('done')).toEqual(['a.sta']);
  });

  it('collects a file again that has grown since it was marked', async () => {
    await put('a.sta', 'begin');
    const connector = connect();
    const [file] = await collect(connector);
    const marked = { name: 'a.sta', version: file?.version ?? '' };
    const place = await connector.mark?.(marked, done);
    expect(place).toBe(join(source.folder, 'done/a.sta'));
    const takeBack = async (it: Connector) => {
      await it.takeBack?.([{ ...marked, place: place ?? '' }], new AbortController().signal);
      return it;
    };
    expect(await collect(await takeBack(connect()))).toEqual([]);
    await put('done/a.sta', 'begin and the rest');
    const young = source.connect(
      { after: 'move' },
      { settleSeconds: 3_600, now: () => DAY.getTime() + 3_599_000 },
    );
    expect(await collect(await takeBack(young))).toEqual([]);
    expect(await run(await takeBack(connect()), done)).toEqual(['begin and the rest']);
    expect(await list('done')).toEqual(['a.sta']);
  });

  it('puts a file back from done, again after a crash, and says where it has looked for one that is gone', async () => {
    await put('a.sta', 'begin');
    const connector = connect();
    const [file] = await collect(connector);
    const marked = { name: 'a.sta', version: file?.version ?? '' };
    const place = (await connector.mark?.(marked, done)) ?? '';
    const putBack = (it: { place: string | null }) =>
      connect().putBack?.({ ...marked, ...it }, new AbortController().signal);
    expect(await putBack({ place })).toBe('put back');
    expect(await putBack({ place })).toBe('put back');
    expect(await list('done')).toEqual([]);
    expect(await run(connect(), done)).toEqual(['begin']);
    expect(await list('done')).toEqual(['a.sta']);
    // The place is not known after a crash between the move and its record.
    expect(await putBack({ place: null })).toBe('put back');
    expect(await run(connect(), done)).toEqual(['begin']);
    await put('done/a.sta', 'another file');
    expect(await putBack({ place })).toEqual({ failure: expect.stringContaining(`not in "${place}"`) });
    expect(await list('done')).toEqual(['a.sta']);
  });

  it('names a marked file that has grown and cannot be moved back, and collects the others', async () => {
    await put('a.sta', 'begin');
    const connector = connect();
    const [file] = await collect(connector);
    const marked = { name: 'a.sta', version: file?.version ?? '' };
    const place = (await connector.mark?.(marked, done)) ?? '';
    await put('done/a.sta', 'begin and the rest');
    // Something else has the name in "processing".
    await mkdir(join(source.folder, 'processing', `18-${DAY.getTime() / 1_000}-a.sta`));
    const next = connect();
    await next.takeBack?.([{ ...marked, place }], new AbortController().signal);
    const [stranded, ...others] = await collectUnread(next);
    expect(stranded?.name).toBe(place);
    expect(others).toEqual([]);
    await expect(readText(stranded as OfferedFile)).rejects.toThrow('cannot be moved back to be read again');
  });

  it('moves files to configured folders', async () => {
    await mkdir(join(source.folder, 'archive'));
    await put('a.sta', 'movements');
    await run(source.connect({ after: 'move', done_path: join(source.folder, 'archive') }), done);
    expect(await list('archive')).toEqual(['a.sta']);
  });

  it('marks a known file that was uploaded again', async () => {
    await put('a.sta', 'movements');
    const [file] = await collect(connect());
    await rename(join(source.folder, 'processing', `${file?.version}-a.sta`), join(source.folder, 'a.sta'));
    await connect().mark?.({ name: 'a.sta', version: file?.version ?? '' }, done);
    expect(await list('done')).toEqual(['a.sta']);
  });
});

describe.skipIf(!hasOpenSsh)('an SFTP server that allows no changes', () => {
  const readOnly = useOpenSsh({ readOnly: true });
  const bank = useSftpSource(readOnly);

  it('is read by a source with "leave"', async () => {
    await writeFile(join(bank.folder, 'a.sta'), 'movements');
    expect(await collect(bank.connect())).toMatchObject([{ text: 'movements' }]);
  });

  it('makes a source with "move" fail with the missing right', async () => {
    await writeFile(join(bank.folder, 'a.sta'), 'movements');
    await expect(collect(bank.connect({ after: 'move' }))).rejects.toThrow(
      /does not let the user move.*"leave"/,
    );
  });
});

describe.skipIf(!hasPasswords).each(['password', 'prompt'] as const)(
  'an SFTP server that asks for a password (%s)',
  (signIn) => {
    const bank = useSftpSource(useOpenSsh({ signIn }));

    it('is read with the right password', async () => {
      await writeFile(join(bank.folder, 'a.sta'), 'movements');
      const connector = bank.connect({}, { credentials: { password: PASSWORD } });
      expect(await collect(connector)).toMatchObject([{ text: 'movements' }]);
    });

    it('refuses a wrong password', async () => {
      const connector = bank.connect({}, { credentials: { password: 'wrong' } });
      await expect(collect(connector)).rejects.toThrow('refuses the credentials');
    });
  },
);
