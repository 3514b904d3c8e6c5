import { describe, expect, it } from 'vitest';
import { insertApiKey } from '../../src/customers/api-keys.ts';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { recordDeliveries } from '../support/stored.ts';
import { createWebhook } from './stored-webhook.ts';

// Without delivery runs: what they would leave behind is written by SQL.
const service = useService({ roles: ['api'] });

const change = (key: string, id: string, body: unknown) =>
  service.call('PATCH', `/v1/webhooks/${id}`, { key, body });

describe('a key limited to accounts', () => {
  /** A webhook that was for the hidden account, and then for the one that the limited key sees. */
  async function createNarrowed(before: 'hidden' | 'all') {
    const made = await createWebhook(service);
    const { database } = service.runtime;
    const hidden = (await createAccount(service, made.key, { bank: 'Akbank' })).id;
    const { apikey: limited } = await insertApiKey(database, {
      customerId: made.customerId,
      title: 'Dar',
      accountIds: [made.account],
    });
    await change(made.key, made.id, { account: before === 'hidden' ? hidden : 'all' });
    const webhook = { id: made.id, customerId: made.customerId };
    const record = (transactionId: string, status: 'pending' | 'delivered' | 'failed') =>
      recordDeliveries(database, webhook, [{ transactionId, status }]);
    const narrow = () => change(made.key, made.id, { account: made.account });
    const redirect = () => change(limited, made.id, { endpoint: 'http://127.0.0.1:9/mine' });
    return { ...made, hidden, limited, record, narrow, redirect };
  }

  it.each(['hidden', 'all'] as const)(
    'cannot redirect movements of other accounts to an endpoint of its choice while any are pending (%s)',
    async (before) => {
      const narrowed = await createNarrowed(before);
      const [first = ''] = await narrowed.store([{}], narrowed.hidden);
      expectProblem(await change(narrowed.limited, narrowed.id, { title: 'mine' }), 404);
      await narrowed.narrow();

      expectProblem(await narrowed.redirect(), 403);
      expectProblem(await change(narrowed.limited, narrowed.id, { headers: { 'X-Token': 'mine' } }), 403);
      expectProblem(await change(narrowed.limited, narrowed.id, { account: 'all' }), 403);
      expect((await change(narrowed.limited, narrowed.id, { title: 'mine' })).status).toBe(200);
      expect(
        (await service.call('GET', `/v1/webhooks/${narrowed.id}`, { key: narrowed.key })).body.webhook,
      ).toMatchObject({
        title: 'mine',
        endpoint: 'http://127.0.0.1:9/',
      });
      // Attempted and due again.
      await narrowed.record(first, 'pending');
      expectProblem(await narrowed.redirect(), 403);
      await service.runtime.database.query('UPDATE retries SET due_at = NULL WHERE webhook_id = ?', [
        narrowed.id,
      ]);
      expect((await narrowed.redirect()).status).toBe(200);
    },
  );

  it('cannot redirect movements of other accounts that an unfinished replay has still to send', async () => {
    const narrowed = await createNarrowed('hidden');
    const [first = ''] = await narrowed.store([{}], narrowed.hidden);
    await narrowed.record(first, 'failed');
    await narrowed.narrow();
    const body = { since: '2000-01-01 00:00:00' };
    const replay = (key: string) => service.call('POST', `/v1/webhooks/${narrowed.id}/replay`, { key, body });
    expect((await replay(narrowed.limited)).body.replay.matched).toBe(0);
    expect((await narrowed.redirect()).status).toBe(200);
    expect((await replay(narrowed.key)).body.replay.matched).toBe(1);
    expectProblem(await narrowed.redirect(), 403);
    await service.runtime.database.query('UPDATE replays SET finished_at = NOW(6) WHERE webhook_id = ?', [
      narrowed.id,
    ]);
    expect((await narrowed.redirect()).status).toBe(200);
  });

  it('can redirect its own pending movements to any endpoint', async () => {
    const narrowed = await createNarrowed('hidden');
    await narrowed.narrow();
    const [attempted = ''] = await narrowed.store();
    await narrowed.record(attempted, 'pending');
    await narrowed.store();
    expect((await narrowed.redirect()).status).toBe(200);
  });

  it('sees only deliveries of its own movements', async () => {
    const narrowed = await createNarrowed('all');
    const [hidden = ''] = await narrowed.store([{}], narrowed.hidden);
    const [own = ''] = await narrowed.store();
    await narrowed.narrow();
    const list = async (key: string, status = '') => {
      const path = `/v1/webhooks/${narrowed.id}/deliveries${status}`;
      const { body } = await service.call('GET', path, { key });
      return body.deliveries.map((row: { transaction_id: number }) => String(row.transaction_id));
    };
    const path = `/v1/deliveries/${narrowed.id}-${hidden}`;
    for (const status of ['pending', 'failed'] as const) {
      expect(await list(narrowed.limited)).toEqual([own]);
      expect(await list(narrowed.limited, `?status=${status}`)).toEqual([own]);
      expect(await list(narrowed.key)).toEqual([own, hidden]);
      expectProblem(await service.call('GET', path, { key: narrowed.limited }), 404);
      expectProblem(await service.call('POST', `${path}/redeliver`, { key: narrowed.limited }), 404);
      expect((await service.call('GET', path, { key: narrowed.key })).status).toBe(200);
      if (status === 'pending') for (const id of [hidden, own]) await narrowed.record(id, 'failed');
    }
  });
});
