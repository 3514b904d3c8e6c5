import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, inject } from 'vitest';
import { createCustomer, type NewCustomer } from '../../src/customers/customers.ts';
import { type Config, readConfig } from '../../src/platform/config/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { ROLES, type RoleName } from '../../src/platform/roles.ts';
import type { Runtime } from '../../src/platform/runtime.ts';
import { type Service, startService } from '../../src/service.ts';
import { useDatabase } from './database.ts';
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

/** Starts the service on a database and queues of this test file's own. Call it at the top of the file. */
export function useService({
  roles = ROLES,
  config = {},
}: {
  roles?: readonly RoleName[];
  config?: Partial<Config>;
} = {}): TestService {
  const { url } = useDatabase();
  let service: Service;
  beforeAll(async () => {
    const secretKey = randomBytes(32).toString('base64');
    service = await startService({
      config: {
        ...readConfig({
          PORT: '0',
          DATABASE_URL: url,
          REDIS_URL: inject('redisUrl'),
          SECRET_KEY: secretKey,
          ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
        }),
        ...config,
      },
      roles,
      log: createLog('silent'),
      announce: () => {},
      prefix: `test-${randomBytes(6).toString('hex')}`,
    });
  });
  afterAll(() => service?.stop());

  return {
    get url() {
      return service.url;
    },
    get opsUrl() {
      return service.opsUrl;
    },
    get runtime() {
      return service.runtime;
    },
    customer: (name = 'Müşteri') => createCustomer(service.runtime, name),
    async call(method, path, options) {
      const answer = await callUrl(method, service.url + path, options);
      await requireDocumented(service.url + path, method, answer);
      return answer;
    },
    callOps: (method, path, options) => callUrl(method, service.opsUrl + path, options),
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
