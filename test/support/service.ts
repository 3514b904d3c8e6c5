import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, inject } from 'vitest';
import { createCustomer, type NewCustomer } from '../../src/customers/customers.ts';
import type { Runtime } from '../../src/database/runtime.ts';
import { inTransaction } from '../../src/database/transaction.ts';
import { wakeChangedWebhook } from '../../src/delivery/wake.ts';
import { type Config, ROLES, type RoleName, readConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { type Service, startService } from '../../src/service.ts';
import { markDeleted } from '../../src/webhooks/settings/save-webhook.ts';
import { createDatabase, type OwnDatabase } from './database.ts';
import { requireDocumented } from './document.ts';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape they are about to check.
  body: any;
}

export interface TestService {
  readonly url: string;
  /** URL of the operators' listener. */
  readonly opsUrl: string;
  readonly runtime: Runtime;
  /** Creates a customer with an API key for all its accounts. */
  customer(name?: string): Promise<NewCustomer>;
  /** Sends one request. An object body is sent as JSON, a string as it is. The answer must be as /openapi.json says. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  /** Sends one request to the operators' listener. */
  callOps(method: string, path: string, options?: CallOptions): Promise<Answer>;
}

export interface CallOptions {
  key?: string;
  body?: unknown;
  type?: string;
  headers?: Record<string, string>;
}

/** A test that cannot have its service in common with other files says why, and what the service is like. */
interface OwnService {
  /** Why the file cannot use the service that the others of its worker use. */
  because: string;
  roles?: readonly RoleName[];
  config?: Partial<Config>;
}

/** A service on a database and queues of its own. */
interface Started {
  service: Service;
  database: OwnDatabase;
}

/** The services that the files of this worker have in common, by their roles. They end with the worker. */
const common = new Map<string, Promise<Started>>();

/** SOURCES_DIR of these services. A customer's folder has its id as the name. */
export const commonSourcesDir = (): string => join(inject('directory'), `sources-${process.pid}`);

/**
 * The service with these roles that all files of this worker use, one after the other. Other customers are in its database; this file's
 * webhooks are deleted at its end. Call it at the top of the file.
 */
export function useService({ roles = ROLES }: { roles?: readonly RoleName[] } = {}): TestService {
  let started: Started;
  beforeAll(async () => {
    const name = roles.join();
    const starting = common.get(name) ?? start(roles, { sourcesDir: commonSourcesDir() });
    common.set(name, starting);
    started = await starting;
  });
  afterAll(() => started && deleteWebhooks(started.service.runtime));
  return testServiceOf(() => started.service);
}

/** Starts the service on a database and queues of this file's own. Call it at the top of the file. */
export function useOwnService({ roles = ROLES, config }: OwnService): TestService {
  let started: Started;
  beforeAll(async () => {
    started = await start(roles, config);
  });
  afterAll(async () => {
    await started?.service.stop();
    await started?.database.drop();
  });
  return testServiceOf(() => started.service);
}

async function start(roles: readonly RoleName[], config: Partial<Config> = {}): Promise<Started> {
  const database = await createDatabase();
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  const service = await startService({
    config: {
      ...readConfig({
        PORT: '0',
        DATA_DIR: join(inject('directory'), prefix),
        DATABASE_URL: database.url,
        REDIS_URL: inject('redisUrl'),
        SECRET_KEY: randomBytes(32).toString('base64'),
        ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
      }),
      ...config,
    },
    roles,
    log: createLog('silent'),
    announce: () => {},
    prefix,
  });
  return { service, database };
}

/** So that no run, retry or event of a file that has ended reaches the next one. */
async function deleteWebhooks(runtime: Runtime): Promise<void> {
  const { database } = runtime;
  const left = await database.query<{ id: string; customerId: string }[]>(
    "SELECT id, customer_id AS customerId FROM webhooks WHERE status <> 'deleted'",
  );
  for (const webhook of left) {
    await inTransaction(database, (sql) => markDeleted(sql, webhook, async () => {}));
    await wakeChangedWebhook(runtime, webhook.id);
  }
}

function testServiceOf(started: () => Service): TestService {
  return {
    get url() {
      return started().url;
    },
    get opsUrl() {
      return started().opsUrl;
    },
    get runtime() {
      return started().runtime;
    },
    customer: (name = 'Müşteri') => createCustomer(started().runtime, name),
    async call(method, path, options) {
      const url = started().url + path;
      const answer = await callUrl(method, url, options);
      await requireDocumented(url, method, answer);
      return answer;
    },
    callOps: (method, path, options) => callUrl(method, started().opsUrl + path, options),
  };
}

async function callUrl(
  method: string,
  url: string,
  { key, body, type, headers = {} }: CallOptions = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    headers: {
      ...(key === undefined ? {} : { Authentication: key }),
      ...(body === undefined ? {} : { 'Content-Type': type ?? 'application/json' }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    body: isJson && text !== '' ? JSON.parse(text) : text,
  };
}
