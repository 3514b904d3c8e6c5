import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createCustomer } from '../src/customers/customers.ts';
import { createDataSource } from '../src/database/data-source.ts';
import { migrate } from '../src/database/migrate.ts';
import { skipIds } from '../src/database/skip-ids.ts';
import { ROLES, readConfig } from '../src/platform/config.ts';
import { createLog } from '../src/platform/log.ts';
import { type Service, startService } from '../src/service.ts';
import { postUntilAnswered, startImportLoad } from './support/import-load.ts';
import { movement } from './support/movements.ts';
import { useReceiver } from './support/receiver.ts';
import { type Replication, startReplication } from './support/replication.ts';
import { until } from './support/until.ts';

const CHANGES = 10;
const CLIENTS = 4;

const receiver = useReceiver();
let directory: string;
let replication: Replication;
let service: Service;

const secretKey = randomBytes(32).toString('base64');
const prefix = `test-${randomBytes(6).toString('hex')}`;
const start = (announce: (line: string) => void) =>
  startService({
    config: readConfig({
      PORT: '0',
      DATABASE_URL: replication.url,
      REDIS_URL: inject('redisUrl'),
      SECRET_KEY: secretKey,
      ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
    }),
    roles: ROLES,
    log: createLog('silent'),
    announce,
    prefix,
  });

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ledgerbell-failover-'));
  replication = await startReplication(directory);
  const database = await createDataSource(replication.url).initialize();
  await migrate(database);
  await database.destroy();
  service = await start(() => {});
});

afterAll(async () => {
  await service?.stop();
  await replication?.stop();
  await rm(directory, { recursive: true, force: true });
});

const post = (key: string, path: string, body: unknown) => postUntilAnswered(service.url + path, key, body);

it('every movement is stored once and sent once while primary and replica change roles under load, without a restart', async () => {
  const { api_key: key } = await createCustomer(service.runtime, 'Müşteri');
  const account = (await post(key, '/v1/accounts', { bank: 'Akbank', title: 'Kasa', currency: 'TRY' })).body
    .account.id;
  await post(key, '/v1/webhooks', {
    title: 'ERP',
    endpoint: `${receiver.url}/failover`,
    event: 'NEW_TRANSACTION',
    account: 'all',
  });

  const load = startImportLoad([service.url], { key, account, clients: CLIENTS });
  const { accepted } = load;
  for (let change = 0; change < CHANGES; change += 1) {
    const before = accepted.length;
    await replication.changeRoles();
    // Everything goes on with the new primary before the next change.
    await until('imports go on', () => accepted.length > before + 2 * CLIENTS);
  }
  expect(await load.stop()).toEqual([202]);

  const received = () => receiver.at('/failover').map(({ body }) => JSON.parse(body).description as string);
  await until('all is delivered', () => new Set(received()).size === accepted.length);
  expect(received().toSorted()).toEqual(accepted.toSorted());
  const count = 'SELECT COUNT(*) AS number, COUNT(DISTINCT unique_id) AS ids FROM ledgerbell.transactions';
  const [onPrimary, onReplica] = await replication.compare(count);
  expect(onPrimary).toMatchObject([{ number: accepted.length, ids: accepted.length }]);
  expect(onReplica).toEqual(onPrimary);
}, 180_000);

it('a process that starts while no server accepts writes waits for one that does', async () => {
  await replication.forbidWrites();
  const announced: string[] = [];
  const starting = start((line) => announced.push(line));
  await until('it waits', () => announced.some((line) => /^Waiting for MySQL: .*read-only/.test(line)));
  await replication.allowWrites();
  const other = await starting;
  await other.stop();
});

it('statements go to the host that is not read-only when DATABASE_URL names both', async () => {
  const database = await createDataSource(replication.urlOfBoth).initialize();
  const portOf = async () => {
    const [row] = await database.query<{ port: string }[]>('SELECT @@port AS port');
    return Number(row?.port);
  };
  try {
    const before = await portOf();
    await replication.changeRoles();
    const after = await until('the other one', () =>
      portOf()
        .then((port) => port !== before && port)
        .catch(() => false),
    );
    expect(replication.urlOfBoth).toContain(`:${after}`);
    // A statement that writes succeeds there.
    await skipIds(database);
  } finally {
    await database.destroy();
  }
  await until('the service follows too', () =>
    skipIds(service.runtime.database).then(
      () => true,
      () => false,
    ),
  );
});

it('new movements get ids that nobody has seen after a failover has lost movements and skip-ids has run', async () => {
  const { api_key: key } = await createCustomer(service.runtime, 'Müşteri');
  const account = (await post(key, '/v1/accounts', { bank: 'Akbank', title: 'Kasa', currency: 'TRY' })).body
    .account.id;
  await post(key, '/v1/webhooks', {
    title: 'ERP',
    endpoint: `${receiver.url}/lost`,
    event: 'NEW_TRANSACTION',
    account: 'all',
  });
  const store = (unique_id: string) =>
    post(key, '/v1/imports', {
      transactions: [movement(account, { unique_id, description: unique_id })],
    });
  const received = () =>
    receiver.at('/lost').map(({ body, headers }) => [JSON.parse(body).description, headers['webhook-id']]);
  await store('kept');
  await until('a notification', () => received().length === 1);
  await replication.compare('SELECT 1');
  await replication.cutOff();
  await store('lost');
  await until('its notification', () => received().length === 2);

  await replication.failOver();
  await until(
    'the ids are skipped',
    () =>
      skipIds(service.runtime.database).then(
        () => true,
        () => false,
      ),
    30_000,
  );
  await store('new');
  const idsOf = (wanted: string) =>
    received().flatMap(([description, id]) => (description === wanted ? [id] : []));
  await until('the notification of the new movement', () => idsOf('new').length > 0);
  // What was not recorded before the failover is sent once more, with the same id.
  for (const description of ['kept', 'lost', 'new']) expect(new Set(idsOf(description)).size).toBe(1);
  expect(new Set(received().map(([, id]) => id)).size).toBe(3);
});
