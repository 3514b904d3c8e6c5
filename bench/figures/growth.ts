import { monotonic } from '../clock.ts';
import type { Figure, Measured, Round, Scale, Wanted } from '../figure.ts';
import { pause } from '../installation.ts';
import { askReceiver, markDeliveries, scatteredMovements, send, untilDelivered, untilDone } from '../load.ts';
import { fillSite, PER_ACCOUNT, type Site, type Size } from '../site.ts';

interface Load {
  imports: number;
  /** Movements, each of which is delivered to ten webhooks. */
  deliveries: number;
  singles: number;
}

/** With more stored or pending, the same work should take nearly the same time. */
const SAME: Size['wanted'] = { rate: { atLeast: 0.9 }, time: { atMost: 1.15 } };
/** With many webhooks, some of the work is done for each of them, so it may take 1.3 times as long. */
const NEARLY_SAME: Size['wanted'] = { rate: { atLeast: 0.77 }, time: { atMost: 1.3 } };

const SMALLEST: Size = {
  name: '100,000 movements and 10 webhooks',
  stored: 100_000,
  accounts: 1,
  idle: 0,
  backlog: 0,
  wanted: SAME,
};
const MANY: Record<'normal' | 'large', Size> = {
  normal: { ...SMALLEST, name: '1,000,000 movements', stored: 1_000_000 },
  large: { ...SMALLEST, name: '10,000,000 movements', stored: 10_000_000 },
};
const CROWDED: Size[] = [
  {
    ...SMALLEST,
    name: '10,000 webhooks, 10 of them busy',
    idle: 10_000 - PER_ACCOUNT,
    wanted: NEARLY_SAME,
  },
  { ...SMALLEST, name: '1,000 webhooks, all busy', accounts: 100, wanted: NEARLY_SAME },
  { ...SMALLEST, name: '1,000,000 pending deliveries of others', backlog: 1_000_000 },
];

/** The first size is the baseline of the others. */
const SIZES: Record<Scale, Size[]> = {
  smoke: [
    { ...SMALLEST, stored: 1_000 },
    { name: 'more of everything', stored: 2_000, accounts: 3, idle: 100, backlog: 3_000, wanted: SAME },
  ],
  normal: [SMALLEST, MANY.normal, ...CROWDED],
  large: [SMALLEST, MANY.normal, MANY.large, ...CROWDED],
};
const LOADS: Record<'smoke' | 'normal', Load> = {
  smoke: { imports: 1_000, deliveries: 200, singles: 20 },
  normal: { imports: 20_000, deliveries: 4_000, singles: 120 },
};

/**
 * The same work in installations of different sizes, each compared with the smallest. Measures rows/s of an import that no
 * webhook matches, deliveries/s from the POST of an import to committed results with ten deliveries per movement, the median
 * time from the POST of a single movement to its receipt.
 */
export const growth: Figure = {
  about: 'imports/s, deliveries/s and latency with more stored, more webhooks, and a million pending',
  async prepare(scale: Scale) {
    const sites: Site[] = [];
    for (const size of SIZES[scale]) sites.push(await fillSite(size));
    const load = LOADS[scale === 'smoke' ? 'smoke' : 'normal'];
    return {
      server: sites[0]?.installation.server ?? '',
      round: () => round(sites, load),
      async end() {
        for (const { installation } of sites) await installation.end();
      },
    };
  },
};

async function round(sites: readonly Site[], load: Load): Promise<Round> {
  const measured: Round[number][] = [];
  const [smallest, ...others] = sites;
  if (smallest === undefined) return measured;
  for (const site of others) {
    // Right before each of the others: what else the machine does changes within a minute.
    const baseline = await measure(smallest, load);
    measured.push(...compare(site.size, await measure(site, load), baseline));
  }
  return measured;
}

interface Rates {
  imports: number;
  deliveries: number;
  /** Milliseconds of each single movement. */
  latency: number[];
}

function compare({ name, wanted }: Size, rates: Rates, smallest: Rates): Round {
  const rate = (what: 'imports' | 'deliveries', unit: string, atLeast: Wanted): Measured => ({
    name: `${what}, ${name}`,
    unit,
    value: rates[what],
    baseline: { name: SMALLEST.name, value: smallest[what] },
    wanted: atLeast,
  });
  return [
    rate('imports', 'rows/s', wanted.rate),
    rate('deliveries', 'deliveries/s', wanted.rate),
    {
      name: `latency, ${name}`,
      unit: 'ms, median',
      part: 0.5,
      times: rates.latency,
      baseline: { name: SMALLEST.name, times: smallest.latency },
      wanted: wanted.time,
    },
  ];
}

async function measure(site: Site, load: Load): Promise<Rates> {
  const { installation, key, quiet, watched, webhookIds, size } = site;
  const run = String(Math.round(monotonic()));
  const rows = scatteredMovements(load.imports, [quiet], { run, among: size.stored });
  const importStarted = monotonic();
  await untilDone(installation, key, await send(installation, key, rows), load.imports);
  const importSeconds = (monotonic() - importStarted) / 1_000;

  const mark = await markDeliveries(installation, webhookIds);
  const total = load.deliveries * PER_ACCOUNT;
  const movements = scatteredMovements(load.deliveries, watched, { run, among: size.stored });
  const started = monotonic();
  const importId = await send(installation, key, movements);
  await untilDelivered(installation, mark, total);
  const seconds = (monotonic() - started) / 1_000;
  await untilDone(installation, key, importId, load.deliveries);
  return {
    imports: load.imports / importSeconds,
    deliveries: total / seconds,
    latency: await latencyOf(site, load.singles, run),
  };
}

/** Sends single movements, each after the previous one was received. @returns the milliseconds from POST to receipt. */
async function latencyOf(
  { installation, key, timed, size }: Site,
  singles: number,
  run: string,
): Promise<number[]> {
  const { call, receiver } = installation;
  receiver.send({ reset: true });
  const waits: number[] = [];
  for (const movement of scatteredMovements(singles, [timed], { run, among: size.stored }).split('\n')) {
    const started = monotonic();
    await call(key, 'POST', '/v1/imports', `{"transactions":[${movement}]}`);
    for (;;) {
      const { count, lastAt } = await askReceiver(installation);
      if (count > waits.length) {
        waits.push(lastAt - started);
        break;
      }
      await pause(1);
    }
  }
  return waits;
}
