import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareMysql } from '../../src/servers/embedded/mysql.ts';
import { provide } from '../../src/servers/embedded/provision.ts';
import { prepareRedis } from '../../src/servers/embedded/redis.ts';
import { type Disk, mountDisk } from './disk.ts';
import type { ClusterFaultKind } from './plan.ts';

const START_LIMIT = 60_000;

/** A Redis or MySQL of the run, or a cluster of them. Only the run itself restarts it. */
export interface ChaosServer {
  url: string;
  /** Of each node of a Redis Cluster. */
  nodeUrls?: readonly string[];
  /** null: it has none. */
  password: string | null;
  /** Starts it if it is not running, and resolves when it answers. */
  start(): Promise<void>;
  /** Sends SIGKILL and waits until it has ended. */
  kill(): Promise<void>;
  /** Sends SIGSTOP: connections stay open, and nothing answers. */
  freeze(): void;
  thaw(): void;
  /** The disk of its data; null: one that it shares with others. */
  disk: Disk | null;
  /** The faults of a cluster. Each resolves when everything runs again. */
  faults: { [kind in ClusterFaultKind]?: (seconds: number) => Promise<Recovery | undefined> };
}

/** How a cluster got over the loss of its primary. */
export interface Recovery {
  /** Milliseconds since 1970 at which writes were possible again, as the cluster's own servers say. */
  writableAt: number;
}

interface Command {
  command: readonly [string, ...string[]];
  socket: string;
  url: string;
  ping: () => Promise<void>;
}

interface Preparation {
  env: Record<string, string>;
  announce: (line: string) => void;
}

const NEEDS_PROGRAMS = 'The fault harness kills servers, and needs them as programs: install';

/** Letters and digits that occur nowhere else, so that a leak can be found by searching. */
const makePassword = (of: string) => `chaos${of}password${Math.random().toString(36).slice(2)}`;

const logOf = (directory: string, name: string) => join(directory, 'logs', `${name}.log`);

/** Prepares one MySQL in `directory`; it does not run before `start`. Missing binaries are installed as the product does. */
export async function prepareOneMysql(
  directory: string,
  { env, announce }: Preparation,
): Promise<ChaosServer> {
  const { mysql } = await provide({ mysql: true, redis: false, install: 'auto', announce });
  if (mysql === undefined || mysql === 'docker') throw new Error(`${NEEDS_PROGRAMS} MariaDB.`);
  const mysqlDir = join(directory, 'data-of-mysql');
  const disk = await mountDisk(mysqlDir);
  const password = makePassword('mysql');
  const socket = join(mysqlDir, 'mysql.sock');
  const command = await prepareMysql(mysqlDir, { binaries: mysql, socket, password });
  return { ...control(command, logOf(directory, 'mysql'), env), password, disk };
}

/** Prepares one Redis in the same way. */
export async function prepareOneRedis(directory: string, { announce }: Preparation): Promise<ChaosServer> {
  const { redis } = await provide({ mysql: false, redis: true, install: 'auto', announce });
  if (redis === undefined || redis === 'docker') throw new Error(`${NEEDS_PROGRAMS} Redis.`);
  const dataDir = join(directory, 'data');
  const password = makePassword('redis');
  const command = prepareRedis(dataDir, { binary: redis, socket: join(dataDir, 'redis.sock'), password });
  return { ...control(command, logOf(directory, 'redis'), {}), password, disk: null };
}

function control(
  { command, socket, url, ping }: Command,
  log: string,
  env: Record<string, string>,
): Omit<ChaosServer, 'password' | 'disk'> {
  const [file, ...args] = command;
  const { PATH = '', HOME = '' } = process.env;
  let child: ReturnType<typeof launch> | null = null;

  function launch() {
    rmSync(socket, { force: true });
    const output = openSync(log, 'a');
    const launched = spawn(file, args, {
      env: { PATH, HOME, LC_ALL: 'C', ...env },
      stdio: ['ignore', output, output],
      // Ctrl-C must reach only the run, which ends its servers itself.
      detached: true,
    });
    closeSync(output);
    return launched;
  }
  const isRunning = () => child !== null && child.exitCode === null && child.signalCode === null;

  return {
    url,
    async start() {
      if (!isRunning()) child = launch();
      const end = performance.now() + START_LIMIT;
      for (;;) {
        const failure = await ping().then(
          () => null,
          (error: unknown) => error,
        );
        if (failure === null) return;
        if (!isRunning() || performance.now() > end) throw new Error(`see ${log}`, { cause: failure });
        await sleep(50);
      }
    },
    async kill() {
      if (child === null || !isRunning()) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    faults: {},
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
  };
}
