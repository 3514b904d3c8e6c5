import { expect, it } from 'vitest';
import { readWebhooksNeedingAttention } from '../../src/console/totals.ts';
import { readWebhooksBehind } from '../../src/delivery/reconcile.ts';
import { useOwnService } from '../support/service.ts';
import { createSubscriber, NOWHERE, setCursor } from '../support/subscriber.ts';

// Nothing is sent, because no process has the role delivery.
const service = useOwnService({ because: 'the page shows all customers', roles: ['api'] });

const readPage = async (path: string) =>
  String((await service.callOps('GET', path, { headers: { Accept: 'text/html' } })).body).replaceAll(
    /<[^>]*>/g,
    ' ',
  );

it('the console lists a webhook with an old backlog as in trouble, after those that fail, although its endpoint answers', async () => {
  const { webhookIds, store } = await createSubscriber(service, NOWHERE, {}, {});
  const [behind = '', failing = ''] = webhookIds;
  const ids = await store(3);
  const { database } = service.runtime;
  await database.query('UPDATE transactions SET date_readed = NOW(6) WHERE id IN (?)', [ids]);
  expect(await readPage('/ops/webhooks')).not.toContain('behind');

  await database.query('UPDATE transactions SET date_readed = NOW(6) - INTERVAL 10 MINUTE WHERE id IN (?)', [
    ids,
  ]);
  await setCursor(service, failing, 'failing_since = NOW(6) - INTERVAL 1 MINUTE');
  const list = await readPage('/ops/webhooks');
  expect(list).toMatch(/In trouble[\s\S]*failing[\s\S]*behind[\s\S]*oldest pending\s+10 min ago[\s\S]*All/);
  expect(list.match(/behind/g)).toHaveLength(1);
  // `ledgerbell status` lists the same two.
  const waiting = await readWebhooksBehind(database);
  expect(waiting.map(({ id }) => id)).toEqual([behind]);
  expect(await readWebhooksNeedingAttention(database, waiting)).toMatchObject([
    { id: failing, behind_since: null },
    { id: behind, behind_since: expect.any(Date), pending: '3' },
  ]);
  const now = await readPage('/ops');
  expect(now).toMatch(
    new RegExp(
      `webhook ${behind} .* is behind\\. Its endpoint answers, but .* waiting for 10 min, 3 deliveries pending`,
    ),
  );
});
