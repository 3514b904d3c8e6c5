import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import mysql, { type RowDataPacket } from 'mysql2/promise';
import { parse, stringify } from 'yaml';
import { redisOptions } from '../../src/platform/redis.ts';
import { compile, compiled } from '../support/compiled.ts';
import { parseExposition } from '../support/exposition.ts';
import { movement } from '../support/movements.ts';
import { type ServiceProcess, startServiceProcess } from '../support/process.ts';
import { findPromtool, promtool } from '../support/promtool.ts';
import { until } from '../support/until.ts';
import { createDice } from './dice.ts';
import { inject } from './faults/inject.ts';
import type { FaultKind } from './plan.ts';
import { prepareOneMysql, prepareOneRedis } from './servers.ts';
import type { Installation } from './service.ts';

/**
 * `npm run what-is-said`: makes one fault after the other, and prints what each surface says of it, as the table of ops/prometheus/drills.md. Takes a
 * quarter of an hour. With names of faults, it makes these alone.
 */

const ROLES = ['api', 'importer', 'delivery', 'maintenance'] as const;
type Role = (typeof ROLES)[number];

/** Seconds. A process counts as gone after 15 s, and the metrics keep a reading for a while. */
const OF_SERVER = 20;
const OF_PROCESS = 30;

const announce = (line: string) => void process.stderr.write(`${line}\n`);

await compile({ announce });
const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-said-'));
await mkdir(join(directory, 'logs'));
const mysqlServer = await prepareOneMysql(directory, { env: {}, announce });
const redisServer = await prepareOneRedis(directory, { env: {}, announce });
await Promise.all([mysqlServer.start(), redisServer.start()]);
const sql = mysql.createPool({
  uri: mysqlServer.url,
  multipleStatements: true,
  maxIdle: 0,
  idleTimeout: 500,
});
await sql.query(
  "CREATE USER application IDENTIFIED BY 'application'; GRANT ALL ON ledgerbell.* TO application",
);
const databaseUrl = new URL(mysqlServer.url);
databaseUrl.username = databaseUrl.password = 'application';

const ADMIN_PASSWORD = randomBytes(12).toString('hex');
const env = {
  DATA_DIR: join(directory, 'service'),
  DATABASE_URL: databaseUrl.href,
  REDIS_URL: redisServer.url,
  SECRET_KEY: randomBytes(32).toString('base64'),
  OPS_PORT: '0',
  LOG_LEVEL: 'info',
  ADMIN_USER: 'admin',
  ADMIN_PASSWORD,
};

