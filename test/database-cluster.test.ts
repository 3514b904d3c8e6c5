import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createCustomer } from '../src/customers/customers.ts';
import { createDataSource } from '../src/database/data-source.ts';
import { migrate } from '../src/database/migrate.ts';
import { ROLES, readConfig } from '../src/platform/config.ts';
import { createLog } from '../src/platform/log.ts';
import { type EmbeddedServers, startEmbedded } from '../src/servers/embedded.ts';
import { type Service, startService } from '../src/service.ts';
import type { ClusterNode, DatabaseCluster } from './servers/clusters/node.ts';
import { findClusterOfSuite, startCluster } from './servers/clusters/start-cluster.ts';
import { postUntilAnswered, startImportLoad } from './support/import-load.ts';
import { useReceiver } from './support/receiver.ts';
import { until } from './support/until.ts';

/** On MySQL, the cluster is Group Replication; on MariaDB, Galera. */
const name = await findClusterOfSuite();
const CLIENTS = 6;
const CONNECTIONS = "SELECT 1 FROM information_schema.processlist WHERE user = 'ledgerbell'";

describe.skipIf(name === null)(`on a cluster of three servers (${name})`, () => {
  const receiver = useReceiver();
  const secretKey = randomBytes(32).toString('base64');
  const services: Service[] = [];
  let directory: string;
  let cluster: DatabaseCluster;
  let redis: EmbeddedServers;

  async function start(url = cluster.url): Promise<Service> {
    const service = await startService({
      config: readConfig({
        PORT: '0',
        DATABASE_URL: url,
        REDIS_URL: redis.redisUrl ?? '',
        SECRET_KEY: secretKey,
        ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
      }),
      roles: ROLES,
      log: createLog('silent'),
      announce: () => {},
      prefix: `test-${randomBytes(6).toString('hex')}`,
    });
    services.push(service);
    return service;
  }

  /** A customer with an account, and a webhook that the receiver has at `path`. */
  async function prepare(service: Service, path: string) {
    const { api_key: key } = await createCustomer(service.runtime, 'Müşteri');
    const post = (to: string, body: unknown) => postUntilAnswered(service.url + to, key, body);
    const { account } = (await post('/v1/accounts', { bank: 'Akbank', title: 'Kasa', currency: 'TRY' })).body;
    const endpoint = `${receiver.url}${path}`;
    await post('/v1/webhooks', { title: 'ERP', endpoint, event: 'NEW_TRANSACTION', account: 'all' });
    return { key, account: String(account.id) };
  }

  /** Waits until all is delivered, and checks that each movement is stored once, on every node, and was sent once. */
  async function checkAll(path: string, accepted: readonly string[], account: string) {
    const received = () => receiver.at(path).map(({ body }) => JSON.parse(body).description as string);
    await until('all is delivered', () => new Set(received()).size >= accepted.length, 60_000);
    const counts = `
      SELECT COUNT(*) AS number, COUNT(DISTINCT unique_id) AS ids FROM ledgerbell.transactions WHERE account_id = ${account}`;
    for (const node of cluster.nodes)
      await until('a node has everything', async () => {
        // A node that was cut off may not have noticed yet.
        const [row] = await node.ask(counts).catch(() => []);
        return Number(row?.number) === accepted.length && Number(row?.ids) === accepted.length;
      });
    return received();
  }

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'ledgerbell-cluster-'));
    redis = await startEmbedded({
      dataDir: join(directory, 'redis'),
      mysql: false,
      redis: true,
      install: 'auto',
      announce: () => {},
    });
    cluster = await startCluster(name ?? 'galera', directory, { announce: () => {} });
    const database = await createDataSource(cluster.url).initialize();
    await migrate(database);
    await database.destroy();
  }, 240_000);

  afterAll(async () => {
    await Promise.all(services.map((service) => service.stop()));
    await cluster?.stop();
    await redis?.stop();
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  });

  /** Everything that the primary does ends. Resolves when imports have gone on with another one. */
  async function lose(primary: ClusterNode, accepted: readonly string[], act: () => Promise<void>) {
    await act();
    await cluster.successorOf(primary);
    const before = accepted.length;
    await until('imports go on', () => accepted.length > before + 2 * CLIENTS, 30_000);
  }

  it('a pool leaves no connection when it is closed, even while it checks the hosts', async () => {
    for (let i = 0; i < 20; i += 1) {
      const database = await createDataSource(cluster.url).initialize();
      // The first look after the start begins after half a second.
      await sleep(498 + i / 4);
      await database.destroy();
    }
    for (const node of cluster.nodes)
      await until('all connections are closed', async () => (await node.ask(CONNECTIONS)).length === 0);
  });

  it('every movement is stored once and sent while the primary is killed, frozen and cut off under load, without intervention', async () => {
    const service = await start();
    const { key, account } = await prepare(service, '/lost');
    const load = startImportLoad([service.url], { key, account, clients: CLIENTS });
    const { accepted } = load;
    await until('imports', () => accepted.length > CLIENTS);
    const { cutOff } = cluster;
    const ways: ((primary: ClusterNode) => Promise<void>)[] = [
      (primary) => primary.kill(),
      async (primary) => primary.freeze(),
      ...(cutOff === null ? [] : [(primary: ClusterNode) => cutOff([primary])]),
    ];
    for (const way of ways) {
      const primary = await cluster.primary();
      await lose(primary, accepted, () => way(primary));
      await cluster.restore();
    }
    expect(await load.stop()).toEqual([202]);
    const received = await checkAll('/lost', accepted, account);
    expect([...new Set(received)].toSorted()).toEqual(accepted.toSorted());
    // Deliveries in flight when the primary was lost may be sent twice.
    expect(received.length - accepted.length).toBeLessThanOrEqual(ways.length * CLIENTS);
  }, 240_000);

  it.runIf(name === 'galera')(
    'two processes that write to different nodes store each movement once, with ids that increase in commit order',
    async () => {
      const urls = cluster.nodes
        .slice(0, 2)
        .map(({ port }) => cluster.url.replace(/@.*\//, `@127.0.0.1:${port}/`));
      const both = await Promise.all(urls.map((url) => start(url)));
      const [service] = both;
      if (service === undefined) throw new Error('no service');
      const { key, account } = await prepare(service, '/two');
      const load = startImportLoad(
        both.map(({ url }) => url),
        { key, account, clients: CLIENTS },
      );
      // A poller sees everything only if no id is committed after a larger one.
      const seen: string[] = [];
      let newest = '0';
      const poll = async () => {
        const rows = await cluster.nodes[1]?.ask(
          `SELECT CAST(id AS CHAR) AS id, CONVERT(unique_id USING utf8mb4) AS name FROM ledgerbell.transactions
         WHERE account_id = ${account} AND id > ${newest} ORDER BY id`,
        );
        for (const { id, name: uniqueId } of rows ?? []) {
          newest = id;
          seen.push(uniqueId);
        }
      };
      await until('200 imports', async () => {
        await poll();
        return load.accepted.length > 200;
      });
      expect(await load.stop()).toEqual([202]);
      await checkAll('/two', load.accepted, account);
      await poll();
      expect(seen.toSorted()).toEqual(load.accepted.toSorted());
    },
  );

  it.runIf(name === 'group-replication')(
    'a group with several primaries is refused at the start, with the statement that changes it',
    async () => {
      const primary = await cluster.primary();
      await primary.ask('SELECT group_replication_switch_to_multi_primary_mode()');
      try {
        await expect(start()).rejects.toThrow(
          /is in a group with several primaries, and Ledgerbell needs one: SELECT group_replication_switch_to_single_primary_mode\(\)/,
        );
      } finally {
        await primary.ask('SELECT group_replication_switch_to_single_primary_mode()');
      }
    },
  );
});
