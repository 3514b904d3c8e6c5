import { chmod, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { aptCommands, findMysql, findRedis, provide } from '../../../src/servers/embedded/provision.ts';
import { temporaryDirectory } from './directory.ts';

test('missing servers give one error that says what to type on Debian, macOS and Docker', async () => {
  const announced: string[] = [];
  const attempt = provide({
    mysql: true,
    redis: true,
    install: 'never',
    announce: (line) => announced.push(line),
    path: await temporaryDirectory(),
  });
  await expect(attempt).rejects.toThrow(
    'sudo apt-get install -y --no-install-recommends mariadb-server redis-server',
  );
  await expect(attempt).rejects.toThrow('brew install mariadb redis');
  await expect(attempt).rejects.toThrow('sudo systemctl start docker');
  await expect(attempt).rejects.toThrow('set DATABASE_URL and REDIS_URL');
  expect(announced).toEqual([]);
});

test('the error names only the missing server, and a server that is not wanted is not looked for', async () => {
  const path = await temporaryDirectory();
  await symlink((await findRedis()) ?? '', join(path, 'valkey-server'));
  const options = { install: 'never', announce: () => {}, path } as const;

  const attempt = provide({ ...options, mysql: true, redis: true });
  await expect(attempt).rejects.toThrow(/mariadb-server$/m);
  await expect(attempt).rejects.toThrow(/set DATABASE_URL\.$/);
  expect(await provide({ ...options, mysql: false, redis: true })).toEqual({
    redis: join(path, 'valkey-server'),
  });
});

test('the first of MySQL and MariaDB in PATH is used, and MariaDB when both are in one directory', async () => {
  const [one, two] = [await temporaryDirectory(), await temporaryDirectory()];
  const mysql = { flavor: 'mysql', server: join(one, 'mysqld') };
  const mariadb = {
    flavor: 'mariadb',
    server: join(two, 'mariadbd'),
    installer: join(two, 'mariadb-install-db'),
  };
  await executable(mysql.server, 'echo "mysqld  Ver 9.7.4 for Linux"');
  await executable(mariadb.server, 'echo "mariadbd  Ver 11.8.6-MariaDB"');
  await executable(mariadb.installer, 'exit 0');
  expect(await findMysql(`${one}:${two}`)).toEqual(mysql);
  expect(await findMysql(`${two}:${one}`)).toEqual(mariadb);
  expect(await findMysql(`/nowhere:${two}`)).toEqual(mariadb);

  await symlink(mariadb.server, join(two, 'mysqld'));
  expect(await findMysql(two)).toEqual(mariadb);

  // A file that is not executable is not a server.
  await chmod(mysql.server, 0o644);
  expect(await findMysql(`${one}:${two}`)).toEqual(mariadb);
});

test('a Docker engine that answers is used for the missing servers, with an announcement', async () => {
  const path = await temporaryDirectory();
  await symlink((await findRedis()) ?? '', join(path, 'redis-server'));
  const options = { mysql: true, redis: true, install: 'never', path } as const;

  await executable(join(path, 'docker'), 'exit 1');
  await expect(provide({ ...options, announce: () => {} })).rejects.toThrow('not found');

  await executable(join(path, 'docker'), 'exit 0');
  const announced: string[] = [];
  expect(await provide({ ...options, announce: (line) => announced.push(line) })).toEqual({
    mysql: 'docker',
    redis: join(path, 'redis-server'),
  });
  expect(announced).toEqual([expect.stringContaining('Docker')]);
});

test('the packages are installed without questions or recommended packages, after waiting for another apt', () => {
  expect(aptCommands(['redis-server']).map((command) => command.join(' '))).toEqual([
    'env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 update',
    'env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends redis-server',
  ]);
});

async function executable(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}
