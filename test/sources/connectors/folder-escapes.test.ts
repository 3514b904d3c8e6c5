import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { createFolderConnector } from '../../../src/sources/connectors/folder.ts';
import { markFile, readTaken, takeFile } from '../../../src/sources/connectors/folder-files.ts';
import { KINDS, kindOf } from '../../../src/sources/connectors/kinds.ts';
import { openFolders } from '../../../src/sources/connectors/source-folders.ts';
import { writeQuietly } from '../folder-source.ts';
import { collect, namesOf, useFolders } from './inbox.ts';

const { newFolder, newRoot } = useFolders();

describe('a folder source', () => {
  const { Settings } = kindOf(KINDS, 'folder');

  it.each([
    '../other',
    'a/../../b',
    '/etc',
    './inbox',
    'inbox/',
    'inbox//a',
    'in\\box',
    'inbox\u0000',
    '.ssh',
    'a/.b',
    '',
    'inbox/done',
    'Processing',
    'failed/a',
    'x'.repeat(101),
    'gelen kutusu',
  ])('refuses the path %j', (path) => {
    expect(v.is(Settings, { path })).toBe(false);
  });

  it.each(['inbox', 'garanti/inbox', 'a.b_c-1', '2026/03'])('accepts the path %j', (path) => {
    expect(v.is(Settings, { path })).toBe(true);
  });

  it.each(['inbox', 'inbox/processing', 'inbox/done', 'inbox/failed'])(
    'does not leave the customer’s folder by a link in place of %s',
    async (path) => {
      const { root, inbox, connect } = await newRoot();
      const outside = await newFolder();
      await writeQuietly(join(inbox, 'one.sta'), 'one');
      await writeQuietly(join(outside, 'theirs.sta'), 'theirs');
      await rename(join(root, path), join(root, 'aside')).catch(() => {});
      await symlink(outside, join(root, path));
      await expect(collect(connect())).rejects.toThrow(/symbolic link that leads out of your own folder/);
      expect(await readdir(outside)).toEqual(['theirs.sta']);
    },
  );

  it.each(['inbox', 'inbox/processing', 'inbox/done'])(
    'does not leave the customer’s folder by a link that is put in place of %s during a run',
    async (path) => {
      const { root, inbox } = await newRoot();
      const outside = await newFolder();
      await writeQuietly(join(outside, 'one.sta'), 'theirs');
      const folders = await openFolders(root, 'inbox');
      await writeQuietly(join(inbox, 'one.sta'), 'one');
      await rename(join(root, path), join(root, 'aside'));
      await symlink(outside, join(root, path));
      const taken = await takeFile(folders, 'one.sta');
      const read: Uint8Array[] = [];
      if (taken !== null)
        for await (const part of readTaken(taken, new AbortController().signal)) read.push(part);
      expect(Buffer.concat(read).toString()).toBe('one');
      await markFile(folders, { name: 'one.sta', version: taken?.version ?? '' }, { status: 'done' });
      await folders.close();
      expect(await readdir(outside)).toEqual(['one.sta']);
      expect(await readFile(join(outside, 'one.sta'), 'utf8')).toBe('theirs');
    },
  );

  it('does not enter a folder whose name only begins like the customer’s folder', async () => {
    const parent = await newFolder();
    await mkdir(join(parent, '1'));
    await mkdir(join(parent, '12/inbox'), { recursive: true });
    await symlink(join(parent, '12/inbox'), join(parent, '1/inbox'));
    const connector = createFolderConnector({
      settings: { path: 'inbox' },
      settleSeconds: 0,
      folder: join(parent, '1'),
    });
    await expect(collect(connector)).rejects.toThrow(/leads out of your own folder/);
  });

  it('does not follow a link when it writes the reason why a file failed', async () => {
    const { root, inbox, connect } = await newRoot();
    const outside = join(await newFolder(), 'theirs.txt');
    await writeFile(outside, 'theirs');
    await writeQuietly(join(inbox, 'one.sta'), 'one');
    const connector = connect();
    const [file] = await collect(connector);
    await symlink(outside, join(root, 'inbox/failed/one.sta.error.txt'));
    await connector.mark?.(
      { name: 'one.sta', version: file?.version ?? '' },
      { status: 'failed', reason: 'broken' },
    );
    expect(await readFile(outside, 'utf8')).toBe('theirs');
    expect(await readFile(join(root, 'inbox/failed/one.sta.error.txt'), 'utf8')).toBe('broken\n');
    expect((await readdir(join(root, 'inbox/failed'))).toSorted()).toEqual(['one.sta', 'one.sta.error.txt']);
  });

  it('may follow a link within the customer’s folder', async () => {
    const { root, inbox, connect } = await newRoot();
    await rename(inbox, join(root, 'real'));
    await symlink('real', inbox);
    await writeQuietly(join(root, 'real/one.sta'), 'one');
    expect(await namesOf(connect())).toEqual(['one.sta']);
  });

  it('fails without SOURCES_DIR, with what the operator must do', async () => {
    const connector = createFolderConnector({ settings: { path: 'inbox' }, settleSeconds: 0, folder: null });
    await expect(collect(connector)).rejects.toThrow(/Have the operator set SOURCES_DIR/);
    const missing = createFolderConnector({
      settings: { path: 'inbox' },
      settleSeconds: 0,
      folder: join(await newFolder(), 'no/7'),
    });
    await expect(collect(missing)).rejects.toThrow(/create the folder that SOURCES_DIR names/);
  });
});
