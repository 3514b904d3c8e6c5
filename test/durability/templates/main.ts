import { parseArgs } from 'node:util';
import { runTemplates } from './run.ts';

/** `npm run chaos:templates -- --customers N --seed S`: a fault run of a webhook template, with a customer for each of its webhooks. */

const USAGE =
  'npm run chaos:templates -- [--customers N] [--few N] [--probes N] [--seed S] [--wait SECONDS] [--hurry] [--keep]';

const { values } = parseArgs({
  options: {
    customers: { type: 'string', default: '10000' },
    few: { type: 'string', default: '200' },
    probes: { type: 'string', default: '4' },
    seed: { type: 'string', default: '1' },
    wait: { type: 'string', default: '300' },
    hurry: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const { hurry, keep } = values;
const [customers, few, probes, seed, waitLimit] = [
  ...[values.customers, values.few, values.probes, values.seed, values.wait].map(Number),
] as [number, number, number, number, number];
const isUsable = [customers, few, probes, seed, waitLimit].every((it) => it > 0) && few <= customers;
if (values.help || !isUsable) {
  process.stderr.write(`${USAGE}\n`);
  process.exit(values.help ? 0 : 1);
}

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
const { table, findings } = await runTemplates({
  ...{ seed, customers, few, probes, hurry, waitLimit, keep },
  announce: (line) => process.stderr.write(`${line}\n`),
  signal: interrupted.signal,
});
process.stdout.write(`\n${table}\n\n${findings.join('\n')}\n`);
process.exit(findings.length === 0 ? 0 : 1);
