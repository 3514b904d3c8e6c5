import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createPrivate, loadOrCreateSecretKey } from '../../../src/servers/private-file.ts';
import { modeOf, temporaryDirectory } from './directory.ts';

test('the secret key is 32 random bytes in base64, created once, in a file that only its owner can read', async () => {
  const dataDir = join(await temporaryDirectory(), 'data');
  const key = await loadOrCreateSecretKey(dataDir);
  expect(key).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  expect(await loadOrCreateSecretKey(dataDir)).toBe(key);
  expect(await loadOrCreateSecretKey(join(await temporaryDirectory(), 'data'))).not.toBe(key);
  expect(await readdir(dataDir)).toEqual(['secret.key']);
  expect(await modeOf(join(dataDir, 'secret.key'))).toBe('600');
  expect(await modeOf(dataDir)).toBe('700');
});

test('a key file that another process has created in the meantime is left unchanged', async () => {
  const path = join(await temporaryDirectory(), 'secret.key');
  expect(createPrivate(path, 'first')).toBe(true);
  expect(createPrivate(path, 'second')).toBe(false);
  expect(await readFile(path, 'utf8')).toBe('first');
});

test('a directory that already holds other files keeps its mode', async () => {
  const dataDir = join(await temporaryDirectory(), 'shared');
  await mkdir(dataDir);
  await chmod(dataDir, 0o755);
  await writeFile(join(dataDir, 'theirs'), '');
  await loadOrCreateSecretKey(dataDir);
  expect(await modeOf(dataDir)).toBe('755');
});
