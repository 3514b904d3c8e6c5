import { parseArgs } from 'node:util';
import type { Figure, Scale } from './figure.ts';
import { deliveries } from './figures/deliveries.ts';
import { imports } from './figures/imports.ts';
import { hanging, neighbours } from './figures/neighbours.ts';
import { summarise, writeReport } from './report.ts';

const FIGURES: Record<string, Figure> = { imports, deliveries, neighbours, hanging };

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string' },
    json: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
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

const results = [];
for (const name of names) {
  const figure = FIGURES[name] as Figure;
  console.error(`${name}: ${figure.about}`);
  const prepared = await figure.prepare(scale);
  try {
    // The first round warms up: just-in-time compilation, pools, buffers.
    if (scale !== 'smoke') await prepared.round();
    const rounds = [];
    for (let i = 0; i < Number(values.rounds ?? (scale === 'smoke' ? 1 : 5)); i += 1) {
      rounds.push(await prepared.round());
    }
    results.push(...summarise(name, rounds));
  } finally {
    await prepared.end();
  }
}
await writeReport(results, { json: values.json, keep: scale !== 'smoke' && values.only === undefined });
