import { wakeWebhooks } from '../../src/delivery/wake.ts';
import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import { makePending, storeReadHistory } from '../filled-tables.ts';
import { type Installation, pause } from '../installation.ts';
import { requireEqual } from '../load.ts';
import { besideSlowBatches } from '../slow-batches.ts';
import { deleteAll, type Subscriber, steadyLoad, subscribeAll } from '../steady-load.ts';

/** Numbers of healthy webhooks and of those beside them. */
interface Neighbourhood {
  healthy: number;
  hanging: number;
  /** Webhooks with `backlog` pending deliveries each. */
  huge: number;
  backlog: number;
}

/** Single movements per second. In 20 s they are as many as a 99th percentile needs. */
const RATE = 50;
const SECONDS = { smoke: 2, normal: 20 };

/** Pending deliveries of an endpoint that hangs. */
const HANGING_BACKLOG = 100;

/**
 * Milliseconds that a healthy webhook waits from the 202 of a single movement to its receipt, beside webhooks that hang or have
 * a backlog. Baseline: the same movements at the same rate without them.
 */
const figure = (
  about: string,
  sizes: { normal: Neighbourhood; smoke: Neighbourhood },
  more?: (installation: Installation, scale: Scale) => Promise<Round>,
): Figure => ({
  about,
  async prepare(scale: Scale, start) {
    const installation = await start();
    const neighbourhood = sizes[scale === 'smoke' ? 'smoke' : 'normal'];
    const movements = RATE * sized(scale, SECONDS);
    return {
      server: installation.server,
      round: async () => [
        ...(await round(installation, neighbourhood, movements)),
        ...((await more?.(installation, scale)) ?? []),
      ],
      end: () => installation.end(),
    };
  },
});

export const neighbours = figure(
  'how long single movements wait beside 20 webhooks that hang and 5 with a backlog of 50,000, and batches beside slow ones',
  {
    normal: { healthy: 75, hanging: 20, huge: 5, backlog: 50_000 },
    smoke: { healthy: 5, hanging: 2, huge: 1, backlog: 500 },
  },
  besideSlowBatches,
);

export const hanging = figure('how long single movements wait beside 500 webhooks that hang', {
  normal: { healthy: 50, hanging: 500, huge: 0, backlog: 0 },
  smoke: { healthy: 5, hanging: 20, huge: 0, backlog: 0 },
});

async function round(
  installation: Installation,
  neighbourhood: Neighbourhood,
  movements: number,
): Promise<Round> {
  const healthy = await subscribeAll(installation, neighbourhood.healthy, '/timed');
  const load = { rate: RATE, goOn: (sent: number) => sent < movements };
  const alone = await steadyLoad(installation, healthy, load);
  const bad = await startBadNeighbours(installation, neighbourhood);
  const beside = await steadyLoad(installation, healthy, load);
  await deleteAll(installation, [...healthy, ...bad]);
  const { healthy: count, hanging, huge, backlog } = neighbourhood;
  const others = `${hanging} that hang${huge === 0 ? '' : ` and ${huge} with a backlog of ${backlog.toLocaleString('en')}`}`;
  return [
    {
      name: `p99 of ${count} healthy webhooks beside ${others}`,
      unit: 'ms from 202 to receipt',
      part: 0.99,
      times: beside,
      baseline: { name: 'the same without the others', times: alone },
      wanted: { atMost: 1.5 },
    },
  ];
}

/** Starts the webhooks that hang or have a backlog, and resolves when they are at work. */
async function startBadNeighbours(
  installation: Installation,
  { hanging, huge, backlog }: Neighbourhood,
): Promise<Subscriber[]> {
  const { database } = installation.runtime;
  const groups = [
    { count: hanging, path: '/hang', pending: HANGING_BACKLOG },
    { count: huge, path: '/huge', pending: backlog },
  ];
  const bad: Subscriber[] = [];
  for (const { count, path, pending } of groups) {
    if (count === 0) continue;
    const subscribers = await subscribeAll(installation, count, path);
    await storeReadHistory(database, subscribers, count * pending);
    const made = await makePending(
      database,
      subscribers.map(({ webhookId }) => webhookId),
    );
    requireEqual({ expected: count * pending, pending: made });
    bad.push(...subscribers);
  }
  await wakeWebhooks(
    installation.runtime,
    bad.map(({ webhookId }) => webhookId),
    { reread: true },
  );
  await pause(1_000);
  return bad;
}
