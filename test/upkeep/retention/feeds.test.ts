import { expect, it } from 'vitest';
import { createFeed } from '../../support/feeds.ts';
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
