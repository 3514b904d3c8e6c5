#!/usr/bin/env node
import { createInterface } from 'node:readline/promises';
import { readClientConfig, readConfig } from '../platform/config.ts';
import { createTerminal, Interruption } from './context.ts';
import { run } from './program.ts';

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => interruption.abort(new Interruption(signal)));

/** Why the output could not be written. */
let outputError: Error | null = null;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of the output may close it early (`| head`), which is no error.
  if (error.code !== 'EPIPE') outputError ??= error;
  interruption.abort();
});

/** @returns whether the answer begins with y. The end of the input and Ctrl-C count as no. */
async function ask(question: string): Promise<boolean> {
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await prompt.question(`${question} [y/N] `, { signal: interruption.signal });
    return /^y/i.test(answer.trim());
  } catch {
    return false;
  } finally {
    prompt.close();
  }
}

const exitCode = await run(process.argv.slice(2), {
  readConfig,
  readClientConfig,
  terminal: createTerminal(process.stdout, process.stderr),
  ask: process.stdin.isTTY ? ask : undefined,
  signal: interruption.signal,
});

// A statement that MySQL never answers would keep the process.
process.stdout.write('', () =>
  // An error of a write is told in the next turn.
  setImmediate(() => {
    if (outputError !== null)
      process.stderr.write(`error: The output could not be written: ${outputError.message}\n`);
    process.exit(outputError === null ? exitCode : 1);
  }),
);
