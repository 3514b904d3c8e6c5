import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { compiled } from './compiled.ts';
import { until } from './until.ts';

export interface ServiceProcess {
  child: ChildProcess;
  /** Its output to stdout and stderr so far. */
  readonly said: string;
  /** The URL of its API. Waits until the process prints it. */
  url(): Promise<string>;
  /** The URL of its operators' listener. Waits until the process prints it. */
  opsUrl(): Promise<string>;
  /** The headers for the console, with the password that the process has made. */
  signIn(): Promise<{ Authorization: string }>;
  /** Sends a signal and waits for the end. @returns the exit code, null when the signal itself ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
  /** Waits for the end. */
  ended(): Promise<number | null>;
}

/**
 * Starts the service as one process, unless `env` has PROCESSES. Of this process's environment it gets only PATH and HOME.
 * @param root the checkout that was compiled. Default: this one.
 */
export function startServiceProcess(
  env: Record<string, string>,
  args: string[] = [],
  entry = 'src/main.ts',
  root?: string,
): ServiceProcess {
  const { PATH = '', HOME = '' } = process.env;
  const one = entry === 'src/main.ts' && args.length === 0 ? { PROCESSES: '1' } : {};
  const child = spawn(process.execPath, [compiled(entry, root), ...args], {
    env: {
      PATH,
      HOME,
      PORT: '0',
      LOG_LEVEL: 'silent',
      ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8',
      ...one,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return followService(child);
}

/** Reads what a service prints. @param child whose stdout and stderr are pipes. */
export function followService(child: ChildProcess): ServiceProcess {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const findInOutput = (pattern: RegExp) =>
    until(
      `an URL in: ${said}`,
      () => {
        if (child.exitCode !== null) throw new Error(`the service ended with ${child.exitCode}: ${said}`);
        return pattern.exec(said)?.[1];
      },
      60_000,
    );
  const exit = once(child, 'exit').then(([code]) => code as number | null);
  return {
    child,
    get said() {
      return said;
    },
    url: () => findInOutput(/API\s+(http:\S+)\/v1/),
    opsUrl: () => findInOutput(/Console\s+(https?:\S+)\/ops/),
    async signIn() {
      const password = await findInOutput(/Sign in as admin with the password (\S+)/);
      return { Authorization: `Basic ${btoa(`admin:${password}`)}` };
    },
    async end(signal) {
      child.kill(signal);
      return exit;
    },
    ended: () => exit,
  };
}
