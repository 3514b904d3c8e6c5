import { type Figure, type Measured, type MeasuredTimes, type Round, type Scale, sized } from '../figure.ts';
import { type Installation, type InstallationOptions, pause } from '../installation.ts';
import { type Process, startProcess } from '../processes.ts';
import { subscribeAll } from '../steady-load.ts';
import { processorTimeOf } from '../usage.ts';
import { type Group, measureService } from './single-movements.ts';

const LAYOUTS: Record<string, InstallationOptions & { byAccount?: boolean }> = {
  'one api, one delivery': {},
  'two api, requests spread over both': { apis: 2 },
  'two api, each customer at one of them': { apis: 2, byAccount: true },
  'four api, requests spread over all': { apis: 4 },
  'two delivery beside one api': { deliveries: 2 },
};
const [ONE = ''] = Object.keys(LAYOUTS);

const SIZES = { smoke: { customers: 3, movements: 200 }, normal: { customers: 20, movements: 8_000 } };

interface Site {
  name: string;
  installation: Installation;
  group: Group;
}

/** The figures of one layout. */
interface Taken {
  rate: number;
  /** Microseconds per movement, of all processes of the service. */
  processorTime: number;
  waits: number[];
}

/**
 * Single movements of 20 customers, 64 requests at a time, as in single-movements, with one, two and four api processes and with two
 * delivery processes. Baseline: one of each.
 */
export const processes: Figure = {
  about: 'single movements/s with two and four api, and with two delivery processes, against one of each',
  async prepare(scale: Scale, start) {
    const sites: Site[] = [];
    for (const [name, { byAccount, ...options }] of Object.entries(LAYOUTS)) {
      const installation = await start({ ...options, rateLimit: 0 });
      const { customers, movements } = sized(scale, SIZES);
      sites.push({
        name,
        installation,
        group: {
          subscribers: await subscribeAll(installation, customers, '/processes'),
          movements,
          ...(byAccount === undefined ? {} : { byAccount }),
        },
      });
    }
    const client = startProcess('./single-client.js');
    // Each process has to be as warm as the only one: with four api, each gets a quarter of the requests.
    for (const { name, installation, group } of sites)
      for (let i = 0; i < sized(scale, { smoke: 0, normal: processesOf(name) }); i += 1)
        await measureService({ installation, client }, group);
    return {
      server: sites[0]?.installation.server ?? '',
      async round() {
        const measured: Round[number][] = [];
        let one: Taken | null = null;
        for (const site of sites) {
          const taken = await measure(site, client);
          measured.push(...show(site.name, taken, one));
          one ??= taken;
        }
        return measured;
      },
      async end() {
        await client.end();
        for (const { installation } of sites) await installation.end();
      },
    };
  },
};

const processesOf = (layout: string): number => {
  const { apis = 1, deliveries = 1 } = LAYOUTS[layout] ?? {};
  return Math.max(apis, deliveries);
};

async function measure({ installation, group }: Site, client: Process): Promise<Taken> {
  const before = await processorTime(installation);
  const { seconds, waits } = await measureService({ installation, client }, group);
  const used = (await processorTime(installation)) - before;
  // The next layout begins on a quiet machine.
  await pause(200);
  return { rate: group.movements / seconds, processorTime: (used * 1_000) / group.movements, waits };
}

/** The processes of the service, without its servers. */
export const ownPids = ({ pids }: Installation): number[] =>
  Object.entries(pids)
    .filter(([name]) => name !== 'redis' && name !== 'mysql')
    .map(([, pid]) => pid);

/** Milliseconds of all processes of the service. */
export async function processorTime(installation: Installation): Promise<number> {
  const times = await Promise.all(ownPids(installation).map(processorTimeOf));
  return times.reduce((sum, time) => sum + time, 0);
}

function show(layout: string, { rate, processorTime, waits }: Taken, one: Taken | null): Round {
  const baseline = <T extends object>(value: T) =>
    one === null ? {} : { baseline: { name: ONE, ...value } };
  const isApi = layout !== ONE && layout.includes('spread');
  const atLeast = layout.startsWith('four') ? 0.95 : 1;
  const rates: Measured = {
    name: `single movements, ${layout}`,
    unit: 'movements/s to the subscriber',
    value: rate,
    ...baseline({ value: one?.rate ?? 0 }),
    ...(isApi ? { wanted: { atLeast } } : {}),
  };
  const times: Measured = {
    name: `${rates.name}, processor time`,
    unit: 'µs of the service per movement',
    value: processorTime,
    ...baseline({ value: one?.processorTime ?? 0 }),
    ...(isApi ? { wanted: { atMost: 1.15 } } : {}),
  };
  const p99: MeasuredTimes = {
    name: `${rates.name}, p99 of the 202`,
    unit: 'ms from request to answer',
    part: 0.99,
    times: waits,
    ...baseline({ times: one?.waits ?? [] }),
    ...(isApi ? { wanted: { atMost: 1.3 } } : {}),
  };
  return [rates, times, p99];
}
