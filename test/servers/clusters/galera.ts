import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installPackages } from '../../../src/platform/embedded/apt.ts';
import { runCommand } from '../../../src/platform/embedded/command.ts';
import { findFirst } from '../../../src/platform/embedded/provision.ts';
import { reservePort } from '../../support/reserved-port.ts';
import { until } from '../../support/until.ts';
import { createIsolation, type Identity, identities } from './isolation.ts';
import {
  APPLICATION,
  accounts,
  askAt,
  type ClusterNode,
  commonOptions,
  createServerProcess,
  type DatabaseCluster,
  HOST,
  prepareFolder,
} from './node.ts';

const NODES = 3;
const PROVIDER = '/usr/lib/galera/libgalera_smm.so';

/** Starts three MariaDB servers that form a Galera cluster. */
export async function startGalera(
  directory: string,
  { mariadbd, installer }: { mariadbd: string; installer: string },
): Promise<DatabaseCluster> {
  const tools = await Promise.all(['rsync', 'lsof', 'socat'].map((name) => findFirst([name])));
  if (!existsSync(PROVIDER) || tools.includes(null))
    await installPackages(['galera-4', 'rsync', 'lsof', 'socat']);
  const password = randomBytes(12).toString('hex');
  const people = identities(NODES);
  const ports = await Promise.all(
    people.map(async () => ({
      client: await reservePort(),
      group: await reservePort(),
      ist: await reservePort(),
      sst: await reservePort(),
    })),
  );
  const address = `gcomm://${ports.map(({ group }) => `${HOST}:${group}`).join(',')}`;

  const nodes: (ClusterNode & { bootstrap(): Promise<void> })[] = [];
  for (const [index, { client, group, ist, sst }] of ports.entries()) {
    const home = join(directory, `node-${index + 1}`);
    prepareFolder(home);
    await createDataDirectory(home, installer);
    const server = createServerProcess(home, { file: mariadbd, identity: people[index] ?? null });
    const launch = async (...more: string[]) => {
      await server.launch([
        ...commonOptions(home, client),
        '--binlog-format=ROW',
        // A commit is on the other nodes before it is reported, so that it need not be on this node's disk.
        '--innodb-flush-log-at-trx-commit=2',
        '--wsrep-on=ON',
        `--wsrep-provider=${PROVIDER}`,
        `--wsrep-cluster-address=${address}`,
        '--wsrep-cluster-name=ledgerbell',
        `--wsrep-node-name=node-${index + 1}`,
        `--wsrep-node-address=${HOST}`,
        `--wsrep-node-incoming-address=${HOST}:${client}`,
        '--wsrep-sst-method=rsync',
        `--wsrep-sst-receive-address=${HOST}:${sst}`,
        `--wsrep-provider-options=${[
          `gmcast.listen_addr=tcp://${HOST}:${group}`,
          `ist.recv_addr=${HOST}:${ist}`,
          'evs.keepalive_period=PT0.5S',
          'evs.suspect_timeout=PT2S',
          'evs.inactive_timeout=PT4S',
          'evs.install_timeout=PT4S',
        ].join(';')}`,
        ...more,
      ]);
    };
    const node: ClusterNode & { bootstrap(): Promise<void> } = {
      port: client,
      socket: join(home, 'socket'),
      bootstrap: () => launch('--wsrep-new-cluster'),
      async start() {
        if (!server.isRunning()) await launch();
        await until('the node is in sync', () => takesWrites(node), 60_000);
      },
      kill: server.kill,
      freeze: () => server.signal('SIGSTOP'),
      thaw: () => server.signal('SIGCONT'),
      ask: (statement) => askAt(home, statement),
    };
    nodes.push(node);
  }

  const isolation =
    people[0] == null
      ? null
      : await createIsolation(
          people as Identity[],
          ports.map(({ group, ist }) => [group, ist]),
        );
  try {
    const [first, ...others] = nodes;
    await first?.bootstrap();
    await first?.start();
    for (const statement of accounts(password)) await first?.ask(statement);
    for (const node of others) await node.start();
  } catch (error) {
    await Promise.all(nodes.map((node) => node.kill()));
    await isolation?.remove();
    throw error;
  }
  const findPrimary = async (among: readonly ClusterNode[]) => {
    for (const node of among) if (await takesWrites(node)) return node;
    return null;
  };
  return {
    title: 'MariaDB Galera Cluster',
    nodes,
    password,
    url: `mysql://${APPLICATION}:${password}@${nodes.map(({ port }) => `${HOST}:${port}`).join(',')}/ledgerbell`,
    findPrimary,
    primary: () => until('a primary', () => findPrimary(nodes), 60_000),
    cutOff:
      isolation === null
        ? null
        : (cut) => isolation.cutOff(cut.map((node) => nodes.findIndex(({ port }) => port === node.port))),
    async restore() {
      for (const node of nodes) node.thaw();
      await isolation?.reconnect();
      await Promise.all(nodes.map((node) => node.start()));
      await until('all members', async () => (await Promise.all(nodes.map(isComplete))).every(Boolean));
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.kill()));
      await isolation?.remove();
    },
  };
}

const isComplete = async (node: ClusterNode): Promise<boolean> => {
  const [row] = await node.ask("SHOW STATUS LIKE 'wsrep_cluster_size'").catch(() => []);
  return Number(row?.Value) === NODES && (await takesWrites(node));
};

const takesWrites = async (node: ClusterNode): Promise<boolean> => {
  const rows = await node.ask(STATUS).catch(() => []);
  const status = Object.fromEntries(rows.map((row) => [row.Variable_name, row.Value]));
  return status.wsrep_ready === 'ON' && status.wsrep_local_state === '4';
};

const STATUS = "SHOW STATUS WHERE Variable_name IN ('wsrep_ready', 'wsrep_local_state')";

async function createDataDirectory(directory: string, installer: string): Promise<void> {
  const { ok, output } = await runCommand(
    installer,
    [
      '--no-defaults',
      '--datadir=./data',
      '--user=root',
      '--rpm',
      '--skip-test-db',
      '--auth-root-authentication-method=normal',
    ],
    { cwd: directory },
  );
  if (!ok) throw new Error(`MariaDB's data directory cannot be made: ${output.slice(-1_000)}`);
}
