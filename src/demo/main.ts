import { parseArgs } from 'node:util';
import { explain, Failure } from '../cli/failure.ts';
import { readConfig } from '../config.ts';
import { runDemo } from './demo.ts';
import { chooseConfig } from './demo-config.ts';
import { createScreen } from './screen.ts';

const interruption = new AbortController();
const interrupt = () => interruption.abort(new Failure('Interrupted.'));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);

// The reader of the output may close it early (`| head`).
process.stdout.on('error', interrupt);

const screen = createScreen(process.stdout);
try {
  const { values } = parseArgs({ options: { once: { type: 'boolean', default: false } } });
  const config = await chooseConfig(readConfig());
  const succeeded = await runDemo({ config, once: values.once, screen, signal: interruption.signal });
  process.exitCode = succeeded ? 0 : 1;
} catch (error) {
  screen.failed(explain(error));
  process.exitCode = 1;
}
