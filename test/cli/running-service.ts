import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { ROLES, readConfig } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { type Service, startService } from '../../src/service.ts';
import { newDataDir } from '../support/data-dir.ts';
import { useDatabase } from '../support/database.ts';
import { movement } from '../support/movements.ts';
import { type Answering, useReceiver } from '../support/receiver.ts';
import { useRedisDatabase } from '../support/redis-database.ts';
import { documentOf, runCli, runHere } from './command.ts';

/** A receiver's answer with a status and no body. */
export const answering =
  (status: number): Answering =>
  (_received, response) =>
    response.writeHead(status).end();

/**
 * Starts the service for commands, with a customer that has an account. Call it at the top of the file.
 * @param variables further ones of its environment.
 */
export function useRunningService(variables: Record<string, string> = {}) {
  const { database, url } = useDatabase();
  const receiver = useReceiver();
  const environment = {
    PORT: '0',
    DATA_DIR: newDataDir(),
    DATABASE_URL: url,
    REDIS_URL: useRedisDatabase(),
    SECRET_KEY: randomBytes(32).toString('base64'),
    ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
    ...variables,
  };

  let service: Service;
  let customer: { id: string; key: string; account: string };
  const start = async (port: string) => {
    const config = readConfig({ ...environment, PORT: port });
    service = await startService({ config, roles: ROLES, log: createLog('silent'), announce: () => {} });
  };
  beforeAll(async () => {
    await start(environment.PORT);
    customer = await createCustomer();
  });
  afterAll(() => service?.stop());

  /** The environment of a client with an API key of the customer. */
  const clientEnvironment = () => ({ LEDGERBELL_API_KEY: customer.key, LEDGERBELL_URL: service.url });
  const asOperator = (...args: string[]) => runHere(args, environment);
  const withKey = (...args: string[]) => runHere(args, clientEnvironment());

  async function createCustomer() {
    const made = documentOf(await asOperator('customers', 'create', '--name', 'Örnek', '--json'));
    const id = String(made.customer.id);
    const args = ['--bank', 'Ziraat', '--title', 'Ana', '--currency', 'TRY', '--json'];
    const { account } = documentOf(await asOperator('accounts', 'create', '--customer', id, ...args));
    return { id, key: made.api_key as string, account: String(account.id) };
  }

  async function createWebhook(path: string): Promise<string> {
    const args = [
      '--title',
      path,
      '--endpoint',
      `${receiver.url}${path}`,
      '--customer',
      customer.id,
      '--json',
    ];
    return String(documentOf(await asOperator('webhooks', 'create', ...args)).webhook.id);
  }

  /** A movement that no other test has sent. */
  const newMovement = () => JSON.stringify(movement(customer.account, { unique_id: randomUUID() }));

  async function importMovements(count: number) {
    const rows = Array.from({ length: count }, newMovement);
    const args = ['import', '-', '--format', 'ndjson', '--json'];
    return documentOf(await runCli(args, clientEnvironment(), { input: rows.join('\n') })).import;
  }

  return {
    database,
    receiver,
    environment,
    get url() {
      return service.url;
    },
    /** Ends the service. @returns what starts it again, on the same port. */
    async end(): Promise<() => Promise<void>> {
      const { port } = new URL(service.url);
      await service.stop();
      return () => start(port);
    },
    get opsUrl() {
      return service.opsUrl;
    },
    get customer() {
      return customer;
    },
    asOperator,
    withKey,
    createCustomer,
    createWebhook,
    newMovement,
    importMovements,
  };
}
