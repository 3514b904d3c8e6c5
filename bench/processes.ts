import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A process of the benchmark, with messages both ways. */
export interface Process {
  child: ChildProcess;
  send(message: object): void;
  /** The next message it sends. */
  receive<T>(): Promise<T>;
  /** Sends SIGTERM and waits until it has ended. */
  end(): Promise<void>;
}

let profiles: { directory: string; count: number } | null = null;

/** Makes each process that is started from now on write a CPU profile to this directory when it ends. */
export function profileInto(directory: string): void {
  profiles = { directory, count: 0 };
}

/** Starts a module of this build (`path` relative to this file) as a process. If it ends by itself, this process exits. */
export function startProcess(
  path: string,
  {
    env = {},
    args = [],
    onOutput,
  }: {
    env?: Record<string, string>;
    args?: string[];
    /** Called with its output to stdout, which is dropped otherwise. */
    onOutput?: (text: string) => void;
  } = {},
): Process {
  const child = fork(fileURLToPath(new URL(path, import.meta.url)), args, {
    env: { ...process.env, ...env },
    execArgv: profileOptions(path, args),
    stdio: ['ignore', onOutput === undefined ? 'ignore' : 'pipe', 'inherit', 'ipc'],
  });
  if (onOutput !== undefined) child.stdout?.setEncoding('utf8').on('data', onOutput);
  let ending = false;
  const endWithUs = () => child.kill('SIGKILL');
  process.once('exit', endWithUs);
  child.on('exit', (code) => {
    process.off('exit', endWithUs);
    if (ending) return;
    // Waiting for the messages of an ended process would never end.
    console.error(`${path} ${args.join(' ')} ended by itself with code ${code}`);
    process.exit(1);
  });
  return {
    child,
    send: (message) => void child.send(message),
    async receive<T>() {
      const [message] = await once(child, 'message');
      return message as T;
    },
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      ending = true;
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    },
  };
}

function profileOptions(path: string, args: readonly string[]): string[] {
  if (profiles === null) return [];
  profiles.count += 1;
  const name = [profiles.count, basename(path, '.js'), ...args.filter((arg) => !arg.startsWith('--'))].join(
    '-',
  );
  return ['--cpu-prof', `--cpu-prof-dir=${profiles.directory}`, `--cpu-prof-name=${name}.cpuprofile`];
}
