import { appendFileSync, linkSync } from 'node:fs';
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { collect, readText } from './collect.ts';
import { hasOpenSsh, useOpenSsh } from './openssh.ts';
import { useSftpSource } from './sftp-source.ts';

const server = useOpenSsh();
const source = useSftpSource(server);

/** A modification time, this many seconds after the first. */
const at = (seconds: number) => new Date(Date.UTC(2026, 9, 1) + seconds * 1_000);

async function put(name: string | Buffer, text: string, seconds = 0): Promise<void> {
  const path = Buffer.concat([Buffer.from(`${source.folder}/`), Buffer.from(name)]);
  await writeFile(path, text);
  await utimes(path, at(seconds), at(seconds));
}

describe.skipIf(!hasOpenSsh)('an SFTP source', () => {
  it('collects the files of its folder, oldest first, and changes nothing', async () => {
    await put('b.sta', 'second', 2);
    await put('a.sta', 'first', 1);
    await put('c.sta', 'third', 3);
    expect(await collect(source.connect())).toEqual([
      { name: 'a.sta', version: `5-${at(1).getTime() / 1_000}`, cursor: undefined, text: 'first' },
      { name: 'b.sta', version: `6-${at(2).getTime() / 1_000}`, cursor: undefined, text: 'second' },
      { name: 'c.sta', version: `5-${at(3).getTime() / 1_000}`, cursor: undefined, text: 'third' },
    ]);
    expect(await collect(source.connect())).toHaveLength(3);
  });

  it.each([
    'Kasım ekstresi (1) & "özel" #%?;$(id) `x`.sta',
    "it's * [all] {here} \\ 😀.sta",
    'line\nbreak\ttab.sta',
    '-rf .sta',
    'no extension',
  ])('collects a file named %j', async (name) => {
    await put(name, 'movements');
    expect(await collect(source.connect())).toMatchObject([{ name, text: 'movements' }]);
  });

  it('reports a file whose name is not UTF-8, and still offers the other files', async () => {
    await put(Buffer.from('\xd6deme.sta', 'latin1'), 'unreadable', 1);
    await put('b.sta', 'readable', 2);
    const names: string[] = [];
    const problems: unknown[] = [];
    for await (const file of source.connect().files(null, new AbortController().signal)) {
      names.push(file.name);
      await readText(file).catch((error: unknown) => problems.push(error));
    }
    expect(names).toHaveLength(2);
    expect(problems).toMatchObject([{ name: 'FileError', message: expect.stringContaining('is not UTF-8') }]);
  });

  it('ignores hidden, unfinished and non-matching files, and entries that are not files', async () => {
    for (const name of ['.hidden.sta', 'a.sta.part', 'b.sta.tmp', 'c.sta.filepart', 'notes.txt', 'd.STA'])
      await put(name, 'x');
    await put('e.sta', 'statement');
    await mkdir(join(source.folder, 'folder.sta'));
    await symlink('/etc/passwd', join(source.folder, 'link.sta'));
    expect(await collect(source.connect({ pattern: '*.sta' }))).toMatchObject([{ name: 'e.sta' }]);
  });

  it('leaves out a file that has changed between two looks at the folder', async () => {
    const path = join(source.folder, 'uploading.sta');
    await writeFile(path, 'begin');
    await put('b.sta', 'complete', 1);
    let looked = false;
    const connector = source.connect(
      {},
      {
        // The connector calls this between its two looks.
        now: () => {
          if (!looked) appendFileSync(path, ' and more');
          looked = true;
          return Date.now();
        },
      },
    );
    expect(await collect(connector)).toMatchObject([{ name: 'b.sta' }]);
    expect(await collect(source.connect())).toMatchObject([{ name: 'b.sta' }, { text: 'begin and more' }]);
  });

  it('fails for a file that grows while it is read', async () => {
    await put('growing.sta', 'x'.repeat(100_000), 1);
    const reading = (async () => {
      for await (const file of source.connect().files(null, new AbortController().signal)) {
        for await (const part of file.open(new AbortController().signal)) {
          if (part.length > 0) appendFileSync(join(source.folder, 'growing.sta'), 'y');
        }
      }
    })();
    await expect(reading).rejects.toThrow('changed while it was being read');
  });

  it('offers nothing from an empty folder, and offers an empty file', async () => {
    expect(await collect(source.connect())).toEqual([]);
    await put('empty.sta', '');
    expect(await collect(source.connect())).toMatchObject([{ name: 'empty.sta', text: '' }]);
  });

  it('fails with a reason when processing holds more files than fit in memory', async () => {
    const processing = join(source.folder, 'processing');
    await mkdir(processing);
    for (let file = 0; file <= 100_000; file += 50_000) {
      const first = join(processing, `1-${at(0).getTime() / 1_000}-${file}.sta`);
      await writeFile(first, 'x');
      await utimes(first, at(0), at(0));
      // Hard links to the same file, because a file system may not have enough inodes for so many files.
      for (let other = file + 1; other < Math.min(file + 50_000, 100_001); other += 1)
        linkSync(first, join(processing, `1-${at(0).getTime() / 1_000}-${other}.sta`));
    }
    await expect(collect(source.connect({ after: 'move' }))).rejects.toThrow(
      `"${processing}" has more than 100000 files.`,
    );
  });

  it('names a missing folder in its error', async () => {
    const missing = source.connect({ path: '/no/such/folder' });
    await expect(collect(missing)).rejects.toThrow('There is no folder "/no/such/folder"');
  });

  it('stops reading when its run is aborted', async () => {
    await put('a.sta', 'x'.repeat(1_000_000));
    const run = new AbortController();
    const reading = (async () => {
      for await (const file of source.connect().files(null, run.signal)) {
        for await (const _part of file.open(run.signal)) run.abort(new Error('the run was stopped'));
      }
    })();
    await expect(reading).rejects.toThrow('the run was stopped');
  });
});
