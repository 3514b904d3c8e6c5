import { execFileSync } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { composeCommand, composeProject, renderEnvironment } from '../../../src/platform/embedded/docker.ts';
import { temporaryDirectory } from './directory.ts';

const PASSWORDS = { mysql: 'mysql-password', redis: 'redis-password' };
const COMPOSE_FILE = join(import.meta.dirname, '../../../docker-compose.yml');

test('every variable that docker-compose.yml insists on has a value when only its servers are started', async () => {
  const required = [...(await readFile(COMPOSE_FILE, 'utf8')).matchAll(/\$\{(\w+):?\?/g)].map(
    ([, name]) => name,
  );
  const given = renderEnvironment(PASSWORDS).match(/^\w+(?==.)/gm);
  expect(required).toContain('SECRET_KEY');
  expect([...new Set(required)].filter((name) => !given?.includes(name ?? ''))).toEqual([]);
});

test('the folders of the user, which no server needs, are not mounted', () => {
  for (const name of ['PROFILES_DIR', 'SOURCES_DIR'])
    expect(renderEnvironment(PASSWORDS).split('\n')).toContain(`${name}=`);
});

test('docker gets the passwords through its environment, never on its command line', async () => {
  const directory = await temporaryDirectory();
  const environment = join(directory, 'docker.env');
  await writeFile(environment, renderEnvironment(PASSWORDS));
  await writeFile(
    join(directory, 'docker'),
    '#!/bin/sh\nprintf "%s\\n" "$@" "$MYSQL_PASSWORD" "$REDIS_PASSWORD"\n',
  );
  await chmod(join(directory, 'docker'), 0o755);

  const command = composeCommand(environment, 'ledgerbell-1', ['port', 'mysql', '3306']);
  expect(command.join(' ')).not.toMatch(/-password/);
  const said = execFileSync('/bin/sh', command, { env: { PATH: directory, MYSQL_PASSWORD: 'of the user' } });
  expect(said.toString().trim().split('\n')).toEqual([
    ...['compose', '--file', COMPOSE_FILE, '--project-name', 'ledgerbell-1', 'port', 'mysql', '3306'],
    ...['mysql-password', 'redis-password'],
  ]);
});

test('each data directory, and each new password in it, has volumes of its own', () => {
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
