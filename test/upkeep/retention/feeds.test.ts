import { expect, it } from 'vitest';
import { removeMovements } from '../../../src/upkeep/retention/remove-movements.ts';
import { createFeed, idsOf } from '../../support/feeds.ts';
import { useOwnService } from '../../support/service.ts';
import { removeAt } from './kept.ts';

const service = useOwnService({
  because: 'retention removes the movements of all customers',
  roles: ['api'],
});

it('keeps what a feed has not acknowledged, and refuses cursors from before what it has removed', async () => {
  const feed = await createFeed(service);
  await feed.store(4);
  const { database } = service.runtime;
  await database.query("UPDATE transactions SET date_readed = '2026-01-31 12:00:00'");
  const count = async () => (await database.query<unknown[]>('SELECT 1 FROM transactions')).length;
  const remove = () => removeAt(service, { movements: 90 });

  await remove();
  expect(await count()).toBe(4);
  const first = await feed.read({ limit: 1 });
  const second = await feed.read({ cursor: first.body.cursor, limit: 1 });
  await feed.read({ cursor: second.body.cursor, limit: 1 });
  await remove();
  // The two that are acknowledged are gone.
  expect(await count()).toBe(2);
  expect((await feed.read({ cursor: first.body.cursor })).status).toBe(410);
  const rest = await feed.read({ cursor: second.body.cursor });
  expect(rest.body.events).toHaveLength(2);
  expect((await feed.read()).body.events).toHaveLength(2);
  await feed.read({ cursor: rest.body.cursor });
  await remove();
  expect(await count()).toBe(0);
  expect((await feed.read({ cursor: rest.body.cursor })).body).toMatchObject({ events: [], more: false });
});

it('keeps the filters that a feed has had as long as its movements, for old cursors and for replays', async () => {
  const feed = await createFeed(service, { event: 'NEW_DEBIT' });
  const { database } = service.runtime;
  await feed.store(2, { dc: 'Debit' });
  await feed.store(1, { dc: 'Credit' });
  await feed.change({ event: 'NEW_CREDIT' });
  await feed.store(1, { dc: 'Debit' });
  await feed.store(2, { dc: 'Credit' });
  await database.query('UPDATE transactions SET date_readed = ? WHERE customer_id = ?', [
    '2026-01-31 12:00:00',
    feed.customerId,
  ]);
  const first = await feed.read({ limit: 1 });
  const { cursor } = first.body;
  const rest = await feed.read({ cursor });
  expect(rest.body.events).toHaveLength(3);
  await feed.read({ cursor: rest.body.cursor });
  // What was delivered 90 days ago is removed, and movements are kept for ever.
  await removeAt(service, { deliveries: 90 });
  expect((await feed.read({ cursor })).body.events).toEqual(rest.body.events);
  await feed.post('/replay', { since: '2020-01-01 00:00:00' });
  const replayed = await feed.read();
  expect(replayed.body.events).toEqual([...first.body.events, ...rest.body.events]);
});

it('keeps what a feed needs again that is replayed while old movements are removed', async () => {
  const feed = await createFeed(service);
  const { database } = service.runtime;
  await feed.store(4);
  await database.query('UPDATE transactions SET date_readed = ? WHERE customer_id = ?', [
    '2026-01-31 12:00:00',
    feed.customerId,
  ]);
  const all = await feed.read();
  await feed.read({ cursor: all.body.cursor });
  let steps = 0;
  await removeMovements(
    database,
    {
      async repeat(step) {
        // One movement in each step. The feed is replayed after the first.
        for (let goesOn = true; goesOn; steps += 1) {
          if (steps === 1) await feed.post('/replay', { since: '2020-01-01 00:00:00' });
          goesOn = await step(1);
        }
        return true;
      },
    },
    { customerId: String(feed.customerId), through: BigInt(2 ** 40), issuedBefore: '2099-01-01' },
  );
  expect(steps).toBeGreaterThan(1);
  const kept = await database.query<{ id: string }[]>(
    'SELECT id FROM transactions WHERE customer_id = ? ORDER BY id',
    [feed.customerId],
  );
  expect(kept.map(({ id }) => `msg_${feed.id}-${id}`)).toEqual(idsOf(all).slice(1));
});
