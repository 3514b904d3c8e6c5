import { parseArgs } from 'node:util';
import type { Figure, Scale, Start } from './figure.ts';
import { backlog } from './figures/backlog.ts';
import { batches } from './figures/batches.ts';
import { cores } from './figures/cores.ts';
import { deliveries } from './figures/deliveries.ts';
import { deliveryQueues } from './figures/delivery-queues.ts';
import { feed } from './figures/feed.ts';
import { fileMemory } from './figures/file-memory.ts';
import { finding } from './figures/finding.ts';
import { firstMovements } from './figures/first-movements.ts';
import { formats } from './figures/formats.ts';
import { growth } from './figures/growth.ts';
import { hostile } from './figures/hostile.ts';
import { imports } from './figures/imports.ts';
import { latency } from './figures/latency.ts';
import { listing } from './figures/listing.ts';
import { maintenance } from './figures/maintenance.ts';
import { manyFiles } from './figures/many-files.ts';
import { memory } from './figures/memory.ts';
import { hanging, neighbours } from './figures/neighbours.ts';
import { outage } from './figures/outage.ts';
import { processes } from './figures/processes.ts';
import { retention } from './figures/retention.ts';
import { scaleOut } from './figures/scale-out.ts';
import { singleMovements } from './figures/single-movements.ts';
import { templates } from './figures/templates.ts';
import { withdrawing } from './figures/withdrawing.ts';
import { startInstallation } from './installation.ts';
import { profileInto } from './processes.ts';
import { renderProfiles } from './profile.ts';
import { writeReport } from './report.ts';
import { createSharedInstallation } from './shared-installation.ts';
import { type Result, summarise } from './summary.ts';

const FIGURES: Record<string, Figure> = {
  imports,
  formats,
  deliveries,
  batches,
  'single-movements': singleMovements,
  processes,
  cores,
  'first-movements': firstMovements,
  neighbours,
  hanging,
  hostile,
  backlog,
  latency,
  feed,
  listing,
  finding,
  memory,
  'file-memory': fileMemory,
  'many-files': manyFiles,
  growth,
  retention,
  withdrawing,
  templates,
  maintenance,
  outage,
  'scale-out': scaleOut,
  'delivery-queues': deliveryQueues,
};

const HELP = `npm run bench -- [options]

Measures Ledgerbell on private servers, with everything that it measures or with some of it.

  --only NAMES        some of it, with commas between: see below
  --rounds N          rounds of each (5)
  --large             more data: growth, retention, withdrawing, file-memory
  --write             also with --only, keep the results in bench/results and bench/README.md
  --json              print the results as JSON
  --smoke             only check that the counts match
  --profile FOLDER    write CPU profiles of the processes
  --database-url URL  measure on your MySQL server
  --help              show this

${listNames(Object.keys(FIGURES))}`;

const values = readOptions();
if (values.help) {
  console.log(HELP);
  process.exit(0);
}
const scale: Scale = values.smoke ? 'smoke' : values.large ? 'large' : 'normal';
const databaseUrl = values['database-url'] ?? (process.env.BENCH_DATABASE_URL || undefined);
const possible = Object.keys(FIGURES).filter(
  (name) => databaseUrl === undefined || FIGURES[name]?.onGivenServer === true,
);
const names = values.only?.split(',') ?? possible;
const unknown = names.find((name) => !possible.includes(name));
if (unknown !== undefined) {
  console.error(
    `--only does not know ${unknown}${databaseUrl === undefined ? '' : ' on a database server of yours'}. It takes, with commas between:`,
  );
  console.error(listNames(possible));
  process.exit(1);
}

if (values.rounds !== undefined && !/^[1-9]\d*$/.test(values.rounds)) {
  console.error('--rounds must be a whole number from 1.');
  process.exit(1);
}

if (values.profile !== undefined) profileInto(values.profile);

// An interrupted run ends its servers and processes too: each has a listener for `exit`. With `once`, a second signal, such as
// the one that `timeout` sends to the whole group, would kill this process before it has ended them.
process.setMaxListeners(0);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

const start: Start = (options) => startInstallation({ databaseUrl, ...options });
const shared = createSharedInstallation(start);
const results: Result[] = [];
try {
  for (const name of names) results.push(...(await measure(name, FIGURES[name] as Figure)));
} finally {
  await shared.end();
}
if (scale === 'smoke' && !values.json)
  console.log(`All counts match: ${names.join(', ')}. Nothing was timed.`);
else {
  const isWhole = scale === 'normal' && values.only === undefined;
  // Profiling slows down what is measured.
  const keep = (isWhole || values.write) && values.profile === undefined;
  await writeReport(results, { json: values.json, keep });
}
if (values.profile !== undefined) console.error((await renderProfiles(values.profile)).join('\n'));

function readOptions() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string' },
        rounds: { type: 'string' },
        json: { type: 'boolean', default: false },
        smoke: { type: 'boolean', default: false },
        large: { type: 'boolean', default: false },
        write: { type: 'boolean', default: false },
        profile: { type: 'string' },
        'database-url': { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    console.error(`${(error as Error).message}. --help lists the options.`);
    process.exit(1);
  }
}

function listNames(names: readonly string[]): string {
  return names.map((name) => `  ${name.padEnd(17)} ${FIGURES[name]?.about}`).join('\n');
}

async function measure(name: string, figure: Figure): Promise<Result[]> {
  console.error(`${name}: ${figure.about}`);
  const prepared = await figure.prepare(scale, scale === 'smoke' ? shared.start : start);
  try {
    // The first round warms up: just-in-time compilation, pools, buffers.
    if (scale !== 'smoke' && figure.rounds === undefined) await prepared.round();
    const rounds = [];
    const count = figure.rounds ?? Number(values.rounds ?? (scale === 'smoke' ? 1 : 5));
    for (let i = 0; i < count; i += 1) rounds.push(await prepared.round());
    return summarise(name, prepared.server, rounds);
  } finally {
    await prepared.end();
  }
}
