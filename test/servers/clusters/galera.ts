import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../../../src/servers/embedded/command.ts';
import { findFirst, installPackages } from '../../../src/servers/embedded/provision.ts';
import { reservePort } from '../../support/reserved-port.ts';
import { until } from '../../support/until.ts';
import { createIdentities } from './isolation.ts';
import {
  accounts,
  askAt,
  assembleCluster,
  type ClusterNode,
  createServerProcess,
  type DatabaseCluster,
  GRANT_PROCESS,
  HOST,
  NODES,
  optionsOf,
  prepareFolder,
  readOps,
  socketIn,
} from './node.ts';

const PROVIDER = '/usr/lib/galera/libgalera_smm.so';
const TOOLS = ['rsync', 'lsof', 'socat'];

/** Starts three MariaDB servers that form a Galera cluster, with ops/mysql/galera.cnf. */
export async function startGalera(
  directory: string,
  { mariadbd, installer }: { mariadbd: string; installer: string },
): Promise<DatabaseCluster> {
  const tools = await Promise.all(TOOLS.map((name) => findFirst([name])));
  if (!existsSync(PROVIDER) || tools.includes(null)) await installPackages(['galera-4', ...TOOLS]);
  const password = randomBytes(12).toString('hex');
  const identities = createIdentities(NODES);
  const homes = identities.map((_, index) => join(directory, `node-${index + 1}`));
  const ports = await Promise.all(
    homes.map(async () => ({
      client: await reservePort(),
      group: await reservePort(),
      ist: await reservePort(),
      sst: await reservePort(),
    })),
  );
  const address = `gcomm://${ports.map(({ group }) => `${HOST}:${group}`).join(',')}`;
  const providerOptions = /^wsrep-provider-options = "(.*)"$/m.exec(readOps('galera.cnf'))?.[1];
  const first: string[] = ['--wsrep-new-cluster'];

  const nodes = ports.map(({ client, group, ist, sst }, index): ClusterNode => {
    const home = homes[index] ?? '';
    const server = createServerProcess(home, { file: mariadbd, identity: identities[index] ?? null });
    const options = [
      ...optionsOf('galera.cnf', home, client),
      `--wsrep-cluster-address=${address}`,
      `--wsrep-node-name=node-${index + 1}`,
      `--wsrep-node-address=${HOST}`,
      `--wsrep-node-incoming-address=${HOST}:${client}`,
      `--wsrep-sst-receive-address=${HOST}:${sst}`,
      `--wsrep-provider-options=${providerOptions};gmcast.listen_addr=tcp://${HOST}:${group};ist.recv_addr=${HOST}:${ist}`,
    ];
    const node: ClusterNode = {
      port: client,
      socket: socketIn(home),
      async start() {
        if (!server.isRunning()) await server.launch([...options, ...first.splice(0)]);
        await until('the node is in sync', () => takesWrites(node).catch(() => false), 60_000);
      },
      startWritable: () => server.launch(options),
      kill: server.kill,
      freeze: server.freeze,
      thaw: server.thaw,
      ask: (statement) => askAt(home, statement),
    };
    return node;
  });
  for (const home of homes) {
    prepareFolder(home);
    await createDataDirectory(home, installer);
  }
  return assembleCluster({
    title: 'MariaDB Galera Cluster',
    nodes,
    password,
    identities,
    groupPorts: ports.map(({ group, ist }) => [group, ist]),
    async begin() {
      await nodes[0]?.start();
      await nodes[0]?.ask(accounts('galera.sql', password));
      await nodes[0]?.ask(GRANT_PROCESS);
    },
    takesWrites,
    countMembers: async (node) =>
      (await takesWrites(node)) ? Number((await statusOf(node)).wsrep_cluster_size) : 0,
  });
}

async function statusOf(node: ClusterNode): Promise<Record<string, string | undefined>> {
  const rows = await node.ask("SHOW STATUS LIKE 'wsrep_%'");
  return Object.fromEntries(rows.map((row) => [row.Variable_name, row.Value]));
}

async function takesWrites(node: ClusterNode): Promise<boolean> {
  const { wsrep_ready: isReady, wsrep_local_state: state } = await statusOf(node);
  return isReady === 'ON' && state === '4';
}

async function createDataDirectory(home: string, installer: string): Promise<void> {
  const options = ['--no-defaults', '--datadir=./data', '--rpm', '--skip-test-db'];
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : [];
  const { ok, output } = await runCommand(
    installer,
    [...options, ...asRoot, '--auth-root-authentication-method=normal'],
    { cwd: home },
  );
  if (!ok) throw new Error(`MariaDB's data directory cannot be made: ${output.slice(-1_000)}`);
}
