import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { compiled } from '../../support/compiled.ts';

/** Starts a program as a process, without the environment of the tests. */
export function spawnProgram(
  program: 'cli/demo' | 'cli',
  args: readonly string[],
  env: Record<string, string>,
): ChildProcess {
  return spawn(process.execPath, [compiled(`src/${program}/main.ts`), ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Waits until it has ended. */
export async function finish(child: ChildProcess) {
  if (child.stdout === null || child.stderr === null) throw new Error('the program has no output to read');
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, stdout, stderr };
}
