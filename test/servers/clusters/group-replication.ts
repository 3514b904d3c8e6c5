import { randomBytes, randomUUID } from 'node:crypto';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../../../src/servers/embedded/command.ts';
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
  socketIn,
} from './node.ts';

const FILE = 'group-replication.cnf';

/** Starts three MySQL servers that form a group with a single primary, with ops/mysql/group-replication.cnf. */
export async function startGroupReplication(
  directory: string,
  { mysqld }: { mysqld: string },
): Promise<DatabaseCluster> {
  const password = randomBytes(12).toString('hex');
  const seed = join(directory, 'seed');
  await createDataDirectory(seed, mysqld);
  const identities = createIdentities(NODES);
  const homes = identities.map((_, index) => join(directory, `member-${index + 1}`));
  const ports = await Promise.all(
    homes.map(async () => ({ client: await reservePort(), group: await reservePort() })),
  );
  const groupOptions = [
    `--group-replication-group-name=${randomUUID()}`,
    `--group-replication-group-seeds=${ports.map(({ group }) => `${HOST}:${group}`).join(',')}`,
    '--group-replication-ip-allowlist=127.0.0.0/8',
  ];
  const nodes = ports.map(({ client, group }, index): ClusterNode => {
    const home = homes[index] ?? '';
    prepareFolder(home);
    cpSync(join(seed, 'data'), join(home, 'data'), { recursive: true });
    const server = createServerProcess(home, { file: mysqld, identity: identities[index] ?? null });
    const options = [
      ...optionsOf(FILE, home, client),
      ...DEBIAN,
      ...groupOptions,
      `--server-id=${index + 1}`,
      `--report-host=${HOST}`,
      `--group-replication-local-address=${HOST}:${group}`,
    ];
    let isPrepared = false;
    const node: ClusterNode = {
      port: client,
      socket: socketIn(home),
      async start() {
        if (!isPrepared) {
          isPrepared = true;
          // The group begins, or is joined, when the accounts exist.
          await server.launch([...options, '--group-replication-start-on-boot=OFF']);
          await node.ask(accounts('group-replication.sql', password));
          await node.ask(`SET SQL_LOG_BIN = 0; ${GRANT_PROCESS}`);
          if (index === 0) await node.ask(BEGIN);
          else await node.ask('START GROUP_REPLICATION');
        } else if (!server.isRunning()) await server.launch(options);
        else if ((await stateOf(node)) === 'OFFLINE') {
          // It may be joining by itself just now.
          await node.ask('START GROUP_REPLICATION').catch(() => {});
        }
        const isOnline = async () => (await stateOf(node)) === 'ONLINE';
        await until('the member is online', isOnline, 75_000).catch(async () => {
          // After a crash, the group communication engine of 9.7.4 sometimes does not start. A second start helps.
          await server.kill();
          await server.launch(options);
          await until('the member is online', isOnline, 75_000);
        });
      },
      startWritable: ({ looksForGroup }) =>
        server.launch([
          ...options,
          '--super-read-only=OFF',
          ...(looksForGroup ? [] : ['--group-replication-start-on-boot=OFF']),
        ]),
      kill: server.kill,
      freeze: server.freeze,
      thaw: server.thaw,
      ask: (statement) => askAt(home, statement),
    };
    return node;
  });
  return assembleCluster({
    title: 'MySQL Group Replication',
    nodes,
    password,
    identities,
    groupPorts: ports.map(({ group }) => [group]),
    begin: async () => nodes[0]?.start(),
    takesWrites: async (node) => (await node.ask(IS_PRIMARY)).length > 0,
    countMembers: async (node) => Number((await node.ask(ONLINE))[0]?.number),
  });
}

const BEGIN = `
  SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION;
  SET GLOBAL group_replication_bootstrap_group = OFF`;

const STATE = `
  SELECT member_state AS state FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid`;
const stateOf = async (node: ClusterNode): Promise<unknown> =>
  (await node.ask(STATE).catch(() => []))[0]?.state;

const ONLINE = `
  SELECT COUNT(*) AS number FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'`;

/** The server is the primary, takes writes and reaches a majority. */
const IS_PRIMARY = `
  SELECT 1 FROM performance_schema.replication_group_members m
  WHERE m.member_id = @@server_uuid AND @@super_read_only = 0 AND m.member_role = 'PRIMARY' AND m.member_state = 'ONLINE'
    AND 2 * (SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state <> 'UNREACHABLE')
      > (SELECT COUNT(*) FROM performance_schema.replication_group_members)`;

/** The packaged default of secure-file-priv is a directory that may not exist. X Plugin would open a port. */
const DEBIAN = ['--mysqlx=OFF', '--secure-file-priv=NULL'];

/** Makes the data directory that all members begin with. */
async function createDataDirectory(home: string, mysqld: string): Promise<void> {
  prepareFolder(home);
  const asRoot = process.getuid?.() === 0 ? ['--user=root'] : [];
  const options = ['--no-defaults', `--datadir=${join(home, 'data')}`, ...DEBIAN, ...asRoot];
  const { ok, output } = await runCommand(mysqld, [...options, '--initialize-insecure']);
  if (!ok) throw new Error(`MySQL's data directory cannot be made: ${output.slice(-1_000)}`);
  // Each server has an identity of its own.
  rmSync(join(home, 'data', 'auto.cnf'), { force: true });
}
