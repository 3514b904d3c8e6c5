import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import mysql, { type RowDataPacket } from 'mysql2/promise';
import { runCommand } from '../../../src/servers/embedded/command.ts';
import { until } from '../../support/until.ts';
import { createIsolation, type Identity } from './isolation.ts';

/** One server of a cluster: a process with a folder, ports and, when root starts it, an account of its own. */
export interface ClusterNode {
  /** Of the clients. */
  port: number;
  /** Where root connects without a password. */
  socket: string;
  /** Starts the server if it is not running, and resolves when it takes writes, or says that it follows the one that does. */
  start(): Promise<void>;
  /**
   * Starts the server with the settings of an installation that does not follow docs/production.md, and resolves when it answers. A
   * member of a group of MySQL then takes writes before it has found the group.
   * @param looksForGroup whether it joins by itself. Galera's nodes always do.
   */
  startWritable(options: { looksForGroup: boolean }): Promise<void>;
  /** Sends SIGKILL and waits until it has ended. */
  kill(): Promise<void>;
  freeze(): void;
  thaw(): void;
  /** Runs a statement as root. Fails after ten seconds without an answer. */
  ask(statement: string): Promise<RowDataPacket[]>;
}

/** Three servers, of which one takes the writes. */
export interface DatabaseCluster {
  title: string;
  nodes: readonly ClusterNode[];
  /** Has all hosts, and the account of the application. */
  url: string;
  password: string;
  /** The node that takes writes. Waits up to a minute for one. */
  primary(): Promise<ClusterNode>;
  /** Waits up to a minute until the others have given up a node, and gives the one that takes writes instead of it. */
  successorOf(node: ClusterNode): Promise<ClusterNode>;
  /** Cuts nodes off from all other nodes. Clients still reach them. null: only root may do this. */
  cutOff: ((nodes: readonly ClusterNode[]) => Promise<void>) | null;
  /** Ends cuts and freezes, starts what was killed, and waits until each node has all others as members that are up to date. */
  restore(): Promise<void>;
  stop(): Promise<void>;
}

export const HOST = '127.0.0.1';
export const NODES = 3;

/** Files that operators use too. */
const OPS = join(import.meta.dirname, '../../../ops/mysql');
export const readOps = (file: string): string => readFileSync(join(OPS, file), 'utf8');

/** The statements of a file in ops/mysql/, with the passwords changed. */
export const accounts = (file: string, password: string): string =>
  readOps(file).replaceAll(/'(ledgerbell|recovery)-password'/g, `'${password}'`);

/** For the tests that look for half-way transactions. */
export const GRANT_PROCESS = "GRANT PROCESS ON *.* TO 'ledgerbell'@'%'";

/**
 * The options of a server: those of a file in ops/mysql/, and what several servers on one machine need besides.
 * @param home the folder of the server.
 */
export const optionsOf = (file: string, home: string, port: number): string[] => [
  `--defaults-file=${join(OPS, file)}`,
  `--datadir=${join(home, 'data')}`,
  `--tmpdir=${join(home, 'temporary')}`,
  `--socket=${socketIn(home)}`,
  `--pid-file=${join(home, 'pid')}`,
  `--bind-address=${HOST}`,
  `--port=${port}`,
  '--skip-name-resolve',
  '--innodb-buffer-pool-size=64M',
];

export const socketIn = (home: string): string => join(home, 'socket');

/** Makes the folder of a server, which its account can reach. */
export function prepareFolder(home: string): void {
  mkdirSync(join(home, 'temporary'), { recursive: true });
  chmodSync(home, 0o711);
}

/** Runs statements as root through the socket of a server. */
export async function askAt(home: string, statements: string): Promise<RowDataPacket[]> {
  const connection = await mysql.createConnection({
    socketPath: socketIn(home),
    user: 'root',
    connectTimeout: 2_000,
    multipleStatements: true,
  });
  connection.on('error', () => {});
  try {
    const [rows] = await connection.query<RowDataPacket[]>({ sql: statements, timeout: 10_000 });
    return rows;
  } finally {
    connection.destroy();
  }
}

