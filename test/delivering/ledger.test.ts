import { beforeEach, expect, it } from 'vitest';
import { type Lease, takeLeases } from '../../src/delivering/lease.ts';
import { createLedger } from '../../src/delivering/ledger.ts';
import type { AttemptResult, Results } from '../../src/delivering/results.ts';
import { well } from '../support/breaker.ts';
import { createAccount } from '../support/movements.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api'] });
const ENDPOINT = 'http://127.0.0.1:9/never';
let leases: Lease[];
/** One delivery of each webhook. */
let deliveries: string[];

beforeEach(async () => {
  const { database } = service.runtime;
  const { api_key: key } = await service.customer();
  await createAccount(service, key);
  const webhooks: string[] = [];
  deliveries = [];
  for (let i = 0; i < 6; i += 1) {
    const { id } = await subscribe(service, key, ENDPOINT);
    const owed = await database.query<{ insertId: string }>(
      'INSERT INTO deliveries (webhook_id, transaction_id) VALUES (?, 1)',
      [id],
    );
    deliveries.push(String(owed.insertId));
    webhooks.push(id);
  }
  leases = (await takeLeases(database, webhooks)) as Lease[];
});

const resultsOf = (i: number, changes: Partial<AttemptResult> = {}, ended = false): Results => ({
  lease: leases[i] as Lease,
  ended,
  attempts: [
    {
      deliveryId: deliveries[i] as string,
      number: 1,
      outcome: 'delivered',
      statusCode: 204,
      startedAt: new Date(),
      durationMs: 1,
      error: null,
      response: '',
      failures: 0,
      retryIn: null,
      ...changes,
    },
  ],
  breaker: well,
  rateWait: null,
  lastError: null,
  disable: null,
  revision: 1,
  now: 0,
});

async function stored() {
  const { database } = service.runtime;
  const rows = await database.query<{ id: string; status: string; attempts: string }[]>(
    `SELECT id, status, (SELECT COUNT(*) FROM attempts WHERE delivery_id = d.id) AS attempts
     FROM deliveries d WHERE id IN (?) ORDER BY id`,
    [deliveries],
  );
  return rows.map(({ status, attempts }) => `${status} ${attempts}`);
}

const holders = async () => {
  const rows = await service.runtime.database.query<{ lease_token: string | null }[]>(
    'SELECT lease_token FROM pumps WHERE webhook_id IN (?) ORDER BY webhook_id',
    [leases.map(({ webhookId }) => webhookId)],
  );
  return rows.map(({ lease_token }) => lease_token);
};

it('writes the results of many webhooks, and gives back the leases of those whose run has ended', async () => {
  const ledger = createLedger(service.runtime.database);
  const kept = await Promise.all(leases.map((_, i) => ledger.write(resultsOf(i, {}, i % 2 === 0))));
  expect(kept).toEqual([true, true, true, true, true, true]);
  expect(await stored()).toEqual(Array.from({ length: 6 }, () => 'delivered 1'));
  expect(await holders()).toEqual(leases.map(({ token }, i) => (i % 2 === 0 ? null : token)));
});

it('writes nothing of a webhook whose lease is lost, and everything of the others that were to be written with it', async () => {
  const ledger = createLedger(service.runtime.database);
  leases[3] = { ...(leases[3] as Lease), token: 'another' };
  const kept = await Promise.all(leases.map((_, i) => ledger.write(resultsOf(i, {}, true))));
  expect(kept).toEqual([true, true, true, false, true, true]);
  expect(await stored()).toEqual(leases.map((_, i) => (i === 3 ? 'pending 0' : 'delivered 1')));
});

it('keeps what MySQL refuses of one webhook from holding back the others', async () => {
  const ledger = createLedger(service.runtime.database);
  const tooLong = { error: 'x'.repeat(300) };
  const written = await Promise.allSettled(
    leases.map((_, i) => ledger.write(resultsOf(i, i === 4 ? tooLong : {}, true))),
  );
  expect(written.map(({ status }) => status === 'fulfilled')).toEqual([true, true, true, true, false, true]);
  expect(await stored()).toEqual(leases.map((_, i) => (i === 4 ? 'pending 0' : 'delivered 1')));
  expect((await holders())[4]).toBe(leases[4]?.token);
});

it('reminds all at the same moment, once, but for whom it was told to forget', async () => {
  const ledger = createLedger(service.runtime.database);
  const reminded: string[] = [];
  const [early, late, forgotten] = ['early', 'late', 'forgotten'].map(
    (name) => () => void reminded.push(name),
  );
  if (early === undefined || late === undefined || forgotten === undefined) throw new Error('three of them');
  ledger.remind(early);
  ledger.remind(forgotten);
  ledger.remind(early);
  ledger.remind(late);
  ledger.forget(forgotten);
  const seen = new Set<string>();
  await until('the reminder', () => seen.add(reminded.join(' ')) && reminded.length > 0);
  expect([...seen]).toEqual(['', 'early late']);
  ledger.remind(late);
  await until('the next one', () => reminded.length > 2);
  expect(reminded).toEqual(['early', 'late', 'late']);
});
