import { makeSegments } from '../../src/movements/segments.ts';
import { type Figure, type Round, type Scale, sized } from '../figure.ts';
import { storeReadHistory } from '../filled-tables.ts';
import { type Installation, pause } from '../installation.ts';
import { requireEqual } from '../load.ts';
import { type Subscriber, steadyLoad, subscribeAll } from '../steady-load.ts';

/** Movements of the import that is withdrawn. A webhook that lists withdrawals has matched them all. */
const MOVEMENTS = { smoke: 2_000, normal: 300_000, large: 3_000_000 };

/** Single movements per second, over the customers in turn. */
const RATE = 100;
const SUBSCRIBERS = 20;
/** While nothing is withdrawn, so many are sent. */
const ALONE = { smoke: 20, normal: 2_000, large: 5_000 };

/**
 * Milliseconds that a single movement takes from its 202 to its receipt while an import of another customer is withdrawn. Baseline:
 * movements at the same rate while nothing is withdrawn. Then how many movements are withdrawn in a second.
 */
export const withdrawing: Figure = {
  about: 'how long single movements wait while a large import of another customer is withdrawn',
  async prepare(scale: Scale, start) {
    const installation = await start({});
    const subscribers = await subscribeAll(installation, SUBSCRIBERS, '/timed');
    return {
      server: installation.server,
      round: () => round(installation, subscribers, scale),
      end: () => installation.end(),
    };
  },
};

async function round(
  installation: Installation,
  subscribers: readonly Subscriber[],
  scale: Scale,
): Promise<Round> {
  const movements = sized(scale, MOVEMENTS);
  const least = sized(scale, ALONE);
  const { key, importId } = await fill(installation, movements);
  const baseline = await steadyLoad(installation, subscribers, { rate: RATE, goOn: (sent) => sent < least });
  const state = { isDone: false };
  const began = performance.now();
  const withdrawing = withdraw(installation, key, importId).then((withdrawn) => {
    state.isDone = true;
    requireEqual({ expected: movements, withdrawn });
    return (movements * 1_000) / (performance.now() - began);
  });
  const times = await steadyLoad(installation, subscribers, { rate: RATE, goOn: () => !state.isDone });
  const perSecond = await withdrawing;
  return [
    {
      name: 'p99 of single movements while an import of another customer is withdrawn',
      unit: 'ms from 202 to receipt',
      part: 0.99,
      times,
      baseline: { name: 'the same while nothing is withdrawn', times: baseline },
    },
    { name: 'movements withdrawn beside them', unit: 'movements/s', value: perSecond },
  ];
}

/** A customer whose movements all came with one import. */
async function fill(
  installation: Installation,
  movements: number,
): Promise<{ key: string; importId: string }> {
  const { database } = installation.runtime;
  const { api_key: key, customer, accountId } = await installation.customer();
  await installation.call(key, 'POST', '/v1/webhooks', {
    title: 'withdrawals',
    endpoint: `${installation.receiver.url}/withdrawn/${accountId}`,
    event: 'WITHDRAWN_TRANSACTION',
    account: 'all',
  });
  await storeReadHistory(database, [{ customerId: customer.id, accountId }], movements);
  const { insertId } = await database.query<{ insertId: string | number }>(
    `INSERT INTO imports (customer_id, api_key_id, format, status, inserted, received, first_readed, last_readed)
     SELECT ?, (SELECT id FROM api_keys WHERE customer_id = ? LIMIT 1), 'ndjson', 'done', COUNT(*), COUNT(*), MIN(date_readed), MAX(date_readed)
     FROM transactions WHERE customer_id = ?`,
    [customer.id, customer.id, customer.id],
  );
  await database.query('UPDATE transactions SET import_id = ? WHERE customer_id = ?', [
    insertId,
    customer.id,
  ]);
  await makeSegments(database);
  return { key, importId: String(insertId) };
}

/** @returns how many movements were withdrawn. */
async function withdraw({ call }: Installation, key: string, importId: string): Promise<number> {
  const { withdrawal } = (await call(key, 'POST', `/v1/imports/${importId}/withdraw`, {
    reason: 'bench',
  })) as {
    withdrawal: { id: number };
  };
  for (;;) {
    const { withdrawal: now } = (await call(key, 'GET', `/v1/withdrawals/${withdrawal.id}`)) as {
      withdrawal: { status: string; withdrawn: number };
    };
    if (now.status === 'done') return now.withdrawn;
    if (now.status === 'failed') throw new Error('the withdrawal has failed');
    await pause(200);
  }
}
