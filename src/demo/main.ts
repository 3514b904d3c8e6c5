import { parseArgs } from 'node:util';
import { explain } from '../cli/failure.ts';
import { readConfig } from '../config.ts';
import { runDemo } from './demo.ts';
import { createScreen } from './screen.ts';
import { chooseSettings } from './settings.ts';

const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interruption.abort());

// Whoever reads the output may have seen enough (`| head`).
process.stdout.on('error', () => interruption.abort());

const screen = createScreen(process.stdout);
try {
  const { values } = parseArgs({ options: { once: { type: 'boolean', default: false } } });
  const config = await chooseSettings(readConfig());
  const succeeded = await runDemo({ config, once: values.once, screen, signal: interruption.signal });
  process.exitCode = succeeded ? 0 : 1;
} catch (error) {
  screen.failed(explain(error));
  process.exitCode = 1;
}
