import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import mysql, { type Connection, type RowDataPacket } from 'mysql2/promise';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createCustomer } from '../../src/customers/customers.ts';
import { readConfig } from '../../src/platform/config/config.ts';
import { abandonConnections, type MysqlPool, poolOf } from '../../src/platform/database/connection.ts';
import { createDataSource } from '../../src/platform/database/data-source.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { ROLES } from '../../src/platform/roles.ts';
import { openRuntime } from '../../src/platform/runtime.ts';
import { type Service, startService } from '../../src/service.ts';
import { runHere } from '../cli/command.ts';
import { type ChaosServer, prepareOneMysql, prepareOneRedis } from '../durability/servers.ts';
import { parseExposition } from '../support/exposition.ts';
import { movement } from '../support/movements.ts';
import { until } from '../support/until.ts';

/** The service on a MySQL and a Redis of its own, of which something is wrong: what it says on each way that a person looks at it. */

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
  directory = await mkdtemp(join(tmpdir(), 'ledgerbell-problems-'));
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

const importOne = (fields: object = {}) => post('/v1/imports', { transactions: [movement(account, fields)] });

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

const readStatus = async () => {
  const { stdout } = await runHere(['status', '--json'], environment);
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
    return it.text.includes(`<h1>${name} ${problem}. `) && it;
  });
  expect(page.status).toBe(200);
  expect(page.text).not.toMatch(/No [a-z]+ (process )?is running/);
  // A heartbeat tells `status` what the processes see.
  const status = await until(`status says that ${name} ${problem}`, async () => {
    const it = await readStatus();
    return it[server] === problem && it;
  });
  expect(status.problems).toEqual([`${name} ${problem}.`]);
  expect(logged.join('')).toContain(`"msg":"${name} ${problem}."`);
}

/** Waits until nothing is wrong on any of them. No process is missed meanwhile. */
async function expectWell() {
  await until('/readyz is ready', async () => (await readReadiness()).code === 200);
  const { text } = await readPage();
  expect(text).not.toMatch(/No [a-z]+ (process )?is running/);
  await until('the console is well', async () => (await readPage()).text.includes('<h1>All is well.</h1>'));
  expect((await readStatus()).problems).toEqual([]);
}

it('a MySQL that is read-only refuses writes, and no process is missed', async () => {
  await admin.query('SET GLOBAL read_only = ON');
  try {
    await expectProblem('mysql', 'refuses writes: it is read-only');
    const refused = await importOne();
    expect(refused.status).toBe(503);
    expect(refused.body.detail).toContain('MySQL refuses writes: it is read-only.');
    // Without three heartbeats, a process counts as gone. The embedded user may write.
    await admin.query('UPDATE ledgerbell.processes SET seen_at = seen_at - INTERVAL 16 SECOND');
    await expectProblem('mysql', 'refuses writes: it is read-only');
  } finally {
    await admin.query('SET GLOBAL read_only = OFF');
  }
  await expectWell();
  expect((await importOne()).status).toBe(202);
}, 120_000);

it('a MySQL whose disk is full refuses writes, also where a small write finds a place', async ({ skip }) => {
  const { disk } = mysqlServer;
  if (disk === null) return skip('this user may not mount a disk');
  await disk.fill();
  const load = setInterval(() => void importOne({ description: randomBytes(400).toString('hex') }), 50);
  try {
    await expectProblem('mysql', 'refuses writes: its disk is full');
    const refused = await until('an import is refused', async () => {
      const answer = await importOne({ description: randomBytes(400).toString('hex') });
      return answer.status !== 202 && answer;
    });
    expect(refused.status).toBe(503);
    expect(refused.body.detail).toContain('MySQL refuses writes: its disk is full.');
  } finally {
    clearInterval(load);
    await disk.free();
  }
  await expectWell();
}, 120_000);

it('a table that another session has locked is named as what it is', async () => {
  await admin.query('LOCK TABLES ledgerbell.webhook_cursors WRITE');
  const waits =
    'waits for a lock of another session (ALTER TABLE, LOCK TABLES, a backup or a long transaction)';
  try {
    await until('the console says it', async () => (await readPage()).text.includes(`<h1>MySQL ${waits}. `));
    expect((await readStatus()).problems).toEqual([`MySQL ${waits}.`]);
    const webhooks = await readPage('/ops/webhooks');
    expect([webhooks.status, webhooks.type]).toEqual([503, 'text/html; charset=UTF-8']);
    expect(webhooks.text).toContain(`MySQL ${waits}`);
  } finally {
    await admin.query('UNLOCK TABLES');
  }
  await expectWell();
}, 60_000);

it('a MySQL without a free connection is named as what it is', async () => {
  const [[row]] = await admin.query<RowDataPacket[]>('SELECT @@GLOBAL.max_connections AS most');
  const [[used]] = await admin.query<RowDataPacket[]>("SHOW GLOBAL STATUS LIKE 'Threads_connected'");
  await admin.query(`SET GLOBAL max_connections = ${Math.max(10, Number(used?.Value))}`);
  const guests: Connection[] = [];
  const takesNoMore = 'takes no more connections: all of them are in use (max_connections)';
  try {
    for (;;) {
      const guest = await mysql.createConnection(environment.DATABASE_URL as string).catch(() => null);
      if (guest === null) break;
      guests.push(guest);
    }
    expect((await readStatus()).problems).toEqual([`MySQL ${takesNoMore}.`]);
  } finally {
    for (const guest of guests) guest.destroy();
    await admin.query(`SET GLOBAL max_connections = ${row?.most}`);
  }
  await expectWell();
}, 60_000);