async function cli(args: string[], variables: Record<string, string> = env) {
  const { PATH = '', HOME = '' } = process.env;
  return new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
    const main = [compiled('src/cli/main.ts'), ...args];
    execFile(
      process.execPath,
      main,
      { env: { PATH, HOME, ...variables }, timeout: 60_000 },
      (error, stdout, stderr) => done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

const running = new Map<Role, ServiceProcess>();
async function startRole(role: Role): Promise<void> {
  running.set(role, startServiceProcess(env, ['--roles', role]));
  await running.get(role)?.opsUrl();
}

/** Begins to import a movement every 200 ms, so that writes meet the fault. */
async function startLoad(): Promise<void> {
  const created = JSON.parse((await cli(['customers', 'create', '--name', 'Müşteri', '--json'])).stdout);
  const send = async (path: string, body: object) => {
    const url = await running.get('api')?.url();
    const headers = {
      accept: 'text/html',
      authorization: `Bearer ${created.api_key}`,
      'content-type': 'application/json',
    };
    const options = { method: 'POST', headers, body: JSON.stringify(body) };
    return fetch(`${url}/v1${path}`, { ...options, signal: AbortSignal.timeout(15_000) });
  };
  const opened = await send('/accounts', { bank: 'Garanti BBVA', title: 'Ana Hesap', currency: 'TRY' });
  const { account } = (await opened.json()) as { account: { id: string } };
  const importOne = () =>
    send('/imports', {
      transactions: [movement(account.id, { description: randomBytes(400).toString('hex') })],
    });
  setInterval(() => void importOne().catch(() => {}), 200);
}

// Faults

const known = (kind: FaultKind) => async (seconds: number) => {
  const installation = { mysql: mysqlServer, redis: redisServer, sql, webhooks: [] };
  const fault = { kind, which: 0, seconds, at: 0 };
  const { note } = await inject(installation as unknown as Installation, fault, createDice(1));
  if (note !== '') throw new Error(note);
};

/** A fault that two statements of one session of MySQL begin and end. */
const statements = (begin: string, end: string) => async (seconds: number) => {
  const session = await sql.getConnection();
  try {
    await session.query(begin);
    await sleep(seconds * 1_000);
    await session.query(end);
  } finally {
    session.destroy();
  }
};

const killed = (role: Role) => async (seconds: number) => {
  await running.get(role)?.end('SIGKILL');
  await sleep(seconds * 1_000);
  await startRole(role);
};

async function frozenDelivery(seconds: number): Promise<void> {
  running.get('delivery')?.child.kill('SIGSTOP');
  await sleep(seconds * 1_000);
  running.get('delivery')?.child.kill('SIGCONT');
}

/** What another installation, with a database of its own, leaves in Redis. */
async function otherInstallation(seconds: number): Promise<void> {
  const redis = new Redis(redisOptions(redisServer.url));
  await redis.set('ledgerbell:installation', 'f'.repeat(16), 'PX', seconds * 1_000);
  await sleep(seconds * 1_000);
  redis.disconnect();
}

const FAULTS: Record<string, (seconds: number) => Promise<unknown>> = {
  'MySQL killed': known('mysql outage'),
  'MySQL frozen (SIGSTOP)': known('mysql frozen'),
  'MySQL read-only': known('mysql read-only'),
  'Disk of MySQL full': known('mysql disk full'),
  '`LOCK TABLES transactions WRITE`': statements('LOCK TABLES transactions WRITE', 'UNLOCK TABLES'),
  '`FLUSH TABLES WITH READ LOCK`': statements('FLUSH TABLES WITH READ LOCK', 'UNLOCK TABLES'),
  '`max_allowed_packet` 1 MiB': statements(
    'SET GLOBAL max_allowed_packet = 1048576',
    'SET GLOBAL max_allowed_packet = 67108864',
  ),
  'Redis killed': known('redis outage'),
  'Redis frozen (SIGSTOP)': known('redis frozen'),
  'Redis out of memory': known('redis out of memory'),
  'Another installation with the same `REDIS_PREFIX`': otherInstallation,
  'Every `api` killed (`kill -9`)': killed('api'),
  'Every `importer` killed': killed('importer'),
  'Every `delivery` killed': killed('delivery'),
  'Every `maintenance` killed': killed('maintenance'),
  'A `delivery` process frozen': frozenDelivery,
};

// Surfaces

const headers = { accept: 'text/html', authorization: `Basic ${btoa(`admin:${ADMIN_PASSWORD}`)}` };

const ask = async (role: Role, path: string) => {
  const url = await running.get(role)?.opsUrl();
  return fetch(`${url}${path}`, { headers, signal: AbortSignal.timeout(15_000) });
};

const textOf = (html: string) =>
  html
    .replace(/<[^>]*>/g, '')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"');

/** Lines of all processes so far. */
const readLog = () => [...running.values()].flatMap(({ said }) => said.split('\n'));

/** What each surface says now, read from the process with this role. */
const SURFACES = {
  async '/readyz'(role: Role) {
    const answer = await ask(role, '/readyz');
    const state = Object.entries((await answer.json()) as Record<string, unknown>);
    const wrong = state.filter(([name, said]) => /^(mysql|redis|migrations)$/.test(name) && said !== 'ok');
    return [String(answer.status), ...wrong.map(([name, said]) => `${name} ${said}`)].join(', ');
  },
  async console(role: Role) {
    const page = await (await ask(role, '/ops')).text();
    return textOf(/<h1>(.*?)<\/h1>/s.exec(page)?.[1] ?? 'no headline');
  },
  async status() {
    const { code, stdout } = await cli(['status', '--offline']);
    return `exit code ${code}: ${stdout.split('\n')[0]}`;
  },
  async metrics(role: Role) {
    const { samples } = parseExposition(await (await ask(role, '/metrics')).text());
    const raised = [...samples].filter(([name, value]) =>
      /^ledgerbell_(troubles|dependency_problem)\{/.test(name)
        ? value > 0
        : /workers\{|_processes\{/.test(name) && value === 0,
    );
    latestSamples = samples;
    const nameOf = (name: string) =>
      name.replace(/^ledgerbell_|,scope="installation"/g, '').replaceAll('"', '');
    return raised.map(([name, value]) => `\`${nameOf(name)} ${value}\``).join(', ');
  },
};
let latestSamples: ReadonlyMap<string, number> = new Map();

interface Said {
  text: string;
  /** Seconds since the fault began. */
  after: number;
}

/** Asks a surface until the signal. @returns each thing that it said, once, in order. */
async function follow(read: () => Promise<string>, signal: AbortSignal): Promise<Said[]> {
  const said: Said[] = [];
  const began = performance.now();
  while (!signal.aborted) {
    const text = await read().catch((error: Error) => `no answer (${error.name})`);
    const after = Math.round((performance.now() - began) / 1_000);
    if (!signal.aborted && said.at(-1)?.text !== text) said.push({ text, after });
    await sleep(500);
  }
  return said;
}

/** The alerts that fire if the metrics stay as they are for ten minutes, each with its `for`. */
async function findAlerts(down: Role | undefined): Promise<string[]> {
  const file = resolve('ops/prometheus/alerts.yml');
  const { groups } = parse(await readFile(file, 'utf8')) as {
    groups: { rules: { alert: string; for?: string }[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  const series = [...latestSamples]
    .filter(([, value]) => Number.isFinite(value))
    .map(([name, value]) => ({
      series: name.includes('{') ? name.replace('{', '{job="ledgerbell",') : `${name}{job="ledgerbell"}`,
      values: `${value}x60`,
    }));
  const up = ROLES.map((role) => ({
    series: `up{job="ledgerbell",instance="${role}"}`,
    values: `${role === down ? 0 : 1}x60`,
  }));
  const alert_rule_test = rules.map(({ alert }) => ({ alertname: alert, eval_time: '10m', exp_alerts: [] }));
  const test = join(directory, 'alerts.test.yml');
  const tests = [{ interval: '15s', input_series: [...series, ...up], alert_rule_test }];
  await writeFile(test, stringify({ rule_files: [file], evaluation_interval: '15s', tests }));
  const { output } = promtool(['test', 'rules', test]);
  const firing = new Set([...output.matchAll(/alertname: (\w+), time/g)].map(([, name]) => name));
  return rules.filter(({ alert }) => firing.has(alert)).map((it) => `${it.alert} (${it.for ?? 'at once'})`);
}

const cell = (said: readonly Said[]): string => {
  const shown = said.filter(({ text }, index) => index > 0 || !isWell(text));
  return shown.map(({ text, after }) => `${text} (${after} s)`).join('<br>') || said[0]?.text || 'nothing';
};

/** Cuts the long words, which all surfaces share. */
const shorten = (row: string): string =>
  row
    .replace(/\(ALTER TABLE[^)]*\)/g, '…')
    .replace(/(max_allowed_packet) is 1048576.*?configuration/g, '$1 …')
    .replace(/, with the prefix .*? of one of them/g, ' …');

const isWell = (text: string) => ['200', 'All is well.', 'exit code 0: All is well.', ''].includes(text);

async function observe(name: string, fault: (seconds: number) => Promise<unknown>): Promise<string> {
  const ofProcess = /`api`|`importer`|`delivery`|`maintenance`/.exec(name)?.[0].replaceAll('`', '') as
    | Role
    | undefined;
  const role: Role = ofProcess === 'api' ? 'maintenance' : 'api';
  const logBefore = new Set(readLog());
  const stop = new AbortController();
  const surfaces = Object.values(SURFACES).map((read) => follow(() => read(role), stop.signal));
  const during = fault(ofProcess === undefined ? OF_SERVER : OF_PROCESS);
  await sleep((ofProcess === undefined ? OF_SERVER : OF_PROCESS) * 1_000 - 500);
  stop.abort();
  const alerts = await findAlerts(ofProcess);
  const logged = readLog().filter(
    (line) => /^\{"level":[45]0/.test(line) && !/"repeated"/.test(line) && !logBefore.has(line),
  );
  const messages = new Set(logged.map((line) => String(JSON.parse(line).msg)));
  const said = await Promise.all(surfaces);
  await during;
  for (const read of Object.values(SURFACES))
    await until('all is well again', async () => isWell(await read('api').catch(() => 'no answer')), 180_000);
  const row = [
    name,
    ...said.map(cell),
    [...messages].join('<br>') || 'nothing',
    alerts.join('<br>') || 'none',
  ];
  return shorten(`| ${row.join(' | ')} |`);
}

async function end(): Promise<void> {
  for (const process of running.values()) if (process.child.exitCode === null) await process.end('SIGKILL');
  await Promise.all([mysqlServer.kill(), redisServer.kill()]);
  await mysqlServer.disk?.unmount();
  await rm(directory, { recursive: true, force: true });
}
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void end().then(() => process.exit(1)));

try {
  const migrated = await cli(['migrate']);
  if (migrated.code !== 0) throw new Error(migrated.stderr);
  if (!(await findPromtool())) announce('promtool is not here: the column of alerts stays empty');
  await Promise.all(ROLES.map(startRole));
  await startLoad();
  await until('all is well', async () => isWell(await SURFACES.status()));
  const [[row]] = await sql.query<RowDataPacket[]>('SELECT VERSION() AS version');
  process.stdout.write(`On ${row?.version}, Node ${process.version}.\n\n`);
  process.stdout.write(
    '| Fault | `/readyz` | Console | `ledgerbell status` | Metrics | Log | Alerts |\n|---|---|---|---|---|---|---|\n',
  );
  const wanted = process.argv.slice(2);
  for (const [name, fault] of Object.entries(FAULTS)) {
    if (wanted.length > 0 && !wanted.some((text) => name.includes(text))) continue;
    announce(name);
    process.stdout.write(`${await observe(name, fault)}\n`);
  }
} finally {
  await end();
}
process.exit(0);
