import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import mysql, { type RowDataPacket } from 'mysql2/promise';
import { runCommand } from '../../../src/platform/embedded/command.ts';
import type { Identity } from './isolation.ts';

/** One server of a cluster: a process with a folder, ports and, when root starts it, an account of its own. */
export interface ClusterNode {
  /** Of the clients. */
  port: number;
  socket: string;
  /** Starts the server if it is not running, and resolves when it is a member that is up to date. */
  start(): Promise<void>;
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
  /** The first of these nodes that takes writes, or null. */
  findPrimary(among: readonly ClusterNode[]): Promise<ClusterNode | null>;
  /** Cuts nodes off from all other nodes. Clients still reach them. null: only root may do this. */
  cutOff: ((nodes: readonly ClusterNode[]) => Promise<void>) | null;
  /** Ends cuts and freezes, starts what was killed, and waits until each node has all others as members that are up to date. */
  restore(): Promise<void>;
  stop(): Promise<void>;
}

export const HOST = '127.0.0.1';
export const APPLICATION = 'application';

/** Creates the database, and the account of the application. */
export const accounts = (password: string): string[] => [
  'CREATE DATABASE ledgerbell CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci',
  `CREATE USER '${APPLICATION}'@'%' IDENTIFIED BY '${password}'`,
  `GRANT ALL PRIVILEGES ON ledgerbell.* TO '${APPLICATION}'@'%'`,
  // So that tests find transactions that are half-way, and end connections.
  `GRANT PROCESS ON *.* TO '${APPLICATION}'@'%'`,
];

/** Settings that all of these servers have, as command-line options. */
export const commonOptions = (directory: string, port: number): string[] => [
  '--no-defaults',
  `--datadir=${join(directory, 'data')}`,
  `--tmpdir=${join(directory, 'temporary')}`,
  `--socket=${socketIn(directory)}`,
  `--pid-file=${join(directory, 'pid')}`,
  `--bind-address=${HOST}`,
  `--port=${port}`,
  '--skip-name-resolve',
  '--innodb-buffer-pool-size=64M',
  '--innodb-autoinc-lock-mode=2',
  '--max-connections=300',
  '--character-set-server=utf8mb4',
  '--collation-server=utf8mb4_unicode_ci',
];

const socketIn = (directory: string) => join(directory, 'socket');

/** Makes the folder of a node, for the account that it runs with. */
export function prepareFolder(directory: string): void {
  mkdirSync(join(directory, 'temporary'), { recursive: true });
  // Its account must reach it.
  chmodSync(directory, 0o711);
}

/** Runs a statement as root through the socket of a node. */
export async function askAt(directory: string, statement: string): Promise<RowDataPacket[]> {
  const connection = await mysql.createConnection({
    socketPath: socketIn(directory),
    user: 'root',
    connectTimeout: 2_000,
  });
  connection.on('error', () => {});
  try {
    const [rows] = await connection.query<RowDataPacket[]>({ sql: statement, timeout: 10_000 });
    return rows;
  } finally {
    connection.destroy();
  }
}

/** A server's process, which can be started again. */
export function createServerProcess(
  directory: string,
  { file, identity, env = {} }: { file: string; identity: Identity | null; env?: Record<string, string> },
) {
  let child: ChildProcess | null = null;
  const isRunning = () => child !== null && child.exitCode === null && child.signalCode === null;
  return {
    isRunning,
    /** Resolves when it answers. */
    async launch(options: readonly string[]): Promise<void> {
      if (identity !== null) await runCommand('chown', ['-R', `${identity.uid}:${identity.gid}`, directory]);
      const log = openSync(join(directory, 'log'), 'a', 0o666);
      child = spawn(file, options, {
        ...(identity ?? {}),
        cwd: directory,
        env: { PATH: process.env.PATH, LC_ALL: 'C', HOME: directory, ...env },
        stdio: ['ignore', log, log],
        // Ctrl-C must reach only the command, which ends its servers itself.
        detached: true,
      });
      closeSync(log);
      await once(child, 'spawn');
      const end = performance.now() + 120_000;
      for (;;) {
        const answers = await askAt(directory, 'SELECT 1').then(
          () => true,
          () => false,
        );
        if (answers) return;
        if (!isRunning() || performance.now() > end)
          throw new Error(`The server does not run: see ${join(directory, 'log')}`);
        await sleep(100);
      }
    },
    async kill(): Promise<void> {
      if (child === null || !isRunning()) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    signal: (signal: NodeJS.Signals) => void child?.kill(signal),
  };
}
