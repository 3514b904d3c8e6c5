import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import mysql, { type Connection } from 'mysql2/promise';
import { pino } from 'pino';
import { afterAll, beforeAll, expect } from 'vitest';
import { createCustomer } from '../../src/customers/customers.ts';
import { createDataSource } from '../../src/database/data-source.ts';
import { migrate } from '../../src/database/migrate.ts';
import { ROLES, readConfig } from '../../src/platform/config.ts';
import { type Service, startService } from '../../src/service.ts';
import { runHere } from '../cli/command.ts';
import { type ChaosServer, prepareOneMysql, prepareOneRedis } from '../durability/servers.ts';
import { findDirectory } from '../servers/start.ts';
import { parseExposition } from '../support/exposition.ts';
import { movement } from '../support/movements.ts';
import { until } from '../support/until.ts';

/**
 * The service on a MySQL and a Redis of its own, of which something is wrong: what it says on each way that a person looks at it. Call it
 * at the top of the file.
 */
export function useServiceWithProblems() {
  const secretKey = randomBytes(32).toString('base64');
  const logged: string[] = [];
  let directory: string;
  let mysqlServer: ChaosServer;
  let redisServer: ChaosServer;
  let admin: Connection;
  let redisAdmin: Redis;
  let environment: Record<string, string>;
  let service: Service;
  let key: string;
  let account: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(await findDirectory(), 'ledgerbell-problems-'));
    const preparation = { env: {}, announce: () => {} };
    mysqlServer = await prepareOneMysql(directory, preparation);
    redisServer = await prepareOneRedis(directory, preparation);
    await mkdir(join(directory, 'logs'));
    await Promise.all([mysqlServer.start(), redisServer.start()]);
    admin = await mysql.createConnection(mysqlServer.url);
    // The embedded user may write to a server that is read-only. That of an installation should not.
    await admin.query("CREATE USER application IDENTIFIED BY 'application'");
    await admin.query('GRANT ALL ON ledgerbell.* TO application');
    const url = new URL(mysqlServer.url);
    url.username = 'application';
    url.password = 'application';
    redisAdmin = new Redis(redisServer.url.replace(/\?.*/, ''), {
      path: join(directory, 'data', 'redis.sock'),
      password: redisServer.password ?? '',
    });
    environment = {
      PORT: '0',
      DATA_DIR: join(directory, 'service'),
      DATABASE_URL: url.href,
      REDIS_URL: redisServer.url,
      SECRET_KEY: secretKey,
      ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
    };
    const database = await createDataSource(url.href).initialize();
    await migrate(database);
    await database.destroy();
    service = await startService({
      config: readConfig(environment),
      roles: ROLES,
      log: pino({ level: 'info' }, { write: (line: string) => void logged.push(line) }),
      announce: () => {},
    });
    ({ api_key: key } = await createCustomer(service.runtime, 'Müşteri'));
    const opened = await post('/v1/accounts', { bank: 'Garanti BBVA', title: 'Ana Hesap', currency: 'TRY' });
    account = String(opened.body.account.id);
  }, 120_000);

  afterAll(async () => {
    await service?.stop();
    admin?.destroy();
    redisAdmin?.disconnect();
    await Promise.all([mysqlServer?.kill(), redisServer?.kill()]);
    await mysqlServer?.disk?.unmount();
    await rm(directory, { recursive: true, force: true });
  }, 60_000);

  async function post(path: string, body: object, headers: Record<string, string> = {}) {
    const answer = await fetch(`${service.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: the tests know the shape.
    return { status: answer.status, body: (await answer.json()) as any };
  }

  const importOne = (fields: object = {}) =>
    post('/v1/imports', { transactions: [movement(account, fields)] });

  const importAll = (transactions: object[], idempotencyKey: string) =>
    post('/v1/imports', { transactions }, { 'idempotency-key': idempotencyKey });

  const readReadiness = async () => {
    const answer = await fetch(`${service.url}/readyz`);
    return { code: answer.status, ...((await answer.json()) as { mysql: string; redis: string }) };
  };

  const readPage = async (path = '/ops') => {
    const answer = await fetch(`${service.opsUrl}${path}`, { headers: { accept: 'text/html' } });
    return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
  };

  const readStatus = async (...way: string[]) => {
    const { stdout } = await runHere(['status', ...way, '--json'], environment);
    return JSON.parse(stdout) as { problems: string[]; mysql: string; redis: string };
  };

  const readMetrics = async () =>
    parseExposition(await (await fetch(`${service.opsUrl}/metrics`)).text()).samples;

  /** Waits until /readyz says it, and compares the console, `status`, the metrics and the log. */
  async function expectProblem(server: 'mysql' | 'redis', problem: string) {
    const name = { mysql: 'MySQL', redis: 'Redis' }[server];
    const ready = await until(`/readyz says that ${name} ${problem}`, async () => {
      const state = await readReadiness();
      return state[server] === problem && state;
    });
    expect(ready.code).toBe(503);
    const samples = await readMetrics();
    expect(samples.get(`ledgerbell_dependency_up{dependency="${server}"}`)).toBe(0);
    expect(samples.get(`ledgerbell_dependency_problem{dependency="${server}",problem="${problem}"}`)).toBe(1);
    // The console keeps a reading for 2 s.
    const page = await until(`the console says that ${name} ${problem}`, async () => {
      const it = await readPage();
      return it.text.includes(`<h1>Not well: ${name} ${problem}.`) && it;
    });
    expect(page.status).toBe(200);
    expect(page.text).not.toMatch(/No process runs the role/);
    // A heartbeat tells `status` what the processes see.
    const status = await until(`status says that ${name} ${problem}`, async () => {
      const it = await readStatus();
      return it[server] === problem && it;
    });
    expect(status.problems).toEqual([`${name} ${problem}.`]);
    expect(logged.join('')).toContain(`"msg":"${name} ${problem}."`);
  }

  /** MySQL works, and refuses some statements. Waits until /readyz says it, and compares the console, `status`, the metrics and the log. */
  async function expectLimit(limit: string) {
    const ready = await until(`/readyz says that MySQL ${limit}`, async () => {
      const state = await readReadiness();
      return state.mysql === limit && state;
    });
    expect(ready.code).toBe(200);
    const samples = await until('the metrics count it', async () => {
      const it = await readMetrics();
      return it.get('ledgerbell_troubles{kind="mysql_settings",scope="installation"}') === 1 && it;
    });
    expect(samples.get('ledgerbell_dependency_up{dependency="mysql"}')).toBe(1);
    expect(samples.get(`ledgerbell_dependency_problem{dependency="mysql",problem="${limit}"}`)).toBe(1);
    const page = await until('the console says it', async () => {
      const { text } = await readPage();
      return text.includes('<h1>Not well: MySQL refuses large imports') && text;
    });
    expect(page).toContain('SET GLOBAL max_allowed_packet = 16777216');
    expect((await readStatus()).problems).toEqual([`MySQL ${limit}.`]);
    expect(logged.join('')).toContain(`"msg":"MySQL ${limit}."`);
  }

  /** Waits until nothing is wrong on any of them. No process is missed meanwhile. */
  async function expectWell() {
    await until('/readyz is ready', async () => (await readReadiness()).code === 200);
    const { text } = await readPage();
    expect(text).not.toMatch(/No process runs the role/);
    await until('the console is well', async () => (await readPage()).text.includes('<h1>All is well.</h1>'));
    expect((await readStatus()).problems).toEqual([]);
  }
  return {
    expectLimit,
    expectProblem,
    expectWell,
    importOne,
    importAll,
    readMetrics,
    readPage,
    readReadiness,
    readStatus,
    logged,
    get admin() {
      return admin;
    },
    get redisAdmin() {
      return redisAdmin;
    },
    get environment() {
      return environment;
    },
    get servers() {
      return { mysql: mysqlServer, redis: redisServer };
    },
    get service() {
      return service;
    },
    get account() {
      return account;
    },
  };
}
