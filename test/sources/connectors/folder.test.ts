import {
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFolderConnector } from '../../../src/sources/connectors/folder.ts';
import { writeQuietly } from '../folder-source.ts';
import { collect, namesOf, textOf, useFolders } from './inbox.ts';

const { newFolder, newRoot } = useFolders();

describe('a folder source', () => {
  it('offers its files, oldest first, and moves them out of the folder', async () => {
    const { inbox, connect, list } = await newRoot();
    for (const [name, age] of [
      ['b', 60],
      ['a', 30],
      ['c', 90],
    ] as const) {
      await writeFile(join(inbox, name), name);
      const then = new Date(Date.now() - age * 1_000);
      await utimes(join(inbox, name), then, then);
    }
    const files = await collect(connect());
    expect(files.map(({ name }) => name)).toEqual(['c', 'b', 'a']);
    expect(await textOf(files[0])).toBe('c');
    expect((await list('inbox')).toSorted()).toEqual(['done', 'failed', 'processing']);
    expect(await list('inbox/processing')).toHaveLength(3);
  });

  it("creates its folder when it is missing, including the customer's folders", async () => {
    const parent = await newFolder();
    const connector = createFolderConnector({
      settings: { path: 'a/b' },
      settleSeconds: 0,
      folder: join(parent, '7'),
    });
    expect(await collect(connector)).toEqual([]);
    expect((await readdir(join(parent, '7/a/b'))).toSorted()).toEqual(['done', 'failed', 'processing']);
  });

  it('offers the files of an earlier run again, with the same name and version', async () => {
    const { inbox, connect } = await newRoot();
    await writeQuietly(join(inbox, 'one.sta'), 'one');
    const [first] = await collect(connect());
    const [again, ...others] = await collect(connect());
    expect(others).toEqual([]);
    expect({ name: again?.name, version: again?.version }).toEqual({
      name: first?.name,
      version: first?.version,
    });
    expect(await textOf(again)).toBe('one');
  });

  it.each([
    '.hidden',
    'a.part',
    'a.PART',
    'a.partial',
    'a.tmp',
    'a.temp',
    'a.filepart',
    'a.crdownload',
    'a.writing',
    'a.uploading',
    'a~',
  ])('ignores %s', async (name) => {
    const { inbox, connect, list } = await newRoot();
    await writeQuietly(join(inbox, name), 'x');
    expect(await namesOf(connect())).toEqual([]);
    expect(await list('inbox')).toContain(name);
  });

  it('ignores folders and symbolic links, and their targets', async () => {
    const { root, inbox, connect, list } = await newRoot();
    await mkdir(join(inbox, 'folder'));
    await writeFile(join(root, 'secret'), 'secret');
    await symlink(join(root, 'secret'), join(inbox, 'link.sta'));
    await symlink('/etc/passwd', join(inbox, 'passwd.sta'));
    expect(await namesOf(connect())).toEqual([]);
    expect(await list('inbox')).toEqual(expect.arrayContaining(['folder', 'link.sta', 'passwd.sta']));
  });

  it('does not read a link that replaced a file it has taken', async () => {
    const { root, inbox, connect } = await newRoot();
    await writeFile(join(root, 'secret'), 'secret');
    await writeQuietly(join(inbox, 'one.sta'), 'one');
    const [file] = await collect(connect());
    const taken = join(inbox, 'processing', (file?.version ?? '').slice(0, 16), 'one.sta');
    await rm(taken);
    await symlink(join(root, 'secret'), taken);
    await expect(textOf(file)).rejects.toThrow('There is a symbolic link in its place.');
  });

  it.each([
    { what: 'removed', replace: (path: string) => rm(path), reason: 'It was removed before it was read.' },
    {
      what: 'replaced with a folder',
      replace: async (path: string) => {
        await rm(path);
        await mkdir(path);
      },
      reason: 'It was replaced while it was collected.',
    },
  ])('says of a file that was $what that it is about this file alone', async ({ replace, reason }) => {
    const { inbox, connect, list } = await newRoot();
    await writeQuietly(join(inbox, 'one.sta'), 'one');
    const [file] = await collect(connect());
    const [token = ''] = await list('inbox/processing');
    await replace(join(inbox, 'processing', token, 'one.sta'));
    const error: Error = await textOf(file).then(
      () => new Error('it was read'),
      (problem) => problem,
    );
    expect(error).toMatchObject({ name: 'FileError', message: expect.stringContaining(reason) });
    expect(error.message).not.toMatch(/processing|inbox/);
  });

  it('stops reading with the reason when the run has lost its lease', async () => {
    const { inbox, connect } = await newRoot();
    await writeQuietly(join(inbox, 'one.sta'), 'one');
    const [file] = await collect(connect());
    const bytes = await file?.open(AbortSignal.abort(new Error('another run has the source')));
    await expect(
      (async () => {
        for await (const _ of bytes ?? []);
      })(),
    ).rejects.toThrow('another run has the source');
  });

  it('follows no link that replaced the folder of a file it has taken', async () => {
    const { inbox, connect } = await newRoot();
    const outside = await newFolder();
    await writeQuietly(join(outside, 'one.sta'), 'theirs');
    await writeQuietly(join(inbox, 'one.sta'), 'one');
    const [file] = await collect(connect());
    const taken = join(inbox, 'processing', (file?.version ?? '').slice(0, 16));
    await rename(taken, join(inbox, 'aside'));
    await symlink(outside, taken);
    await expect(textOf(file)).rejects.toThrow('It was replaced while it was collected.');
    expect(await namesOf(connect())).toEqual([]);
  });

  it('whose path is a file says that it must be a folder', async () => {
    const { inbox, connect } = await newRoot();
    await rm(inbox, { recursive: true });
    await writeFile(inbox, 'a file');
    await expect(collect(connect())).rejects.toThrow(
      'The folder inbox cannot be used. A part of its path is a file, and must be a folder.',
    );
  });
});

