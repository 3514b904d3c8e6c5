import { spawn } from 'node:child_process';
import { killGroup, killWithProcess } from './exit-guard.ts';

export interface CommandResult {
  ok: boolean;
  /** Standard output alone. */
  stdout: string;
  /** What both streams said; for people. */
  output: string;
}

/**
 * Runs a program to its end, without a shell and without input. A program that is missing, fails or runs longer than
 * `timeout` milliseconds gives `ok: false`; it never throws.
 * @param path Instead of the PATH of this process, and of the rest of its environment.
 * @param signal Kills the program and all that it has started. It then gives `ok: false` once they have ended.
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
      // A process group of its own, to be killed as a whole.
      detached: signal !== undefined,
    });
    const { pid } = child;
    let release = () => {};
    if (signal !== undefined && pid !== undefined) {
      const kill = () => killGroup(pid);
      const letGo = killWithProcess(pid);
      release = () => {
        signal.removeEventListener('abort', kill);
        letGo();
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
    // Comes after 'error', too; and not before all that it started have closed the streams.
    child.on('close', (code, signalName) => {
      release();
      failure ||= code === 0 ? '' : `${program} ended with ${signalName ?? `exit code ${code}`}`;
      resolve({ ok: failure === '', stdout, output: `${stdout}${stderr}` || failure });
    });
  });
}

/** The end of what a program said, for an error. */
export function lastLines(text: string, count = 15): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
