import { parseArgs } from 'node:util';
import { readConfig } from '../../platform/config.ts';
import { explain, Failure } from '../context.ts';
import { runDemo } from './demo.ts';
import { chooseConfig } from './demo-config.ts';
import { createScreen } from './screen.ts';
import { runTroubleDemo } from './trouble-demo.ts';

const HELP = `npm run demo -- [options]

Starts Ledgerbell with its own servers, imports a bank statement, and checks every notification that comes out.
Then it stays up until Ctrl-C.

  --trouble  something to look at for operators: a dead, a slow and a flapping endpoint, a failing import and a
             failing source beside healthy ones, with a movement every second
  --once     ends by itself, with exit code 0 if everything was received and verified, or with --trouble if all
             of it was seen, else with 1
  --help     shows this`;

const interruption = new AbortController();
const interrupt = () => interruption.abort(new Failure('Interrupted.'));
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);

// The reader of the output may close it early (`| head`).
process.stdout.on('error', interrupt);

const screen = createScreen(process.stdout);
try {
  const { once, trouble, help } = readOptions();
  if (help) {
    process.stdout.write(`${HELP}\n`);
  } else {
    const config = await chooseConfig(readConfig(), trouble ? 'trouble' : 'demo');
    const run = trouble ? runTroubleDemo : runDemo;
    const succeeded = await run({ config, once, screen, signal: interruption.signal });
    process.exitCode = succeeded ? 0 : 1;
  }
} catch (error) {
  screen.failed(explain(error));
  process.exitCode = 1;
}

function readOptions() {
  const { values } = parseArgs({
    options: {
      once: { type: 'boolean', default: false },
      trouble: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return values;
}
