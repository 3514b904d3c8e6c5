import { execFileSync } from 'node:child_process';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { composeCommand, composeProject, writeSecrets } from '../../../src/servers/embedded/docker.ts';
import { temporaryDirectory } from './directory.ts';

const PASSWORDS = { mysql: 'mysql-password', redis: 'redis-password' };
const COMPOSE_FILE = join(import.meta.dirname, '../../../docker-compose.yml');

test('the secrets of the started servers have files, which their containers can read', async () => {
  const { services, secrets } = parse(await readFile(COMPOSE_FILE, 'utf8'), { merge: true });
  const folder = writeSecrets(await temporaryDirectory(), PASSWORDS);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  for (const name of [...services.mysql.secrets, ...services.redis.secrets]) {
    const file = join(folder, basename(secrets[name].file));
    expect((await stat(file)).mode & 0o777).toBe(0o444);
    expect(await readFile(file, 'utf8')).toBe(PASSWORDS[name.startsWith('mysql') ? 'mysql' : 'redis']);
  }
});

test("docker gets the folder of the secrets, and neither a password nor any of the user's folders", async () => {
  const directory = await temporaryDirectory();
  await writeFile(
    join(directory, 'docker'),
    '#!/bin/sh\nprintf "%s\\n" "$@" "$SECRETS_DIR" "$SERVERS_INTERNAL" "$PROFILES_DIR$SOURCES_DIR"\n',
  );
  await chmod(join(directory, 'docker'), 0o755);

  const command = composeCommand('/secrets', 'ledgerbell-1', ['port', 'mysql', '3306']);
  const said = execFileSync('/usr/bin/env', command, {
    env: { PATH: directory, PROFILES_DIR: './own', SECRETS_DIR: 'of the user' },
    encoding: 'utf8',
  });
  expect(said.trimEnd().split('\n')).toEqual([
    ...['compose', '--file', COMPOSE_FILE, '--project-name', 'ledgerbell-1', 'port', 'mysql', '3306'],
    ...['/secrets', 'false'],
  ]);
});

test('each data directory, and each new password in it, has its own volumes', () => {
  expect(composeProject('/data', 'a')).toMatch(/^ledgerbell-[0-9a-f]{12}$/);
  expect(composeProject('/data', 'a')).toBe(composeProject('/data', 'a'));
  expect(
    new Set(
      [
        ['/data', 'a'],
        ['/data', 'b'],
        ['/other', 'a'],
      ].map(([d = '', p = '']) => composeProject(d, p)),
    ).size,
  ).toBe(3);
});
