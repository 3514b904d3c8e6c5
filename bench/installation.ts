import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config.ts';
import { createAccount } from '../src/database/accounts.ts';
import { createCustomer, type NewCustomer } from '../src/database/customers.ts';
import { startEmbedded } from '../src/embedded/servers.ts';
import { createLog } from '../src/log.ts';
import { openRuntime, type Runtime } from '../src/runtime.ts';
import { type Process, startProcess } from './processes.ts';

/** The service as in production: a process for each role, on embedded servers with production durability. */
export interface Installation {
  url: string;
  databaseUrl: string;
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
  /** The process id of each part: 'api', 'importer', 'delivery 1' and so on, 'maintenance', 'redis', 'mysql'. */
  pids: Record<string, number>;
  end(): Promise<void>;
}

/** Starts everything in a fresh directory; `end` leaves nothing behind. `deliveries` is the number of delivery processes. */
export async function startInstallation({ deliveries = 1 } = {}): Promise<Installation> {
  const dataDir = await mkdtemp(join(tmpdir(), 'ledgerbell-bench-'));
  const announce = (line: string) => console.error(line);
  const sweep = () => endServers(dataDir);
  process.once('exit', sweep);
  const servers = await startEmbedded({ dataDir, mysql: true, redis: true, install: 'auto', announce });
  const secretKey = randomBytes(32).toString('base64');
  // Below the ports that Linux gives to outgoing connections, of which a benchmark has many.
  const port = String(20_000 + Math.floor(Math.random() * 12_000));
  const env = {
    DATABASE_URL: servers.databaseUrl ?? '',
    REDIS_URL: servers.redisUrl ?? '',
    SECRET_KEY: secretKey,
    ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
    LOG_LEVEL: 'warn',
    PORT: port,
    NODE_ENV: 'production',
  };
  const runtime = await openRuntime(
    readConfig(env),
    { databaseUrl: env.DATABASE_URL, redisUrl: env.REDIS_URL, secretKey },
    { log: createLog('warn'), announce, migrations: 'run' },
  );
  const receiver = startProcess('./receiver.js');
  const receiverUrl = `http://127.0.0.1:${(await receiver.receive<{ port: number }>()).port}`;
  const deliveryRoles = Array.from({ length: deliveries }, (_, i) => `delivery ${i + 1}`);
  const roles = ['api', 'importer', ...deliveryRoles, 'maintenance'].map((name) => ({
    name,
    process: startProcess('../src/main.js', { env, args: ['--roles', name.split(' ')[0] ?? ''] }),
  }));
  const pids = Object.fromEntries([
    ...roles.map(({ name, process }) => [name, process.child.pid ?? 0]),
    ...(await Promise.all(['redis', 'mysql'].map(async (name) => [name, await serverPid(dataDir, name)]))),
  ]);
  const url = `http://127.0.0.1:${port}`;
  await answering(`${url}/readyz`);

  return {
    url,
    databaseUrl: env.DATABASE_URL,
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
      await servers.stop();
      await rm(dataDir, { recursive: true, force: true });
      process.off('exit', sweep);
    },
  };
}

/** For a run that fails: its servers would stay, and nobody would ever end them. */
function endServers(dataDir: string): void {
  for (const name of ['redis', 'mysql']) {
    try {
      process.kill(JSON.parse(readFileSync(join(dataDir, `${name}.json`), 'utf8')).pid, 'SIGKILL');
    } catch {
      // It had not started, or has ended.
    }
  }
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 20 });
}

async function serverPid(dataDir: string, name: string): Promise<number> {
  return JSON.parse(await readFile(join(dataDir, `${name}.json`), 'utf8')).pid;
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
