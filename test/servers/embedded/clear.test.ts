import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { identify } from '../../../src/servers/embedded/process-identity.ts';
import { clearDataDir } from '../../../src/servers/embedded.ts';
import { claim, DataDirInUseError, ownerRecord } from '../../../src/servers/running-servers.ts';
import { temporaryDirectory } from './directory.ts';

async function filled(): Promise<string> {
  const dataDir = await temporaryDirectory();
  await mkdir(join(dataDir, 'mysql'));
  await writeFile(join(dataDir, 'mysql', 'table.ibd'), 'rows');
  await writeFile(join(dataDir, 'mysql.password'), 'secret');
  return dataDir;
}

test('clearing a data directory deletes everything in it', async () => {
  const dataDir = await filled();
  await clearDataDir(dataDir);
  expect(await readdir(dataDir)).toEqual([]);
});

test('clearing a data directory that does not exist creates it', async () => {
  const dataDir = join(await temporaryDirectory(), 'new');
  await clearDataDir(dataDir);
  expect(await readdir(dataDir)).toEqual([]);
});

test('clearing a data directory first ends the servers that a killed owner left running', async () => {
  const dataDir = await filled();
  const orphan = spawn('sleep', ['1000']);
  onTestFinished(() => void orphan.kill('SIGKILL'));
  await once(orphan, 'spawn');
  await writeFile(
    join(dataDir, 'mysql.json'),
    JSON.stringify({ ...identify(orphan.pid ?? 0), socket: join(dataDir, 'mysql.sock') }),
  );
  const ended = once(orphan, 'exit');
  await clearDataDir(dataDir);
  await ended;
  expect(await readdir(dataDir)).toEqual([]);
});

test('clearing a data directory deletes nothing while the directory has an owner', async () => {
  const dataDir = await filled();
  claim(ownerRecord(dataDir));
  await expect(clearDataDir(dataDir)).rejects.toThrow(DataDirInUseError);
  expect((await readdir(dataDir)).sort()).toEqual(['mysql', 'mysql.password', 'service.json']);
});
