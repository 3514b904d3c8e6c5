import { parseArgs } from 'node:util';
import { measureDeliveries } from './figures/deliveries.ts';
import { measureImports } from './figures/imports.ts';
import { measureNeighbours } from './figures/neighbours.ts';
import { startInstallation } from './installation.ts';

const FIGURES = {
  imports: { measure: measureImports, unit: 'rows/s', baseline: 'raw multi-row INSERTs on one connection' },
  deliveries: {
    measure: measureDeliveries,
    unit: 'deliveries/s',
    baseline: 'bare undici loop that signs and posts',
  },
  neighbours: {
    measure: measureNeighbours({ healthy: 75, hanging: 20, huge: 5, backlog: 50_000 }),
    unit: 'ms (99th percentile of 202 to receipt)',
    baseline: 'the same healthy webhooks without the 20 that hang and the 5 that owe 50,000 each',
  },
  hanging: {
    measure: measureNeighbours({ healthy: 50, hanging: 500, huge: 0, backlog: 0 }),
    unit: 'ms (99th percentile of 202 to receipt)',
    baseline: 'the same 50 healthy webhooks without the 500 that hang',
  },
};

/** What is measured when nothing is named: the others take minutes each. */
const DEFAULT_FIGURES = ['imports', 'deliveries'];

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
});
const wanted = Object.entries(FIGURES).filter(([name]) =>
  values.only === undefined ? DEFAULT_FIGURES.includes(name) : values.only === name,
);
if (wanted.length === 0) {
  console.error(`--only takes one of ${Object.keys(FIGURES).join(', ')}.`);
  process.exit(1);
}

const results = [];
for (const [name, { measure, unit, baseline }] of wanted) {
  const installation = await startInstallation();
  try {
    // Each round measures the figure and its baseline one after the other: the machine's moods hit both.
    const rounds = [];
    await measure(installation);
    for (let i = 0; i < Number(values.rounds); i += 1) rounds.push(await measure(installation));
    results.push({
      name,
      unit,
      baseline,
      rate: spread(rounds.map((round) => round.rate)),
      baselineRate: spread(rounds.map((round) => round.baseline)),
      ratio: spread(rounds.map((round) => round.rate / round.baseline)),
    });
  } finally {
    await installation.end();
  }
}

if (values.json) console.log(JSON.stringify({ results }, null, 2));
else {
  for (const { name, unit, baseline, rate, baselineRate, ratio } of results) {
    console.log(`${name}: ${show(rate, 0)} ${unit}`);
    console.log(`  baseline (${baseline}): ${show(baselineRate, 0)} ${unit}`);
    console.log(`  ratio: ${show(ratio, 2)}`);
  }
}

interface Spread {
  median: number;
  min: number;
  max: number;
}

function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  return { median: at(Math.floor(sorted.length / 2)), min: at(0), max: at(sorted.length - 1) };
}

function show({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
}
