import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createAccount } from '../src/customers/accounts.ts';
import { createCustomer, type NewCustomer } from '../src/customers/customers.ts';
import { openRuntime, type Runtime } from '../src/database/runtime.ts';
import { readConfig } from '../src/platform/config.ts';
import { createLog } from '../src/platform/log.ts';
import { createDatabase, findServerPid, nameServer } from './database-server.ts';
import { type Process, startProcess } from './processes.ts';
import { type Servers, startServers } from './servers.ts';

export interface InstallationOptions {
  /** How many api processes, without the importer. */
  apis?: number;
  /** How many delivery processes. */
  deliveries?: number;
  /** DELIVERY_QUEUES. */
  deliveryQueues?: number;
  /** How many processes of one supervisor run all roles, instead of a process for each role. */
  processes?: number;
  /** RATE_LIMIT: requests per second and API key; 0: any number. Default: the service's own. */
  rateLimit?: number;
  /** SOURCES_DIR. */
  sourcesDir?: string;
  /** URL of any database on the server to use instead of the embedded one. */
  databaseUrl?: string | undefined;
}

/** The service as in production: a process for each role, on servers with production durability. */
export interface Installation {
  /** Of the first process with the role api. */
  url: string;
  /** Of all of them. */
  urls: readonly string[];
  /** The operators' listener of the first process with the role api. */
  opsUrl: string;
  databaseUrl: string;
  /** The database server's name and version: 'MariaDB 10.11.14'. */
  server: string;
  runtime: Runtime;
  receiver: Process & { url: string };
  /** A customer with one account. */
  customer(): Promise<NewCustomer & { accountId: string }>;
  call(
    key: string,
    method: string,
    path: string,
    body?: object | string,
    type?: string,
  ): Promise<Record<string, unknown>>;
  /**
   * The process id of each part: 'api 1' and so on, 'importer', 'delivery 1' and so on, 'maintenance', 'redis', 'mysql'; without the
   * servers that do not run on this machine. With a supervisor: 'api 1' is the supervisor, and 'process 1' and so on are its processes.
   */
  pids: Record<string, number>;
  end(): Promise<void>;
}

/** Starts everything in a fresh directory, or a fresh database of the given server; `end` leaves nothing behind. */
export async function startInstallation({
  apis = 1,
  deliveries = 1,
  deliveryQueues = 1,
  processes,
  rateLimit,
  sourcesDir,
  databaseUrl: givenUrl,
}: InstallationOptions = {}): Promise<Installation> {
  const announce = (line: string) => console.error(line);
  const servers = await startServers({ mysql: givenUrl === undefined, redis: true });
  const given = givenUrl === undefined ? null : await createDatabase(givenUrl);
  const secretKey = randomBytes(32).toString('base64');
  const env = {
    DATABASE_URL: given?.url ?? servers.databaseUrl ?? '',
    REDIS_URL: servers.redisUrl ?? '',
    SECRET_KEY: secretKey,
    ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
    LOG_LEVEL: 'warn',
    PORT: '0',
    DELIVERY_QUEUES: String(deliveryQueues),
    WEBHOOKS_PER_CUSTOMER: '1000',
    NODE_ENV: 'production',
    // The figure for retention removes what it has stored itself.
    RETENTION_DELIVERIES: 'forever',
    RETENTION_ATTEMPTS: 'forever',
    RETENTION_IMPORTS: 'forever',
    ...(rateLimit === undefined ? {} : { RATE_LIMIT: String(rateLimit) }),
    ...(sourcesDir === undefined ? {} : { SOURCES_DIR: sourcesDir }),
  };
  const runtime = await openRuntime(
    readConfig(env),
    { databaseUrl: env.DATABASE_URL, redisUrl: env.REDIS_URL, secretKey },
    { log: createLog('warn'), announce, migrations: 'run' },
  );
  const [version] = await runtime.database.query<{ version: string }[]>('SELECT VERSION() AS version');
  const receiver = startProcess('./receiver.js');
  const receiverUrl = `http://127.0.0.1:${(await receiver.receive<{ port: number }>()).port}`;
  const numbered = (role: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${role} ${i + 1}`);
  const said = new Map<string, string>();
  const names =
    processes === undefined
      ? [...numbered('api', apis), 'importer', ...numbered('delivery', deliveries), 'maintenance']
      : ['api 1'];
  const roles = names.map((name) => ({
    name,
    process: startProcess('../src/main.js', {
      env,
      args:
        processes === undefined ? ['--roles', name.split(' ')[0] ?? ''] : ['--processes', String(processes)],
      ...(name.startsWith('api')
        ? { onOutput: (text: string) => void said.set(name, (said.get(name) ?? '') + text) }
        : {}),
    }),
  }));
  const urls: string[] = [];
  for (const name of names.filter((it) => it.startsWith('api'))) {
    const url = await announced(() => /API\s+(http:\S+)\/v1/.exec(said.get(name) ?? '')?.[1]);
    await answering(`${url}/readyz`);
    urls.push(url);
  }
  const [url = ''] = urls;
  const opsUrl = await announced(() => /Console\s+(http:\S+)\/ops/.exec(said.get('api 1') ?? '')?.[1]);

  const pids = {
    ...Object.fromEntries(roles.map(({ name, process }) => [name, process.child.pid ?? 0])),
    ...(processes === undefined ? {} : await childPids(roles[0]?.process.child.pid)),
    ...(await serverPids(servers, givenUrl)),
  };

  return {
    url,
    urls,
    opsUrl,
    databaseUrl: env.DATABASE_URL,
    server: nameServer(version?.version ?? ''),
    runtime,
    receiver: { ...receiver, url: receiverUrl },
    async customer() {
      const made = await createCustomer(runtime, 'Bench');
      const account = await createAccount(runtime.database, {
        customerId: made.customer.id,
        bank: { name: 'Garanti BBVA' },
        title: 'Ana Hesap',
        currency: 'TRY',
        iban: null,
      });
      return { ...made, accountId: account?.id ?? '' };
    },
    async call(key, method, path, body, type = 'application/json') {
      const response = await fetch(url + path, {
        method,
        headers: { Authentication: key, ...(body === undefined ? {} : { 'Content-Type': type }) },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const answer = (await response.json()) as Record<string, unknown>;
      if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
      return answer;
    },
    pids,
    async end() {
      await Promise.all([...roles.map(({ process }) => process), receiver].map((it) => it.end()));
      await runtime.close();
      await given?.drop();
      await servers.end();
    },
  };
}

/** The processes that a supervisor has started, by numbers. */
async function childPids(supervisor: number | undefined): Promise<Record<string, number>> {
  const children = await readFile(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8');
  const pids = children.match(/\d+/g) ?? [];
  return Object.fromEntries(pids.map((pid, at) => [`process ${at + 1}`, Number(pid)]));
}

async function serverPids(servers: Servers, givenUrl: string | undefined): Promise<Record<string, number>> {
  const found = {
    redis: await servers.pidOf('redis'),
    mysql: givenUrl === undefined ? await servers.pidOf('mysql') : await findServerPid(givenUrl),
  };
  return Object.fromEntries(Object.entries(found).filter((it): it is [string, number] => it[1] !== null));
}

/** Waits until the API has printed its URL. */
async function announced(find: () => string | undefined): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    const url = find();
    if (url !== undefined) return url;
    if (tries > 600) throw new Error('the API does not say where it is');
    await pause(100);
  }
}

async function answering(url: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const ok = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    if (tries > 300) throw new Error(`${url} does not answer`);
    await pause(100);
  }
}

export const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
