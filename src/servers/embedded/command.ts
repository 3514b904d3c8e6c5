import { spawn } from 'node:child_process';

interface CommandResult {
  ok: boolean;
  /** Only the standard output. */
  stdout: string;
  /** For messages: both streams, or the reason for the failure if they are empty. */
  output: string;
}

/**
 * Runs a program to its end, without a shell and without input. Never rejects. A program that is missing, fails or runs longer than
 * `timeout` milliseconds gives `ok: false`.
 * @param path PATH for the program, which then gets no other environment variables. Default: the environment of this process.
 * @param signal kills the program and everything it has started. The result is `ok: false`, once they have ended.
 */
export function runCommand(
  program: string,
  args: readonly string[],
  {
    cwd,
    timeout = 0,
    path,
    signal,
  }: { cwd?: string; timeout?: number; path?: string | undefined; signal?: AbortSignal | undefined } = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      ...(path === undefined ? {} : { env: { PATH: path } }),
      ...(timeout === 0 ? {} : { timeout }),
      stdio: ['ignore', 'pipe', 'pipe'],
      // The program gets its own process group, so that everything it starts can be killed with it.
      detached: signal !== undefined,
    });
    const { pid } = child;
    let release = () => {};
    if (signal !== undefined && pid !== undefined) {
      const kill = () => killGroup(pid);
      const unguard = killWithProcess(pid);
      release = () => {
        signal.removeEventListener('abort', kill);
        unguard();
      };
      signal.addEventListener('abort', kill);
      if (signal.aborted) kill();
    }
    let [stdout, stderr, failure] = ['', '', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.on('error', (error) => {
      failure = error.message;
    });
    // Also emitted after 'error'. Emitted only when all processes that the program has started have closed the streams.
    child.on('close', (code, signalName) => {
      release();
      failure ||= code === 0 ? '' : `${program} ended with ${signalName ?? `exit code ${code}`}`;
      resolve({ ok: failure === '', stdout, output: `${stdout}${stderr}` || failure });
    });
  });
}

/** The last lines of a program's output, for an error message. */
export function lastLines(text: string, count = 15): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}

const groups = new Set<number>();

/**
 * Kills a child's process group when this process exits without having stopped the child, for example after an uncaught error or
 * when a shutdown takes too long. Has no effect if this process is itself killed.
 * @returns a function that cancels this, for a child that has ended.
 */
export function killWithProcess(group: number): () => void {
  if (groups.size === 0) process.on('exit', killAll);
  groups.add(group);
  return () => {
    groups.delete(group);
    if (groups.size === 0) process.off('exit', killAll);
  };
}

function killAll(): void {
  for (const group of groups) killGroup(group);
}

/** Sends SIGKILL to a process group, if it still exists. */
export function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // The group has ended already.
  }
}
