import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { identify } from '../../../src/servers/embedded/process-identity.ts';
import { claim, DataDirInUseError, findOwner, release } from '../../../src/servers/running-servers.ts';
import { modeOf, temporaryDirectory } from './directory.ts';

async function recordFile(): Promise<string> {
  return join(await temporaryDirectory(), 'service.json');
}

/** The record of a process that has ended. */
async function staleRecord(): Promise<string> {
  const child = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  const identity = identify(child.pid ?? 0);
  await once(child, 'exit');
  return JSON.stringify(identity);
}

test('an owner of a data directory keeps others out until it releases the directory', async () => {
  const record = await recordFile();
  claim(record);
  expect(await modeOf(record)).toBe('600');
  expect(() => claim(record)).toThrow(DataDirInUseError);
  release(record);
  expect(findOwner(record)).toBeNull();
  claim(record);
  expect(findOwner(record)?.pid).toBe(process.pid);
});

test('an ownership record of a process that has ended is taken over', async () => {
  const record = await recordFile();
  await writeFile(record, await staleRecord());
  expect(findOwner(record)).toBeNull();
  claim(record);
  expect(findOwner(record)?.pid).toBe(process.pid);
});

test('an ownership record is taken over when another process now has the pid of the former owner', async () => {
  const record = await recordFile();
  await writeFile(record, JSON.stringify({ ...identify(process.pid), startTime: 'long ago' }));
  expect(findOwner(record)).toBeNull();
  claim(record);
  expect(findOwner(record)?.pid).toBe(process.pid);
});

test('an ownership record of a process in a sandbox, which has no id of the boot, is respected', async () => {
  const record = await recordFile();
  const startTime = identify(process.pid)?.startTime.replace(/^[^:]+(?=:\d+$)/, '') ?? '';
  await writeFile(record, JSON.stringify({ pid: process.pid, startTime }));
  expect(findOwner(record)?.startTime).toBe(startTime);
  expect(() => claim(record)).toThrow(DataDirInUseError);
  await writeFile(record, JSON.stringify({ pid: process.pid, startTime: ':1' }));
  expect(findOwner(record)).toBeNull();
});

test('an ownership record that cannot be read is taken over', async () => {
  const record = await recordFile();
  await writeFile(record, '{"pid":');
  claim(record);
  expect(findOwner(record)?.pid).toBe(process.pid);
});

test('a process that died during a takeover does not block the next takeover', async () => {
  const record = await recordFile();
  await writeFile(record, await staleRecord());
  await writeFile(`${record}.takeover`, await staleRecord());
  claim(record);
  expect(findOwner(record)?.pid).toBe(process.pid);
  await expect(readFile(`${record}.takeover`)).rejects.toThrow('ENOENT');
});

test.each([
  ['no record', async () => null],
  ['the record of a process that has ended', staleRecord],
])('exactly one of several simultaneous claims succeeds, with %s', async (_, left) => {
  const record = await recordFile();
  const text = await left();
  if (text !== null) {
    await writeFile(record, text);
  }
  const claimants = await Promise.all(Array.from({ length: 4 }, () => claimant(record)));
  const answers = claimants.map(({ lines }) => once(lines, 'line'));
  for (const { process: child } of claimants) {
    child.stdin?.write('go\n');
  }
  const said = (await Promise.all(answers)).map(([line]) => line).sort();
  expect(said).toEqual(['DataDirInUseError', 'DataDirInUseError', 'DataDirInUseError', 'owner']);
});

async function claimant(record: string): Promise<{ process: ChildProcess; lines: Interface }> {
  const fixture = join(import.meta.dirname, 'claim.fixture.ts');
  const child = spawn(process.execPath, ['--import', 'tsx', fixture, record], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const lines = createInterface(child.stdout);
  await once(lines, 'line');
  return { process: child, lines };
}
