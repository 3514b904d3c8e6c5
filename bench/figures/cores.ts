import { type Figure, type Measured, type Round, type Scale, sized } from '../figure.ts';
import { type Installation, pause } from '../installation.ts';
import { makeMovements, toNdjson } from '../movements.ts';
import { type Process, startProcess } from '../processes.ts';
import { subscribeAll } from '../steady-load.ts';
import { memoryOf } from '../usage.ts';
import { deliver, type Shape, subscribeShapes } from './deliveries.ts';
import { ownPids, processorTime } from './processes.ts';
import { type Group, measureService } from './single-movements.ts';

/** How many processes the supervisor runs. The first is the baseline. On two cores, 2 is the default. */
const PROCESSES = { smoke: [1, 2], normal: [1, 2, 4] };

const SIZES = { smoke: { customers: 3, movements: 200 }, normal: { customers: 20, movements: 8_000 } };

interface Site {
  processes: number;
  installation: Installation;
  group: Group;
  shapes: Shape[];
}

/** The measurements of one site in one round, by their names. */
type Taken = Map<string, { unit: string; value: number; wanted?: Measured['wanted'] }>;

/**
 * The service as `npm start` runs it, with one process, with one per core of a machine with two, and with four: single movements of 20
 * customers, processor time, deliveries of 1 to 100 webhooks, and the memory of all its processes. Baseline: one process.
 */
export const cores: Figure = {
  about: 'single movements/s and deliveries/s of two and four processes of a supervisor, against one process',
  async prepare(scale: Scale, start) {
    const sites: Site[] = [];
    for (const processes of sized(scale, PROCESSES)) {
      const installation = await start({ processes, rateLimit: 0 });
      const { customers, movements } = sized(scale, SIZES);
      const group = { subscribers: await subscribeAll(installation, customers, '/cores'), movements };
      sites.push({ processes, installation, group, shapes: await subscribeShapes(installation, scale) });
    }
    const client = startProcess('./single-client.js');
    return {
      server: sites[0]?.installation.server ?? '',
      async round() {
        const measured: Measured[] = [];
        let one: Taken | null = null;
        for (const site of sites) {
          const taken = await measure(site, client);
          measured.push(...show(site.processes, taken, one));
          one ??= taken;
        }
        return measured satisfies Round;
      },
      async end() {
        await client.end();
        for (const { installation } of sites) await installation.end();
      },
    };
  },
};

async function measure({ installation, group, shapes, processes }: Site, client: Process): Promise<Taken> {
  const taken: Taken = new Map();
  const isDefault = processes === 2;
  const before = await processorTime(installation);
  const { seconds } = await measureService({ installation, client }, group);
  const used = (await processorTime(installation)) - before;
  taken.set('single movements, 20 customers', {
    unit: 'movements/s to the subscriber',
    value: group.movements / seconds,
    ...(isDefault ? { wanted: { atLeast: 1.1 } } : {}),
  });
  taken.set('single movements, processor time', {
    unit: 'µs of the service per movement',
    value: (used * 1_000) / group.movements,
  });
  for (const shape of shapes) {
    const movements = makeMovements(shape.movements, shape.accountId, String(performance.now()));
    const total = shape.movements * shape.webhooks;
    installation.receiver.send({
      secrets: Object.fromEntries(shape.subscribed.map(({ path, secret }) => [path, secret])),
    });
    taken.set(`deliveries, webhooks: ${shape.webhooks}`, {
      unit: 'deliveries/s',
      value: total / (await deliver(installation, shape, toNdjson(movements))),
      ...(isDefault ? { wanted: { atLeast: 1 } } : {}),
    });
  }
  taken.set('memory of all processes', { unit: 'MB', value: await memory(installation) });
  // The next site begins on a quiet machine.
  await pause(200);
  return taken;
}

/** Megabytes of all processes of the service. */
async function memory(installation: Installation): Promise<number> {
  const each = await Promise.all(ownPids(installation).map(memoryOf));
  return each.reduce((sum, { now }) => sum + now, 0);
}

const show = (processes: number, taken: Taken, one: Taken | null): Measured[] =>
  [...taken].map(([name, { unit, value, wanted }]) => ({
    name: `${name}, ${processes === 1 ? 'one process' : `${processes} processes`}`,
    unit,
    value,
    ...(one === null ? {} : { baseline: { name: 'one process', value: one.get(name)?.value ?? 0 } }),
    ...(wanted === undefined ? {} : { wanted }),
  }));
