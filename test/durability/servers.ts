import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { prepareMysql } from '../../src/platform/embedded/mysql.ts';
import { provide } from '../../src/platform/embedded/provision.ts';
import { prepareRedis } from '../../src/platform/embedded/redis.ts';
import { type Disk, mountDisk } from './disk.ts';

const START_LIMIT = 60_000;

/** A Redis or MySQL of the run, or a cluster of them. Only the run itself restarts it. */
export interface ChaosServer {
  url: string;
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
  /** Another server of the cluster becomes the primary or the master. */
  failOver(): Promise<void>;
  /** The same after a crash of the former one, which then comes back. */
  crash(): Promise<void>;
}

const alone = async () => {
  throw new Error('this server is not part of a cluster');
};

interface Command {
  command: readonly [string, ...string[]];
  socket: string;
  url: string;
  ping: () => Promise<void>;
}

/** Prepares both in `directory`; nothing runs before `start`. Missing binaries are installed as the product does. */
export async function prepareServers(
  directory: string,
  { env, announce }: { env: Record<string, string>; announce: (line: string) => void },
): Promise<{ mysql: ChaosServer; redis: ChaosServer }> {
  const { mysql, redis } = await provide({ mysql: true, redis: true, install: 'auto', announce });
  if (mysql === undefined || redis === undefined || mysql === 'docker' || redis === 'docker') {
    throw new Error(
      'The fault harness kills servers, and needs them as programs: install MariaDB and Redis.',
    );
  }
  const dataDir = join(directory, 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  const mysqlDir = join(directory, 'data-of-mysql');
  const disk = await mountDisk(mysqlDir);
  // Letters and digits that occur nowhere else, so that a leak can be found by searching.
  const password = (of: string) => `chaos${of}password${Math.random().toString(36).slice(2)}`;
  const [mysqlPassword, redisPassword] = [password('mysql'), password('redis')];
  const mysqlCommand = await prepareMysql(mysqlDir, {
    binaries: mysql,
    socket: join(mysqlDir, 'mysql.sock'),
    password: mysqlPassword,
  });
  const redisCommand = prepareRedis(dataDir, {
    binary: redis,
    socket: join(dataDir, 'redis.sock'),
    password: redisPassword,
  });
  const log = (name: string) => join(directory, 'logs', `${name}.log`);
  return {
    mysql: { ...control(mysqlCommand, log('mysql'), env), password: mysqlPassword, disk },
    redis: { ...control(redisCommand, log('redis'), {}), password: redisPassword, disk: null },
  };
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
    failOver: alone,
    crash: alone,
    freeze: () => void child?.kill('SIGSTOP'),
    thaw: () => void child?.kill('SIGCONT'),
  };
}
