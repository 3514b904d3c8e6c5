import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql, { type Pool } from 'mysql2/promise';
import { createAccount } from '../../src/database/accounts.ts';
import { createCustomer } from '../../src/database/customers.ts';
import { createDataSource } from '../../src/database/data-source.ts';
import { migrate } from '../../src/database/migrate.ts';
import { createSecretBox } from '../../src/database/secret-box.ts';
import { buildProduct } from './build.ts';
import { type Clock, createClock } from './clock.ts';
import type { ReceiverSpec } from './receivers.process.ts';
import { type Receivers, startReceivers } from './receivers.ts';
import { type ChaosServer, prepareServers } from './servers.ts';
import { type Supervised, supervise } from './supervisor.ts';
import { type ChaosWebhook, type Customer, createWebhooks } from './webhooks.ts';

/** The processes of the product, by the names the plan gives them. */
const ROLES = [
  ['api 0', 'api'],
  ['importer 0', 'importer'],
  ['importer 1', 'importer'],
  ['delivery 0', 'delivery'],
  ['delivery 1', 'delivery'],
  ['maintenance 0', 'maintenance'],
] as const;

/** The whole service, each part a process of its own, and those who use it. */
export interface Installation {
  directory: string;
  url: string;
  mysql: ChaosServer;
  redis: ChaosServer;
  clock: Clock;
  roles: ReadonlyMap<string, Supervised>;
  receivers: Receivers;
  receiptsFile: string;
  customers: Customer[];
  webhooks: ChaosWebhook[];
  /** For faults, the passing of time and the judge; connects anew when MySQL was away. */
  sql: Pool;
  /** Texts that must be nowhere but in MySQL, with what they are. */
  secrets: Map<string, string>;
  /** Ends every process of the run; `remove` also its directory. */
  end(remove: boolean): Promise<void>;
}

/** @param customers how many, each with two accounts and a webhook of every sort. */
export async function startInstallation({
  customers: count,
  announce,
}: {
  customers: number;
  announce: (line: string) => void;
}): Promise<Installation> {
  const product = await buildProduct(announce);
  const directory = await mkdtemp(join(tmpdir(), 'ledgerbell-chaos-'));
  await mkdir(join(directory, 'logs'));
  const clock = createClock(directory);
  const { mysql: mysqlServer, redis } = await prepareServers(directory, { env: clock.env, announce });
  const ends: (() => Promise<unknown>)[] = [
    () => rm(product, { recursive: true, force: true }),
    () => mysqlServer.kill(),
    () => redis.kill(),
  ];
  const end = async (remove: boolean) => {
    for (const it of ends.splice(0).reverse()) await it();
    if (remove) await rm(directory, { recursive: true, force: true });
  };

  try {
    await Promise.all([mysqlServer.start(), redis.start()]);
    const secretKey = randomBytes(32).toString('base64');
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const customers = await createCustomers(mysqlServer.url, secretKey, count);

    const env = {
      DATABASE_URL: mysqlServer.url,
      REDIS_URL: redis.url,
      SECRET_KEY: secretKey,
      ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
      LOG_LEVEL: 'debug',
      PORT: String(port),
      NODE_ENV: 'production',
      ...clock.env,
    };
    const roles = new Map(
      ROLES.map(([name, role]) => {
        const log = join(directory, 'logs', `${name.replace(' ', '-')}.log`);
        return [name, supervise(name, [join(product, 'src', 'main.js'), '--roles', role], { env, log })];
      }),
    );
    ends.push(() => Promise.all([...roles.values()].map((role) => role.end())));
    await answering(`${url}/readyz`);

    const webhooks = await createWebhooks(url, customers, freePort);
    const receiptsFile = join(directory, 'receipts.tsv');
    const specs = webhooks.map(
      ({ id, port, secret, customer }): ReceiverSpec => ({
        webhookId: id,
        port,
        secret,
        apiSecret: customer.apiSecret,
      }),
    );
    const receivers = await startReceivers(receiptsFile, specs);
    ends.push(() => receivers.end());
    const sql = mysql.createPool({ uri: mysqlServer.url, timezone: 'Z', connectTimeout: 2_000 });
    ends.push(() => sql.end().catch(() => {}));

    const secrets = new Map([
      [secretKey, 'SECRET_KEY'],
      [mysqlServer.password, 'the password of MySQL'],
      [redis.password, 'the password of Redis'],
    ]);
    for (const { apiKey, apiSecret } of customers)
      secrets.set(apiKey, 'an API key').set(apiSecret, 'an API secret');
    for (const { secret } of webhooks) secrets.set(secret.replace('whsec_', ''), 'a webhook secret');
    return {
      directory,
      url,
      mysql: mysqlServer,
      redis,
      clock,
      roles,
      receivers,
      receiptsFile,
      customers,
      webhooks,
      sql,
      secrets,
      end,
    };
  } catch (error) {
    await end(false);
    throw error;
  }
}

/** By the product's own code, as the command line does it. */
async function createCustomers(databaseUrl: string, secretKey: string, count: number): Promise<Customer[]> {
  const database = createDataSource(databaseUrl);
  await database.initialize();
  try {
    await migrate(database);
    const customers: Customer[] = [];
    for (let n = 1; n <= count; n += 1) {
      const made = await createCustomer({ database, secrets: createSecretBox(secretKey) }, `Müşteri ${n}`);
      const account = async (title: string) => {
        const bank = { name: 'Akbank' };
        const fields = { customerId: made.customer.id, bank, title, currency: 'TRY', iban: null };
        return (await createAccount(database, fields))?.id ?? '';
      };
      customers.push({
        id: made.customer.id,
        apiKey: made.api_key,
        apiSecret: made.api_secret,
        accountIds: [await account('Ana Hesap'), await account('Kasa')],
      });
    }
    return customers;
  } finally {
    await database.destroy();
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Resolves when the address answers 2xx; a minute is enough for any start. */
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
