import { execFile } from 'node:child_process';

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
 */
export function runCommand(
  program: string,
  args: readonly string[],
  { cwd, timeout = 0, path }: { cwd?: string; timeout?: number; path?: string | undefined } = {},
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = execFile(
      program,
      args,
      {
        ...(cwd === undefined ? {} : { cwd }),
        ...(path === undefined ? {} : { env: { PATH: path } }),
        timeout,
        maxBuffer: 64 * 1024 * 1024,
      },
      (error, stdout, stderr) =>
        resolve({ ok: error === null, stdout, output: `${stdout}${stderr}` || (error?.message ?? '') }),
    );
    child.stdin?.end();
  });
}

/** The end of what a program said, for an error. */
export function lastLines(text: string, count = 15): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