/** A server's process, which can be started again. */
export function createServerProcess(
  home: string,
  { file, identity }: { file: string; identity: Identity | null },
) {
  let child: ChildProcess | null = null;
  const log = join(home, 'log');
  const isRunning = () => child !== null && child.exitCode === null && child.signalCode === null;
  const signal = (name: NodeJS.Signals) => void child?.kill(name);
  return {
    isRunning,
    /** Resolves when it answers. */
    async launch(options: readonly string[]): Promise<void> {
      if (identity !== null) await runCommand('chown', ['-R', `${identity.uid}:${identity.gid}`, home]);
      const output = openSync(log, 'a', 0o666);
      child = spawn(file, options, {
        ...(identity ?? {}),
        cwd: home,
        env: { PATH: process.env.PATH, LC_ALL: 'C', HOME: home },
        stdio: ['ignore', output, output],
        // Ctrl-C must reach only the command, which ends its servers itself.
        detached: true,
      });
      closeSync(output);
      await once(child, 'spawn');
      const answers = () =>
        askAt(home, 'SELECT 1').then(
          () => true,
          () => !isRunning(),
        );
      await until(`the server answers, see ${log}`, answers, 120_000);
      if (!isRunning()) throw new Error(`The server ended: see ${log}`);
    },
    async kill(): Promise<void> {
      if (child === null || !isRunning()) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  };
}

/**
 * Starts the nodes, the first one alone.
 * @param options.groupPorts of each node, at which the others reach it.
 */
export async function assembleCluster({
  title,
  nodes,
  password,
  identities,
  groupPorts,
  begin,
  takesWrites,
  countMembers,
}: Pick<DatabaseCluster, 'title' | 'nodes' | 'password'> & {
  identities: readonly (Identity | null)[];
  groupPorts: readonly (readonly number[])[];
  /** Starts the first node as a cluster of its own. */
  begin: () => Promise<void>;
  takesWrites: (node: ClusterNode) => Promise<boolean>;
  /** How many members the node sees, itself included. */
  countMembers: (node: ClusterNode) => Promise<number>;
}): Promise<DatabaseCluster> {
  const accounts = identities.filter((it) => it !== null);
  const isolation = accounts.length === 0 ? null : await createIsolation(accounts, groupPorts);
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await isolation?.remove();
  };
  const findPrimary = (among: readonly ClusterNode[]): Promise<ClusterNode> =>
    until(
      'a primary',
      async () => {
        for (const node of among) {
          const members = await countMembers(node).catch(() => 0);
          const isAmong = among === nodes ? members > 0 : members === among.length;
          if (isAmong && (await takesWrites(node).catch(() => false))) return node;
        }
        return null;
      },
      60_000,
    );
  async function restore(): Promise<void> {
    for (const node of nodes) node.thaw();
    await isolation?.reconnect();
    await Promise.all(nodes.map((node) => node.start()));
    const isWhole = async () =>
      (await Promise.all(nodes.map((node) => countMembers(node).catch(() => 0)))).every((it) => it === NODES);
    await until('all nodes are members', isWhole, 120_000);
  }
  try {
    await begin();
    // One after the other: a node that gives its data to another one has no time for a third.
    for (const node of nodes) await node.start();
    await restore();
  } catch (error) {
    await stop();
    throw error;
  }
  const hosts = nodes.map(({ port }) => `${HOST}:${port}`).join(',');
  return {
    title,
    nodes,
    password,
    url: `mysql://ledgerbell:${password}@${hosts}/ledgerbell`,
    primary: () => findPrimary(nodes),
    successorOf: (former) => findPrimary(nodes.filter((node) => node !== former)),
    cutOff: isolation === null ? null : (cut) => isolation.cutOff(cut.map((node) => nodes.indexOf(node))),
    restore,
    stop,
  };
}
