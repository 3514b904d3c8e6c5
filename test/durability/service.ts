import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import mysql from 'mysql2';
import type { Pool } from 'mysql2/promise';
import { leadToPrimary } from '../../src/database/lead-to-primary.ts';
import { parseMysqlUrl } from '../../src/platform/server-urls.ts';
import { compile, compiled } from '../support/compiled.ts';
import { reservePort } from '../support/reserved-port.ts';
import { type Clock, createClock } from './clock.ts';
import { DELIVERY_QUEUES, type MysqlSetup, prepareServers, type RedisSetup } from './clusters.ts';
import { type Customer, createCustomers } from './customers.ts';
import { retentionEnv } from './old.ts';
import type { ReceiverSpec } from './receivers.process.ts';
import { type Receivers, startReceivers } from './receivers.ts';
import type { ChaosServer } from './servers.ts';
import { processOf, type Supervised, supervise } from './supervisor.ts';
import { type ChaosFeed, type ChaosWebhook, createFeeds, createWebhooks } from './webhooks.ts';

/** The processes of the product, two of each role, by the names the plan gives them. */
const ROLES = [
  ['api 0', 'api'],
  ['api 1', 'api'],
  ['importer 0', 'importer'],
  ['importer 1', 'importer'],
  ['delivery 0', 'delivery'],
  ['delivery 1', 'delivery'],
  ['maintenance 0', 'maintenance'],
  ['maintenance 1', 'maintenance'],
] as const;

/**
 * Two processes of a supervisor, by the same names. The second of each role is the supervisor, so that it is killed as often as they are.
 */
const OF_SUPERVISOR = {
  'api 0': 'api-1',
  'importer 0': 'api-1',
  'delivery 0': 'delivery-1',
  'maintenance 0': 'delivery-1',
} as const;

/** The whole service, with a process for each part, and its customers and receivers. */
export interface Installation {
  directory: string;
  /** Of one of the api processes, in turn. */
  readonly url: string;
  urls: readonly string[];
  mysql: ChaosServer;
  redis: ChaosServer;
  clock: Clock;
  roles: ReadonlyMap<string, Supervised>;
  receivers: Receivers;
  receiptsFile: string;
  customers: Customer[];
  webhooks: ChaosWebhook[];
  feeds: ChaosFeed[];
  /** For faults, completion.ts and the checker. Reconnects after MySQL was unreachable. */
  sql: Pool;
  /** Texts that may be nowhere but in MySQL, with their names. */
  secrets: Map<string, string>;
  /** The document of `ledgerbell status --json`. */
  readStatus(): Promise<unknown>;
  /** Runs `ledgerbell verify` for each customer. @returns what does not agree. */
  verifyBooks(): Promise<string[]>;
  /** Ends every process of the run; `remove` also its directory. */
  end(remove: boolean): Promise<void>;
}

/** @param customers how many, each with a webhook of every sort. */
export async function startInstallation({
  customers: count,
  mysql: mysqlSetup,
  redis: redisSetup,
  processes,
  announce,
}: {
  customers: number;
  mysql: MysqlSetup;
  redis: RedisSetup;
  /** How many processes a supervisor runs. Empty: two processes of each role, without a supervisor. */
  processes: string;
  announce: (line: string) => void;
}): Promise<Installation> {
  await compile();
  const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-chaos-'));
  await mkdir(join(directory, 'logs'));
  const sourcesDirectory = join(directory, 'sources');
  const clock = createClock(directory);
  await chmod(directory, 0o711);
  const { mysql: mysqlServer, redis } = await prepareServers(directory, {
    mysql: mysqlSetup,
    redis: redisSetup,
    env: clock.mysqlEnv,
    announce,
  });
  const ends: (() => Promise<unknown>)[] = [() => mysqlServer.kill(), () => redis.kill()];
  const end = async (remove: boolean) => {
    for (const it of ends.splice(0).reverse()) await it();
    if (remove) await mysqlServer.disk?.unmount();
    if (remove) await rm(directory, { recursive: true, force: true });
  };

  try {
    await Promise.all([mysqlServer.start(), redis.start()]);
    const databaseUrl =
      mysqlSetup === 'alone' ? await createApplicationUser(mysqlServer.url) : mysqlServer.url;
    const secretKey = randomBytes(32).toString('base64');
    const ports = [await reservePort(), ...(processes === '' ? [await reservePort()] : [])];
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    const [url = ''] = urls;
    let requests = 0;
    const env = {
      DATA_DIR: join(directory, 'service'),
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis.url,
      SECRET_KEY: secretKey,
      ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
      LOG_LEVEL: 'debug',
      OPS_PORT: '0',
      SOURCES_DIR: sourcesDirectory,
      NODE_ENV: 'production',
      ...retentionEnv(),
      ...(redisSetup === 'cluster' ? { DELIVERY_QUEUES: String(DELIVERY_QUEUES) } : {}),
      ...clock.env,
    };
    const cli = (args: string[]) => runCli(env, args);
    await cli(['migrate']);
    const start = (name: string, args: string[], port: number | undefined) => {
      const log = join(directory, 'logs', `${name.replace(' ', '-')}.log`);
      return supervise(name, [compiled('src/main.ts'), ...args], {
        env: { ...env, PORT: String(port) },
        log,
      });
    };
    const roles = new Map<string, Supervised>();
    if (processes === '') {
      for (const [name, role] of ROLES)
        roles.set(name, start(name, ['--roles', role], ports[Number(name.split(' ')[1])]));
    } else {
      const supervisor = start('supervisor', ['--processes', processes], ports[0]);
      for (const [name] of ROLES) roles.set(name, supervisor);
      for (const [name, of] of Object.entries(OF_SUPERVISOR)) roles.set(name, processOf(supervisor, of));
    }
    ends.push(() => Promise.all([...roles.values()].map((role) => role.end())));
    for (const it of urls) await answering(`${it}/readyz`);
    await Promise.all([...roles.values()].map(running));

    const customers = await createCustomers({ cli, url, sourcesDirectory, count });
    const webhooks = await createWebhooks(url, customers, reservePort);
    const feeds = await createFeeds(url, customers);
    const receiptsFile = join(directory, 'receipts.tsv');
    const specs = webhooks.map(
      ({ id, port, secret, customer, event, hearing }): ReceiverSpec => ({
        webhookId: id,
        port,
        secret,
        event,
        hearing,
        apiSecret: customer.apiSecret,
      }),
    );
    const receivers = await startReceivers(receiptsFile, specs);
    ends.push(() => receivers.end());
    const sql = connect(mysqlServer.url);
    ends.push(() => sql.end().catch(() => {}));

    const secrets = new Map([[secretKey, 'SECRET_KEY']]);
    secrets.set(parseMysqlUrl(databaseUrl).password, 'the password in DATABASE_URL');
    if (mysqlServer.password !== null) secrets.set(mysqlServer.password, 'the password of MySQL');
    if (redis.password !== null) secrets.set(redis.password, 'the password of Redis');
    for (const { apiKey, apiSecret } of customers)
      secrets.set(apiKey, 'an API key').set(apiSecret, 'an API secret');
    for (const { secret } of webhooks) secrets.set(secret.replace('whsec_', ''), 'a webhook secret');
    return {
      directory,
      get url() {
        requests += 1;
        return urls[requests % urls.length] ?? '';
      },
      urls,
      mysql: mysqlServer,
      redis,
      clock,
      roles,
      receivers,
      receiptsFile,
      customers,
      webhooks,
      feeds,
      sql,
      secrets,
      readStatus: () => cli(['status']),
      verifyBooks: async () => (await Promise.all(customers.map(({ id }) => verify(env, id)))).flat(),
      end,
    };
  } catch (error) {
    await end(false);
    throw error;
  }
}

