import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { extname, join } from 'node:path';
import type { Command } from 'commander';
import { type CommandContext, NegativeAnswer } from '../context.ts';

/** A path and no import, because the demo itself imports the command line. */
const PROGRAM = join(import.meta.dirname, `../demo/main${extname(import.meta.filename)}`);

/** `ledgerbell demo`: runs the demo as a process. It ends when this process is told to end. */
export const defineDemo = (command: Command, { signal }: CommandContext) =>
  command
    .option('--trouble', 'show dead, slow and flapping endpoints, and a failing import and source')
    .option('--once', 'end by itself; the exit code is 0 if everything was received and verified')
    .action(async (options: { trouble?: boolean; once?: boolean }) => {
      const args = (['trouble', 'once'] as const).filter((name) => options[name]).map((name) => `--${name}`);
      const demo = spawn(process.execPath, [...process.execArgv, PROGRAM, ...args], { stdio: 'inherit' });
      signal.addEventListener('abort', () => demo.kill('SIGTERM'));
      const [code] = await once(demo, 'exit');
      if (code !== 0) throw new NegativeAnswer();
    });
