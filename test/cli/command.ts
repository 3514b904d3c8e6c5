import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { createTerminal } from '../../src/cli/context.ts';
import { run } from '../../src/cli/program.ts';
import { readClientConfig, readConfig } from '../../src/platform/config.ts';
import { compiled } from '../support/compiled.ts';

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** The command gets nothing of the tests' environment except PATH and HOME. */
export function spawnCli(
  args: readonly string[],
  env: Record<string, string> = {},
  { stdin = 'ignore' }: { stdin?: 'ignore' | 'pipe' } = {},
): ChildProcess {
  return spawn(process.execPath, [compiled('src/cli/main.ts'), ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: [stdin, 'pipe', 'pipe'],
  });
}

/** Runs one command line of `ledgerbell` in a process of its own, to its end. */
export async function runCli(
  args: readonly string[],
  env: Record<string, string> = {},
  { input }: { input?: string } = {},
): Promise<Finished> {
  const child = spawnCli(args, env, { stdin: input === undefined ? 'ignore' : 'pipe' });
  child.stdin?.end(input);
  if (child.stdout === null || child.stderr === null) throw new Error('the command has no output to read');
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, stdout, stderr };
}

/** The same in this process, for many command lines that are over soon. */
export async function runHere(
  args: readonly string[],
  env: Record<string, string> = {},
  {
    ask,
    signal = new AbortController().signal,
  }: { ask?: (question: string) => Promise<boolean>; signal?: AbortSignal } = {},
): Promise<Finished> {
  const said = { stdout: '', stderr: '' };
  const decoder = new TextDecoder('utf8', { ignoreBOM: true });
  const sink = (name: keyof typeof said) => ({
    write(text: string | Uint8Array, ...rest: unknown[]) {
      said[name] += typeof text === 'string' ? text : decoder.decode(text, { stream: true });
      const written = rest.at(-1);
      if (typeof written === 'function') written();
      return true;
    },
  });
  const code = await run(args, {
    readConfig: () => readConfig(env),
    readClientConfig: () => readClientConfig(env),
    ask,
    terminal: createTerminal(sink('stdout'), sink('stderr')),
    signal,
  });
  return { code, ...said };
}

/** The one JSON document that a command has printed. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape they are about to check.
export function documentOf({ code, stdout, stderr }: Finished): any {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^[^\n]+\n$/);
  return JSON.parse(stdout);
}

/** A command that failed as it should: exit code 1, one line on stderr, nothing on stdout. @returns the line. */
export function reasonOf({ code, stdout, stderr }: Finished): string {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^error: [^\n]+\n$/);
  return stderr.trimEnd();
}