/** Opens a pool that follows the primary. Its idle connections end, because they may lead to a former primary. */
export function connect(url: string): Pool {
  const { hosts, username: user, password, database, socketPath } = parseMysqlUrl(url);
  const options = {
    ...(socketPath === null ? hosts[0] : { socketPath }),
    ...{ user, password, database, timezone: 'Z', connectTimeout: 2_000, maxIdle: 0, idleTimeout: 500 },
  };
  const pool = mysql.createPool(options);
  if (hosts.length > 1) leadToPrimary(pool, hosts, options);
  return pool.promise();
}

/** Creates a user that may not write to a server that is read-only, which the embedded user may. @returns its DATABASE_URL. */
export async function createApplicationUser(url: string): Promise<string> {
  const admin = connect(url);
  const password = randomBytes(12).toString('hex');
  await admin.query(`CREATE USER application IDENTIFIED BY '${password}'`);
  await admin.query('GRANT ALL ON ledgerbell.* TO application');
  await admin.end();
  const ofApplication = new URL(url);
  ofApplication.username = 'application';
  ofApplication.password = password;
  return ofApplication.href;
}

/** Runs the product's command line. @returns the JSON document that it prints, also if its exit code is 1. */
export async function runCli(env: Record<string, string>, args: string[]): Promise<unknown> {
  const { PATH = '', HOME = '' } = process.env;
  const main = compiled('src/cli/main.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args, '--json'], {
    env: { PATH, HOME, ...env },
    timeout: 60_000,
  }).catch((error: Error & { stdout?: string }) => {
    if (!error.stdout?.startsWith('{')) throw error;
    return { stdout: error.stdout };
  });
  return JSON.parse(stdout);
}

/** Runs `ledgerbell verify`. @returns what it found wrong, line by line. */
async function verify(env: Record<string, string>, customerId: string): Promise<string[]> {
  const { PATH = '', HOME = '' } = process.env;
  const args = [compiled('src/cli/main.ts'), 'verify', '--customer', customerId];
  try {
    await promisify(execFile)(process.execPath, args, { env: { PATH, HOME, ...env } });
    return [];
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    const lines = `${stdout}${stderr}`.trim().split('\n');
    return lines.map((line) => `customer ${customerId}: ${line.trim()}`);
  }
}

/** Waits until a role reports that it is running. @throws with its log when it ends instead. */
export async function running(role: Supervised): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    const said = await readFile(role.log, 'utf8');
    if (said.includes('Ledgerbell is running')) return;
    if (role.ownEnds.length > 0) throw new Error(`${role.name} does not start: ${said.slice(-2_000)}`);
    await sleep(100);
  }
  throw new Error(`${role.name} does not say that it runs`);
}

/** Waits until the address answers 2xx. @throws when it does not within about a minute. */
export async function answering(url: string): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    const ok = await fetch(url, { signal: AbortSignal.timeout(5_000) }).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    await sleep(100);
  }
  throw new Error(`${url} does not answer within a minute`);
}