describe('a file that is still being written', () => {
  it('is collected again if it has grown after it was read, and only then moved to done/', async () => {
    const { inbox, connect, list } = await newRoot();
    await writeQuietly(join(inbox, 'one.sta'), 'first half');
    // The writer has paused for longer than a run waits, and goes on.
    const writer = await open(join(inbox, 'one.sta'), 'a');
    const connector = connect();
    const [file] = await collect(connector);
    expect(await textOf(file)).toBe('first half');
    await writer.writeFile(', second half');
    await writer.close();
    await connector.mark?.({ name: 'one.sta', version: file?.version ?? '' }, { status: 'done' });
    expect(await list('inbox/done')).toEqual([]);
    await connector.close();

    const later = connect();
    const [again] = await collect(later);
    expect(again?.version).not.toBe(file?.version);
    expect(await textOf(again)).toBe('first half, second half');
    await later.mark?.({ name: 'one.sta', version: again?.version ?? '' }, { status: 'done' });
    await later.close();
    expect(await list('inbox/done')).toEqual(['one.sta']);
  });

  it('is waited for, and taken when it has not changed for a while', async () => {
    const { inbox, connect } = await newRoot();
    const path = join(inbox, 'growing.sta');
    await writeFile(path, 'a');
    let text = 'a';
    const writing = setInterval(() => {
      text += 'a';
      if (text.length === 10) clearInterval(writing);
      void writeFile(path, text);
    }, 50);
    const [file] = await collect(connect());
    expect(await textOf(file)).toBe('a'.repeat(10));
  });

  it('is left to a later run when the wait is too long', async () => {
    const { inbox, connect } = await newRoot();
    const path = join(inbox, 'slow.sta');
    let text = '';
    const writing = setInterval(() => {
      text += 'a';
      void writeFile(path, text);
    }, 20);
    await writeQuietly(join(inbox, 'whole.sta'), 'whole');
    expect(await namesOf(connect({ total: 500 }))).toEqual(['whole.sta']);
    clearInterval(writing);
    expect(await namesOf(connect())).toEqual(['whole.sta', 'slow.sta']);
  });

  it('is left to a later run without a wait when it cannot be complete in time', async () => {
    const { inbox, connect } = await newRoot();
    await writeFile(join(inbox, 'young.sta'), 'x');
    const { mtimeMs } = await stat(join(inbox, 'young.sta'));
    // A run that waited would wait for an hour.
    const long = { settleSeconds: 7_200, total: 3_600_000 };
    expect(await namesOf(connect({ ...long, now: () => mtimeMs }))).toEqual([]);
    expect(await namesOf(connect({ ...long, now: () => mtimeMs + 7_199_999 - 3_600_000 }))).toEqual([]);
    expect(await namesOf(connect({ ...long, now: () => mtimeMs + 7_200_000 }))).toEqual(['young.sta']);
  });

  it('is taken immediately when its source waits for nothing', async () => {
    const { inbox, connect } = await newRoot();
    await writeFile(join(inbox, 'young.sta'), 'x');
    const { mtimeMs } = await stat(join(inbox, 'young.sta'));
    expect(await namesOf(connect({ settleSeconds: 0, now: () => mtimeMs }))).toEqual(['young.sta']);
  });

  it('with a time in the future is taken when it does not change', async () => {
    const { inbox, connect } = await newRoot();
    await writeFile(join(inbox, 'ahead.sta'), 'x');
    const then = new Date(Date.now() + 3_600_000);
    await utimes(join(inbox, 'ahead.sta'), then, then);
    expect(await namesOf(connect())).toEqual(['ahead.sta']);
  });
});

