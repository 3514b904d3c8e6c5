#!/usr/bin/env node
import { readConfig } from '../config.ts';
import { run } from './program.ts';
import { createTerminal } from './terminal.ts';

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort());

// The reader of the output may close it early (`| head`).
process.stdout.on('error', () => interruption.abort());

process.exitCode = await run(process.argv.slice(2), {
  readConfig,
  terminal: createTerminal(process.stdout, process.stderr),
  signal: interruption.signal,
});
