import { randomBytes, randomUUID } from 'node:crypto';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../../../src/platform/embedded/command.ts';
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

const MEMBERS = 3;
const MEMBER_STATE = `
  SELECT member_state AS state, member_role AS role FROM performance_schema.replication_group_members
  WHERE member_id = @@server_uuid`;

/** Starts three MySQL servers that form a group with a single primary. */
export async function startGroupReplication(
  directory: string,
  { mysqld }: { mysqld: string },
): Promise<DatabaseCluster> {
  const password = randomBytes(12).toString('hex');
  const seed = join(directory, 'seed');
  await createSeed(seed, mysqld, password);

  const groupName = randomUUID();
  const people = identities(MEMBERS);
  const ports = await Promise.all(
    people.map(async () => ({ client: await reservePort(), group: await reservePort() })),
  );
  const seeds = ports.map(({ group }) => `${HOST}:${group}`).join(',');
  const nodes = ports.map(({ client, group }, index): ClusterNode & { bootstrap(): Promise<void> } => {
    const home = join(directory, `member-${index + 1}`);
    prepareFolder(home);
    cpSync(join(seed, 'data'), join(home, 'data'), { recursive: true });
    // Each server has an identity of its own.
    rmSync(join(home, 'data', 'auto.cnf'));
    const server = createServerProcess(home, { file: mysqld, identity: people[index] ?? null });
    const launch = () =>
      server.launch([
        ...commonOptions(home, client),
        ...MYSQL_OPTIONS,
        `--server-id=${index + 1}`,
        `--report-host=${HOST}`,
        '--plugin-load-add=group_replication.so',
        `--group-replication-group-name=${groupName}`,
        '--group-replication-start-on-boot=OFF',
        `--group-replication-local-address=${HOST}:${group}`,
        `--group-replication-group-seeds=${seeds}`,
        '--group-replication-ip-allowlist=127.0.0.0/8',
        '--group-replication-recovery-get-public-key=ON',
        // A member that has been silent for 5 s is expelled at once. The default of 5 takes 15 s more.
        '--group-replication-member-expel-timeout=0',
      ]);
    const stateOf = async () => (await askAt(home, MEMBER_STATE))[0]?.state as string | undefined;
    const isOnline = async () => (await stateOf()) === 'ONLINE';
    return {
      port: client,
      socket: join(home, 'socket'),
      async bootstrap() {
        await launch();
        await askAt(home, 'SET GLOBAL group_replication_bootstrap_group = ON');
        await askAt(home, 'START GROUP_REPLICATION');
        await askAt(home, 'SET GLOBAL group_replication_bootstrap_group = OFF');
        await until('the group begins', isOnline, 60_000);
      },
      async start() {
        if (!server.isRunning()) await launch();
        // It may join only when the group has expelled what it was before.
        for (let tries = 0; !(await isOnline()) && tries < 60; tries += 1) {
          // One that was expelled has to leave first.
          if ((await stateOf()) === 'ERROR') await askAt(home, 'STOP GROUP_REPLICATION').catch(() => {});
          await askAt(home, 'START GROUP_REPLICATION').catch(() => {});
          await sleep(1_000);
        }
        await until('the member is online', isOnline, 60_000);
      },
      kill: server.kill,
      freeze: () => server.signal('SIGSTOP'),
      thaw: () => server.signal('SIGCONT'),
      ask: (statement) => askAt(home, statement),
    };
  });

  const isolation =
    people[0] == null
      ? null
      : await createIsolation(
          people as Identity[],
          ports.map(({ group }) => [group]),
        );
  try {
    const [first, ...others] = nodes;
    await first?.bootstrap();
    await Promise.all(others.map((node) => node.start()));
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
    title: 'MySQL Group Replication',
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

/** The server is the primary, and reaches a majority. */
const PRIMARY = `
  SELECT 1 FROM performance_schema.replication_group_members m
  WHERE m.member_id = @@server_uuid AND @@super_read_only = 0 AND m.member_role = 'PRIMARY' AND m.member_state = 'ONLINE'
    AND 2 * (SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state <> 'UNREACHABLE')
      > (SELECT COUNT(*) FROM performance_schema.replication_group_members)`;

const isComplete = async (node: ClusterNode): Promise<boolean> =>
  Number((await node.ask(ONLINE).catch(() => []))[0]?.number) === MEMBERS;

const ONLINE = `
  SELECT COUNT(*) AS number FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'`;

const takesWrites = async (node: ClusterNode): Promise<boolean> =>
  (await node.ask(PRIMARY).catch(() => [])).length > 0;

const MYSQL_OPTIONS = [
  '--mysqlx=OFF',
  '--secure-file-priv=NULL',
  '--gtid-mode=ON',
  '--enforce-gtid-consistency=ON',
  '--log-bin=binary-log',
];

/** Makes the data directory that all members begin with. Their accounts are no transactions of the group. */
async function createSeed(directory: string, mysqld: string, password: string): Promise<void> {
  prepareFolder(directory);
  const [identity = null] = identities(1);
  const options = [...commonOptions(directory, 0), ...MYSQL_OPTIONS];
  const asRoot = identity === null ? [] : ['--user=root'];
  const { ok, output } = await runCommand(mysqld, [...options, '--initialize-insecure', ...asRoot]);
  if (!ok) throw new Error(`MySQL's data directory cannot be made: ${output.slice(-1_000)}`);
  const server = createServerProcess(directory, { file: mysqld, identity });
  await server.launch([...options, '--skip-networking']);
  for (const statement of [
    ...accounts(password),
    `GRANT SELECT ON performance_schema.replication_group_members TO '${APPLICATION}'@'%'`,
    `CREATE USER 'recovery'@'%' IDENTIFIED BY '${password}'`,
    "GRANT REPLICATION SLAVE, BACKUP_ADMIN, CONNECTION_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO 'recovery'@'%'",
    `CHANGE REPLICATION SOURCE TO SOURCE_USER = 'recovery', SOURCE_PASSWORD = '${password}'
      FOR CHANNEL 'group_replication_recovery'`,
    'RESET BINARY LOGS AND GTIDS',
  ]) {
    await askAt(directory, statement);
  }
  await askAt(directory, 'SHUTDOWN');
  await until('MySQL has ended', () => !server.isRunning(), 60_000);
}