describe('the marking of a file', () => {
  it('says where the file is, also after it was repeated', async () => {
    const { root, inbox, connect } = await newRoot();
    for (const content of ['1', '2']) {
      await writeQuietly(join(inbox, 'a.sta'), content);
      const connector = connect();
      const [file] = await collect(connector);
      if (file === undefined) throw new Error('there is no file');
      const place = await connector.mark?.(file, { status: 'done' });
      expect(await connect().mark?.(file, { status: 'done' })).toBe(place);
      expect(await readFile(join(root, 'inbox', place ?? ''), 'utf8')).toBe(content);
    }
  });

  it('takes back nothing but a file in done/ or failed/', async () => {
    const { root, inbox, connect, list } = await newRoot();
    await writeQuietly(join(inbox, 'a.sta'), 'a');
    await collect(connect());
    await writeQuietly(join(root, 'outside.sta'), 'x');
    await mkdir(join(inbox, 'done/folder'), { recursive: true });
    await symlink(join(root, 'outside.sta'), join(inbox, 'done/link.sta'));
    const version = `${'0'.repeat(16)} 1 1`;
    const places = [
      'done/../../outside.sta',
      '/etc/passwd',
      'done/folder',
      'done/link.sta',
      'done/',
      'done/gone',
      '',
    ];
    await connect().takeBack?.(
      places.map((place) => ({ name: 'x.sta', version, place })),
      new AbortController().signal,
    );
    expect(await list('inbox/processing')).toHaveLength(1);
    expect(await readFile(join(root, 'outside.sta'), 'utf8')).toBe('x');
  });

  it('puts a file back from done/, again after a crash, and nothing from elsewhere', async () => {
    const { root, inbox, connect, list } = await newRoot();
    await writeQuietly(join(inbox, 'a.sta'), 'a');
    const connector = connect();
    const [file] = await collect(connector);
    if (file === undefined) throw new Error('there is no file');
    const place = (await connector.mark?.(file, { status: 'done' })) ?? '';
    const putBack = (at: string) => connect().putBack?.({ ...file, place: at }, new AbortController().signal);
    await rename(join(inbox, place), join(root, 'outside.sta'));
    await symlink(join(root, 'outside.sta'), join(inbox, place));
    for (const at of [place, '../outside.sta', 'done/../../outside.sta'])
      expect(await putBack(at)).toEqual({ failure: expect.stringContaining(`is not in "${at}"`) });
    await rename(join(root, 'outside.sta'), join(inbox, place));
    expect([await putBack(place), await putBack(place)]).toEqual(['put back', 'put back']);
    expect(await list('inbox/processing')).toHaveLength(1);
    expect(await collect(connect())).toMatchObject([{ name: 'a.sta' }]);
  });

  it('moves the file, keeps names unique, and may be repeated', async () => {
    const { root, inbox, connect, list } = await newRoot();
    const read = (path: string) => readFile(join(root, path), 'utf8');
    for (const [content, outcome] of [
      ['1', { status: 'done' }],
      ['2', { status: 'done' }],
      ['3', { status: 'failed', reason: 'Because.' }],
      ['4', { status: 'failed', reason: 'Because of 4.' }],
    ] as const) {
      await writeQuietly(join(inbox, 'a.sta'), content);
      const connector = connect();
      const [file] = await collect(connector);
      if (file === undefined) throw new Error('there is no file');
      await connector.mark?.(file, outcome);
      await connector.mark?.(file, outcome);
      await connect().mark?.(file, outcome);
    }
    const unique = expect.stringMatching(/^a-[0-9a-f]{16}\.sta$/);
    expect((await list('inbox/done')).toSorted()).toEqual([unique, 'a.sta']);
    expect(await read('inbox/done/a.sta')).toBe('1');
    const failed = (await list('inbox/failed')).toSorted();
    expect(failed).toEqual([
      unique,
      expect.stringMatching(/^a-[0-9a-f]{16}\.sta\.error\.txt$/),
      'a.sta',
      'a.sta.error.txt',
    ]);
    expect(await read('inbox/failed/a.sta.error.txt')).toBe('Because.\n');
    expect(await read(`inbox/failed/${failed[1]}`)).toBe('Because of 4.\n');
    expect(await list('inbox/processing')).toEqual([]);
  });

  it('writes the reason beside a file with a name of the maximum length', async () => {
    const { inbox, connect, list } = await newRoot();
    const name = `${'ğ'.repeat(125)}.sta1`;
    expect(Buffer.byteLength(name)).toBe(255);
    await writeQuietly(join(inbox, name), 'x');
    const connector = connect();
    const [file] = await collect(connector);
    if (file === undefined) throw new Error('there is no file');
    await connector.mark?.(file, { status: 'failed', reason: 'Because.' });
    const failed = await list('inbox/failed');
    expect(failed).toContain(name);
    expect(failed.find((it) => it !== name)).toMatch(/^ğ+\.error\.txt$/);
  });
});

it('a folder source takes each file once, even when several connectors look at the same time', async () => {
  const { inbox, connect } = await newRoot();
  for (let i = 0; i < 50; i += 1) await writeQuietly(join(inbox, `${i}.sta`), String(i));
  const taken = await Promise.all([connect(), connect(), connect()].map(async (it) => namesOf(it)));
  expect(new Set(taken.flat()).size).toBe(50);
  expect(await readdir(join(inbox, 'processing'))).toHaveLength(50);
});

it('a folder source keeps a file that has another hard link elsewhere', async () => {
  const { root, inbox, connect } = await newRoot();
  await writeQuietly(join(root, 'elsewhere'), 'x');
  await link(join(root, 'elsewhere'), join(inbox, 'one.sta'));
  expect(await namesOf(connect())).toEqual(['one.sta']);
  expect(await readFile(join(root, 'elsewhere'), 'utf8')).toBe('x');
});
