import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import mysql, { type RowDataPacket } from 'mysql2/promise';
import { expect, inject, it, onTestFinished } from 'vitest';
import { createCustomer } from '../../src/customers/customers.ts';
import { createDataSource } from '../../src/database/data-source.ts';
import { migrate } from '../../src/database/migrate.ts';
import { readConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { prepareMysql } from '../../src/servers/embedded/mysql.ts';
import { provide } from '../../src/servers/embedded/provision.ts';
import { startService } from '../../src/service.ts';
import { runHere } from '../cli/command.ts';
import { findDirectory } from '../servers/start.ts';
import { movement } from '../support/movements.ts';
import { until } from '../support/until.ts';

/** The lines of commands under a heading of docs/runbook/backups.md that begin with the name of a program of MariaDB. */
async function readCommands(): Promise<string[]> {
  const page = await readFile('docs/runbook/backups.md', 'utf8');
  const [, tested = ''] =
    /<!-- tested: test\/database\/point-in-time.*?-->(.*?)<!-- end -->/s.exec(page) ?? [];
  return [...tested.matchAll(/^ {4}(mariadb.*|TZ=UTC mariadb.*)$/gm)].map(([, command = '']) => command);
}

it('the commands of the runbook restore the state of a moment', async ({ skip }) => {
  const { mysql: binaries } = await provide({
    mysql: true,
    redis: false,
    install: 'auto',
    announce: () => {},
  });
  if (binaries === undefined || binaries === 'docker' || binaries.flavor !== 'mariadb')
    return skip('the commands are of MariaDB');
  const directory = await mkdtemp(join(await findDirectory(), 'ledgerbell-moment-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const socket = join(directory, 's');
  const password = randomBytes(12).toString('hex');
  const { command, url, ping } = await prepareMysql(directory, { binaries, socket, password });
  const [program, ...args] = command;
  const binaryLog = ['--server-id=1', `--log-bin=${join(directory, 'mysql', 'binlog')}`];
  const server = spawn(program, [...args, ...binaryLog], { stdio: 'ignore' });
  onTestFinished(async () => {
    server.kill('SIGKILL');
    await once(server, 'exit');
  });
  await until('MariaDB answers', () =>
    ping().then(
      () => true,
      () => false,
    ),
  );
  const admin = await mysql.createConnection(url);
  onTestFinished(() => admin.destroy());

  const environment = {
    PORT: '0',
    DATABASE_URL: url,
    REDIS_URL: inject('redisUrl'),
    REDIS_PREFIX: `test-${randomBytes(6).toString('hex')}`,
    SECRET_KEY: randomBytes(32).toString('base64'),
  };
  const database = await createDataSource(url).initialize();
  await migrate(database);
  await database.destroy();
  const start = () =>
    startService({
      config: readConfig(environment),
      roles: ['api'],
      log: createLog('silent'),
      announce: () => {},
    });
  let service = await start();
  const { api_key: key } = await createCustomer(service.runtime, 'Müşteri');
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${service.url}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the test knows the shape.
    return (await answer.json()) as any;
  };
  const { account } = await post('/accounts', { bank: 'Garanti BBVA', title: 'Ana Hesap', currency: 'TRY' });
  const importOne = (id: string) =>
    post('/imports', { transactions: [movement(String(account.id), { unique_id: id })] });
  const readMovements = async () => {
    const [rows] = await admin.query<RowDataPacket[]>(
      'SELECT unique_id AS name, id FROM ledgerbell.transactions ORDER BY id',
    );
    return rows.map(({ name, id }) => ({ name: String(name), id: Number(id) }));
  };
  const readSecond = async () => {
    const [[row]] = await admin.query<RowDataPacket[]>('SELECT UNIX_TIMESTAMP() AS now');
    return Number(row?.now);
  };

  const [dump, ...restore] = await readCommands();
  expect(restore).toHaveLength(5);
  const run = async (text: string, replacements: Record<string, string> = {}) => {
    let line = text.replace(
      '--host db.example --user root --password',
      `--socket ${socket} --user ledgerbell`,
    );
    for (const [from, to] of Object.entries(replacements)) line = line.replaceAll(from, to);
    const env = { PATH: process.env.PATH, MYSQL_PWD: password };
    await promisify(execFile)('bash', ['-c', line], { cwd: directory, env });
  };

  await importOne('before the dump');
  await run(dump ?? '');
  const place = /MASTER_LOG_FILE='(binlog\.\d+)', MASTER_LOG_POS=(\d+)/.exec(
    await readFile(join(directory, 'ledgerbell.sql'), 'utf8'),
  );
  const [, file = '', position = ''] = place ?? [];
  await importOne('before the moment');
  await admin.query('FLUSH BINARY LOGS');
  await importOne('in the next log');
  const second = await readSecond();
  // The binary log counts in seconds.
  const moment = await until('the next second', async () => (await readSecond()) > second && readSecond());
  await importOne('after the moment');
  const lost = await readMovements();
  expect(lost).toHaveLength(4);
  await service.stop();

  const stopAt = new Date(moment * 1_000).toISOString().slice(0, 19).replace('T', ' ');
  for (const line of restore)
    await run(line, { 'binlog.000001': file, 4711: position, '2026-11-28 10:00:00': stopAt });
  expect(await readMovements()).toEqual(lost.slice(0, 3));

  expect((await runHere(['skip-ids'], environment)).code).toBe(0);
  service = await start();
  onTestFinished(() => service.stop());
  await importOne('after the moment');
  const last = (await readMovements()).at(-1);
  expect(last?.name).toBe('after the moment');
  expect(last?.id).toBeGreaterThan(1_000_000_000);
});
