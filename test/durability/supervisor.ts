import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { childrenOf } from '../support/child-processes.ts';

const RESTART_AFTER = 1_000;
const END_LIMIT = 12_000;

/** How long a start waits for MySQL and Redis. If they stay unreachable, the process ends and says so. */
const START_PATIENCE = 60_000;

/** A process that is started again about a second after it has ended, as systemd or Docker would do. */
export interface Supervised {
  name: string;
  /** Of the process that runs now. */
  readonly pid: number | undefined;
  /** The file with its output. */
  log: string;
  /** Each time it ended and how, except when we killed it or a start gave up waiting. */
  readonly ownEnds: readonly string[];
  kill(): void;
  stop(): void;
  cont(): void;
  /** Sends SIGTERM, and SIGKILL after 12 s. It is not started again. @returns how it ended. */
  end(): Promise<string>;
}

/** @param args arguments of Node: the program, and its own arguments. */
export function supervise(
  name: string,
  args: readonly string[],
  { env, log }: { env: Record<string, string>; log: string },
): Supervised {
  const { PATH = '', HOME = '' } = process.env;
  const ownEnds: string[] = [];
  let ending = false;
  let killed = false;
  let restart: NodeJS.Timeout | undefined;
  let child = launch();

  function launch(): ChildProcess {
    const output = openSync(log, 'a');
    const launched = spawn(process.execPath, args, {
      env: { PATH, HOME, ...env },
      stdio: ['ignore', output, output],
      detached: true,
    });
    closeSync(output);
    killed = false;
    const launchedAt = performance.now();
    launched.once('exit', (code, signal) => {
      if (ending) return;
      const gaveUp =
        performance.now() - launchedAt >= START_PATIENCE &&
        lastLine(log).startsWith('Ledgerbell cannot start:');
      if (!killed && !gaveUp)
        ownEnds.push(`${name} ended with ${signal ?? code} at ${new Date().toISOString()}`);
      restart = setTimeout(() => {
        child = launch();
      }, RESTART_AFTER);
    });
    return launched;
  }

  return {
    name,
    get pid() {
      return child.pid;
    },
    log,
    ownEnds,
    kill() {
      killed = true;
      child.kill('SIGKILL');
    },
    stop: () => void child.kill('SIGSTOP'),
    cont: () => void child.kill('SIGCONT'),
    async end() {
      ending = true;
      clearTimeout(restart);
      if (child.exitCode !== null || child.signalCode !== null) return 'was not running';
      const exit = once(child, 'exit');
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), END_LIMIT);
      const [code, signal] = await exit;
      clearTimeout(timer);
      return String(signal ?? code);
    },
  };
}

/**
 * A process that the product's own supervisor has started. It ends with it.
 * @param name as the product calls it, such as api-1.
 */
export function processOf(supervisor: Supervised, name: string): Supervised {
  const find = () => childrenOf(supervisor.pid, name)[0];
  // Its supervisor may be killed while it is stopped.
  let stopped: number | undefined;
  const send = (pid: number | undefined, signal: NodeJS.Signals) => {
    if (pid !== undefined && existsSync(`/proc/${pid}`)) process.kill(pid, signal);
  };
  return {
    name,
    get pid() {
      return find();
    },
    log: supervisor.log,
    get ownEnds() {
      const lines = readFileSync(supervisor.log, 'utf8').split('\n');
      return lines.filter((line) => line.startsWith(`${name} ended`) && !line.includes('SIGKILL'));
    },
    kill: () => send(find(), 'SIGKILL'),
    stop() {
      stopped = find();
      send(stopped, 'SIGSTOP');
    },
    cont: () => send(stopped, 'SIGCONT'),
    end: async () => '0',
  };
}

const lastLine = (file: string): string => readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
