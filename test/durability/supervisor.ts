import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../support/child-processes.ts';
import { spin } from '../support/spin.ts';

const RESTART_AFTER = 1_000;
const END_LIMIT = 12_000;

/** How long a start waits for MySQL and Redis. If they stay unreachable, the process ends and says so. */
const START_PATIENCE = 60_000;

/** @returns after how many seconds a process has ended; null: it still runs after `seconds`. */
async function endsWithin(pid: number, seconds: number): Promise<number | null> {
  for (let second = 0; second < seconds; second += 1) {
    if (!existsSync(`/proc/${pid}`)) return second;
    await sleep(1_000);
  }
  return null;
}

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
  /**
   * Keeps its event loop busy until it has ended. Where the product has a supervisor, this one kills it within `seconds`; elsewhere we do
   * then, as a manager of processes would.
   * @returns a note for the report.
   */
  spin(seconds: number): Promise<string>;
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
    async spin(seconds) {
      const spinning = child;
      if (spinning.pid === undefined) return 'it did not run';
      await spin(spinning.pid, () => readFileSync(log, 'utf8'));
      await endsWithin(spinning.pid, seconds);
      if (spinning !== child || spinning.exitCode !== null || spinning.signalCode !== null)
        return 'it has ended';
      killed = true;
      spinning.kill('SIGKILL');
      return 'nobody watches it, and we killed it';
    },
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
    async spin(seconds) {
      const pid = find();
      if (pid === undefined) return 'it did not run';
      await spin(pid, () => readFileSync(supervisor.log, 'utf8'));
      const ended = await endsWithin(pid, seconds);
      if (ended === null) throw new Error(`${name} does not answer, and was not killed within ${seconds} s`);
      return `killed by its supervisor after ${ended} s`;
    },
    end: async () => '0',
  };
}

const lastLine = (file: string): string => readFileSync(file, 'utf8').trimEnd().split('\n').at(-1) ?? '';
