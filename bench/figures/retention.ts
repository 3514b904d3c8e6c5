import type { Removed } from '../../src/upkeep/retention/retention.ts';
import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import { segmentsMade, storeDelivered, storeReadHistory } from '../filled-tables.ts';
import { FIRST_DAY } from '../history.ts';
import type { Installation } from '../installation.ts';
import { requireEqual, subscribe } from '../load.ts';
import { type Process, startProcess } from '../processes.ts';
import { deleteAll, type Subscriber, steadyLoad, subscribeAll } from '../steady-load.ts';

const DAY = 24 * 60 * 60 * 1_000;

/** Of two years of movements, a round removes a fifth of a year. The warm-up and five rounds remove more than a year. */
const DAYS_PER_ROUND = 73;
/** The settings of retention-process.ts. */
const DAYS_KEPT = 90;

/** Movements of two years. Each was delivered to all webhooks of its customer. */
const MOVEMENTS = { smoke: 2_000, normal: 700_000, large: 10_000_000 };
const WEBHOOKS = { smoke: 2, normal: 2, large: 1 };

/** Single movements per second, over the subscribers in turn. */
const RATE = 50;
const SUBSCRIBERS = 50;
/** While nothing is removed, so many are sent. While rows are removed, at least so many. */
const LEAST = { smoke: 20, normal: 2_000, large: 5_000 };

/**
 * Milliseconds that a single movement takes from its 202 to its receipt while maintenance removes old deliveries and movements.
 * Baseline: movements at the same rate while nothing is removed. Which comes first changes with each round.
 */
export const retention: Figure = {
  about: 'how long single movements wait while old deliveries and movements are removed',
  async prepare(scale: Scale, start) {
    // One of its own: what other figures have stored must not be removed.
    const installation = await start({});
    const count = WEBHOOKS[scale];
    await fill(installation, MOVEMENTS[scale], count);
    const remover = startProcess('./retention-process.js');
    let rounds = 0;
    return {
      server: installation.server,
      round() {
        rounds += 1;
        const before = new Date(Date.parse(FIRST_DAY) + rounds * DAYS_PER_ROUND * DAY);
        const least = sized(scale, LEAST);
        return round(installation, {
          remover,
          before,
          webhooks: count,
          least,
          removalFirst: rounds % 2 === 0,
        });
      },
      async end() {
        await remover.end();
        await installation.end();
      },
    };
  },
};

async function fill(installation: Installation, movements: number, webhooks: number): Promise<void> {
  const { database } = installation.runtime;
  const { api_key: key, customer, accountId } = await installation.customer();
  await storeReadHistory(database, [{ customerId: customer.id, accountId }], movements);
  for (let i = 0; i < webhooks; i += 1) {
    const webhook = await subscribe(installation, key, { path: `/old/${i}`, account: accountId });
    await storeDelivered(database, webhook, customer.id, { whenStored: true });
  }
  await segmentsMade(database);
  await database.query('ANALYZE TABLE transactions, deliveries');
}

interface Removal {
  remover: Process;
  /** Older rows are removed. */
  before: Date;
  webhooks: number;
  /** Single movements to send at least. */
  least: number;
  removalFirst: boolean;
}

async function round(installation: Installation, removal: Removal): Promise<Round> {
  const subscribers = await subscribeAll(installation, SUBSCRIBERS, '/timed');
  const alone = () =>
    steadyLoad(installation, subscribers, { rate: RATE, goOn: (sent) => sent < removal.least });
  const first = removal.removalFirst ? null : await alone();
  const beside = await loadBesideRemoval(installation, subscribers, removal);
  const baseline = first ?? (await alone());
  await deleteAll(installation, subscribers);
  return [
    {
      name: 'p99 of single movements while old rows are removed',
      unit: 'ms from 202 to receipt',
      part: 0.99,
      times: beside,
      baseline: { name: 'the same while nothing is removed', times: baseline },
      wanted: { atMost: 1.3 },
    },
  ];
}

/** Sends movements for as long as rows are being removed. @throws when not exactly what is old was removed. */
async function loadBesideRemoval(
  installation: Installation,
  subscribers: readonly Subscriber[],
  { remover, before, webhooks, least }: Removal,
): Promise<number[]> {
  const state = { isRemoving: true };
  const now = new Date(before.getTime() + DAYS_KEPT * DAY).toISOString();
  const removing = remover.receive<Removed>().then((removed) => {
    state.isRemoving = false;
    return removed;
  });
  remover.send({ databaseUrl: installation.databaseUrl, now });
  const times = await steadyLoad(installation, subscribers, {
    rate: RATE,
    goOn: (sent) => state.isRemoving || sent < least,
  });
  const { movements, deliveries } = await removing;
  const [left] = await installation.runtime.database.query<{ movements: string }[]>(
    'SELECT COUNT(*) AS movements FROM transactions WHERE date_readed < ?',
    [before],
  );
  requireEqual({ expected: movements * webhooks, deliveries });
  requireEqual({
    expected: 0,
    'old movements left': Number(left?.movements),
    'none removed': movements === 0 ? 1 : 0,
  });
  return times;
}