it('a Redis that is out of memory refuses writes', async () => {
  await redisAdmin.config('SET', 'maxmemory-policy', 'noeviction');
  await redisAdmin.config('SET', 'maxmemory', '1');
  try {
    await expectProblem('redis', 'is out of memory and refuses writes (maxmemory)');
  } finally {
    await redisAdmin.config('SET', 'maxmemory', '0');
  }
  await expectWell();
}, 60_000);

it('a Redis that cannot save refuses writes', async () => {
  const readSetting = async (name: string) => String(((await redisAdmin.config('GET', name)) as string[])[1]);
  const save = await readSetting('save');
  const snapshot = join(await readSetting('dir'), await readSetting('dbfilename'));
  await rm(snapshot, { force: true });
  // Redis moves a finished snapshot to this path.
  await mkdir(snapshot);
  await redisAdmin.config('SET', 'save', '3600 1');
  await redisAdmin.bgsave();
  try {
    await expectProblem('redis', 'refuses writes: it cannot save to its disk (MISCONF)');
  } finally {
    await rm(snapshot, { recursive: true });
    await redisAdmin.config('SET', 'save', save);
    await redisAdmin.bgsave();
  }
  await expectWell();
}, 60_000);

it('an import that is larger than max_allowed_packet is a 503 that says so, and its Idempotency-Key is free', async () => {
  const [[row]] = await admin.query<RowDataPacket[]>('SELECT @@GLOBAL.max_allowed_packet AS bytes');
  await admin.query('SET GLOBAL max_allowed_packet = 1048576');
  abandonConnections(poolOf(service.runtime.database) as MysqlPool);
  const rows = (count: number) =>
    Array.from({ length: count }, (_, index) => movement(account, { unique_id: `packet-${index}` }));
  const sendTwice = async (count: number, key: string) => [
    await importAll(rows(count), key),
    await importAll(rows(count), key),
  ];
  try {
    expect((await importAll(rows(2), 'small')).status).toBe(202);
    // One part, and parts of 1 MiB, which are stored one by one.
    for (const count of [4_500, 12_000]) {
      for (const { status, body } of await sendTwice(count, `large-${count}`)) {
        expect([status, body.detail]).toEqual([
          503,
          expect.stringContaining(
            'MySQL refuses statements of this size: max_allowed_packet must be 16M or more.',
          ),
        ]);
      }
    }
  } finally {
    await admin.query(`SET GLOBAL max_allowed_packet = ${row?.bytes}`);
    abandonConnections(poolOf(service.runtime.database) as MysqlPool);
  }
  expect((await importAll(rows(12_000), 'large-12000')).status).toBe(202);
}, 60_000);

it('a start warns of a max_allowed_packet that is too small, and of a Redis that evicts', async () => {
  const [[row]] = await admin.query<RowDataPacket[]>('SELECT @@GLOBAL.max_allowed_packet AS bytes');
  await admin.query('SET GLOBAL max_allowed_packet = 4194304');
  await redisAdmin.config('SET', 'maxmemory-policy', 'allkeys-lru');
  const lines: string[] = [];
  try {
    const runtime = await openRuntime(
      readConfig(environment),
      { databaseUrl: environment.DATABASE_URL ?? '', redisUrl: redisServer.url, secretKey },
      {
        log: pino({}, { write: (line: string) => void lines.push(line) }),
        announce: () => {},
        migrations: 'expect',
      },
    );
    await runtime.close();
  } finally {
    await admin.query(`SET GLOBAL max_allowed_packet = ${row?.bytes}`);
    await redisAdmin.config('SET', 'maxmemory-policy', 'noeviction');
  }
  expect(lines.filter((line) => line.includes('"level":40')).map((line) => JSON.parse(line).msg)).toEqual([
    expect.stringMatching(/^MySQL's max_allowed_packet is 4194304 bytes\..*16777216 \(16M\)/),
    expect.stringMatching(/^Redis has maxmemory-policy allkeys-lru: .*noeviction\.$/),
  ]);
}, 60_000);

it('a clock that differs from that of MySQL is a warning', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
  const behind = /The clock of .* is 3\d\d\d s behind MySQL/;
  try {
    await until('the console says it', async () => behind.test((await readPage()).text));
    const ahead = (await readMetrics()).get('ledgerbell_clock_ahead_seconds') ?? 0;
    expect(ahead).toBeGreaterThan(-3_700);
    expect(ahead).toBeLessThan(-3_599);
    expect((await readStatus()).problems).toEqual([expect.stringMatching(behind)]);
    expect(logged.join('')).toMatch(/"level":40,.*The clock of this process is 3\d\d\d s behind MySQL's\./);
    expect((await readReadiness()).code).toBe(200);
  } finally {
    vi.useRealTimers();
  }
  await expectWell();
}, 60_000);
