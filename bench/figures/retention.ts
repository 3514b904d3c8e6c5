import type { Removed } from '../../src/upkeep/retention/retention.ts';
import { monotonic } from '../clock.ts';
import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import { segmentsMade, storeDelivered, storeReadHistory } from '../filled-tables.ts';
import { FIRST_DAY } from '../history.ts';
import type { Installation } from '../installation.ts';
import { requireEqual, subscribe } from '../load.ts';
import { type Process, startProcess } from '../processes.ts';
import { deleteAll, type Subscriber, steadyLoad, subscribeAll } from '../steady-load.ts';

const DAY = 24 * 60 * 60 * 1_000;

/** Of two years of movements, each of the two removals of a round removes two months. The warm-up and four rounds remove more than a year. */
const DAYS_PER_REMOVAL = 60;
/** The settings of retention-process.ts. */
const DAYS_KEPT = 90;

/** Movements of two years. Each was delivered to all webhooks of its customer. */
const MOVEMENTS = { smoke: 2_000, normal: 1_500_000, large: 10_000_000 };
const WEBHOOKS = { smoke: 2, normal: 2, large: 1 };

/** Single movements per second, over the subscribers in turn. */
const RATE = 100;
const SUBSCRIBERS = 50;
/** While nothing is removed, so many are sent. */
const ALONE = { smoke: 20, normal: 1_000, large: 5_000 };

/** Rows that 1,000 movements a second add when two webhooks match each. */
const ADDED_ROWS = 3_000;

/**
 * Milliseconds that a single movement takes from its 202 to its receipt while maintenance removes old deliveries and movements.
 * Baseline: movements at the same rate while nothing is removed. Which comes first changes with each round. Then how many rows are
 * removed in a second, beside the same movements, when retention has a backlog.
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
        return round(installation, remover, {
          number: rounds,
          webhooks: count,
          alone: sized(scale, ALONE),
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

interface RoundOptions {
  number: number;
  webhooks: number;
  /** Single movements to send while nothing is removed. */
  alone: number;
}

async function round(
  installation: Installation,
  remover: Process,
  { number, webhooks, alone: least }: RoundOptions,
): Promise<Round> {
  const subscribers = await subscribeAll(installation, SUBSCRIBERS, '/timed');
  const alone = () => steadyLoad(installation, subscribers, { rate: RATE, goOn: (sent) => sent < least });
  const removal = (removals: number, hasBacklog: boolean) =>
    loadBesideRemoval(installation, subscribers, {
      remover,
      before: new Date(Date.parse(FIRST_DAY) + removals * DAYS_PER_REMOVAL * DAY),
      webhooks,
      hasBacklog,
    });
  const first = number % 2 === 0 ? null : await alone();
  const beside = await removal(2 * number - 1, false);
  const baseline = first ?? (await alone());
  const backlog = await removal(2 * number, true);
  await deleteAll(installation, subscribers);
  return [
    {
      name: 'p99 of single movements while old rows are removed',
      unit: 'ms from 202 to receipt',
      part: 0.99,
      times: beside.times,
      baseline: { name: 'the same while nothing is removed', times: baseline },
      wanted: { atMost: 1.3 },
    },
    {
      name: 'removing old rows when retention has a backlog',
      unit: 'rows/s',
      value: backlog.rowsPerSecond,
      baseline: { name: 'rows that 1,000 movements/s with two webhooks add', value: ADDED_ROWS },
      wanted: { atLeast: 10 },
    },
  ];
}

interface Removal {
  remover: Process;
  /** Older rows are removed. */
  before: Date;
  webhooks: number;
  hasBacklog: boolean;
}

/** Sends movements for as long as rows are being removed. @throws when not exactly what is old was removed. */
async function loadBesideRemoval(
  installation: Installation,
  subscribers: readonly Subscriber[],
  { remover, before, webhooks, hasBacklog }: Removal,
): Promise<{ times: number[]; rowsPerSecond: number }> {
  const state = { isRemoving: true };
  const now = new Date(before.getTime() + DAYS_KEPT * DAY).toISOString();
  const began = monotonic();
  let seconds = 0;
  const removing = remover.receive<Removed>().then((removed) => {
    seconds = (monotonic() - began) / 1_000;
    state.isRemoving = false;
    return removed;
  });
  remover.send({ databaseUrl: installation.databaseUrl, now, hasBacklog });
  const times = await steadyLoad(installation, subscribers, { rate: RATE, goOn: () => state.isRemoving });
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
  return { times, rowsPerSecond: (movements + deliveries) / seconds };
}
