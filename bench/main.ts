import { parseArgs } from 'node:util';
import type { Figure, Scale } from './figure.ts';
import { deliveries } from './figures/deliveries.ts';
import { growth } from './figures/growth.ts';
import { imports } from './figures/imports.ts';
import { latency } from './figures/latency.ts';
import { listing } from './figures/listing.ts';
import { memory } from './figures/memory.ts';
import { hanging, neighbours } from './figures/neighbours.ts';
import { scaleOut } from './figures/scale-out.ts';
import { startInstallation } from './installation.ts';
import { profileInto } from './processes.ts';
import { renderProfiles } from './profile.ts';
import { writeReport } from './report.ts';
import { createSharedInstallation } from './shared-installation.ts';
import { type Result, summarise } from './summary.ts';

const FIGURES: Record<string, Figure> = {
  imports,
  deliveries,
  neighbours,
  hanging,
  latency,
  listing,
  memory,
  growth,
  'scale-out': scaleOut,
};

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    json: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
    profile: { type: 'string' },
  },
});
const scale: Scale = values.smoke ? 'smoke' : values.large ? 'large' : 'normal';
const names = values.only?.split(',') ?? Object.keys(FIGURES).filter((name) => FIGURES[name]?.byDefault);
const unknown = names.find((name) => FIGURES[name] === undefined);
if (unknown !== undefined) {
  console.error(`--only does not know ${unknown}. It takes, with commas between:`);
  for (const [name, { about }] of Object.entries(FIGURES)) console.error(`  ${name.padEnd(12)} ${about}`);
  process.exit(1);
}

if (values.rounds !== undefined && !/^[1-9]\d*$/.test(values.rounds)) {
  console.error('--rounds must be a whole number from 1.');
  process.exit(1);
}

if (values.profile !== undefined) profileInto(values.profile);

// Ended in the middle, it ends its servers and processes as well: each of them listens for `exit`.
process.setMaxListeners(0);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const shared = createSharedInstallation();
const results: Result[] = [];
for (const name of names) {
  const figure = FIGURES[name] as Figure;
  console.error(`${name}: ${figure.about}`);
  const prepared = await figure.prepare(scale, scale === 'smoke' ? shared.start : startInstallation);
  try {
    // The first round warms up: just-in-time compilation, pools, buffers.
    if (scale !== 'smoke' && figure.rounds === undefined) await prepared.round();
    const rounds = [];
    const count = figure.rounds ?? Number(values.rounds ?? (scale === 'smoke' ? 1 : 5));
    for (let i = 0; i < count; i += 1) {
      rounds.push(await prepared.round());
    }
    results.push(...summarise(name, rounds));
  } finally {
    await prepared.end();
  }
}
await shared.end();
if (scale === 'smoke' && !values.json)
  console.log(`All counts match: ${names.join(', ')}. Nothing was timed.`);
else {
  // A profile slows down what it looks at.
  const keep = scale === 'normal' && values.only === undefined && values.profile === undefined;
  await writeReport(results, { json: values.json, keep });
}
if (values.profile !== undefined) console.error((await renderProfiles(values.profile)).join('\n'));
