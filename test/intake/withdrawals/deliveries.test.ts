import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../../support/movements.ts';
import { expectProblem } from '../../support/problem.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useService } from '../../support/service.ts';
import { NOWHERE } from '../../support/subscriber.ts';
import { until } from '../../support/until.ts';
import { subscribe } from '../../support/webhooks.ts';
import { withdrawn } from './withdrawn.ts';

const service = useService({ roles: ['api', 'importer', 'delivery', 'maintenance'] });
const receiver = useReceiver();

const WITHDRAWN = /^The movement was withdrawn\./;
const BOTH = { event: undefined, events: ['NEW_TRANSACTION', 'WITHDRAWN_TRANSACTION'] };

async function createCustomer() {
  const { api_key: key, customer } = await service.customer();
  const account = await createAccount(service, key);
  const other = await createAccount(service, key, { title: 'İki' });
  const call = async (method: string, path: string, body?: object) =>
    (await service.call(method, path, { key, ...(body === undefined ? {} : { body }) })).body;
  let number = 0;
  return {
    key,
    customerId: customer.id,
    accountId: account.id,
    call,
    otherId: other.id,
    hook: (path: string, fields: object = {}) => subscribe(service, key, `${receiver.url}${path}`, fields),
    /** Imports credits. @returns the import, and the ids of its movements. */
    async store(count: number, fields: object = {}) {
      const rows = Array.from({ length: count }, () => {
        number += 1;
        return movement(account.id, { unique_id: `u${number}`, ...fields });
      });
      const { id } = await importMovements(service, key, rows);
      const { transactions } = await call('GET', `/v1/transactions?import_id=${id}&per_page=1000`);
      return { id: id as number, ids: transactions.map((it: { id: number }) => it.id) as number[] };
    },
    idle: (webhookId: string) =>
      until(`nothing pending of webhook ${webhookId}`, async () => {
        const { webhook } = await call('GET', `/v1/webhooks/${webhookId}`);
        return webhook.deliveries.pending === 0;
      }),
  };
}

const idsAt = (path: string) => receiver.at(path).map(({ headers }) => headers['webhook-id']);

describe('a webhook that lists WITHDRAWN_TRANSACTION', () => {
  it('is sent the movement and then its withdrawal, with the same body', async () => {
    const it = await createCustomer();
    const { id } = await it.hook('/both', BOTH);
    const plain = await it.hook('/plain');
    const only = await it.hook('/only', { event: 'WITHDRAWN_TRANSACTION', body: 'extended' });
    const { id: importId, ids } = await it.store(1);
    await it.idle(id);
    const late = await it.hook('/late', BOTH);
    await withdrawn(service, it.key, `imports/${importId}`);
    await until(
      'the withdrawal',
      () => receiver.at('/both').length === 2 && receiver.at('/only').length === 1,
    );
    const [sent, taken] = receiver.at('/both');
    expect(sent?.headers).toMatchObject({
      'webhook-id': `msg_${id}-${ids[0]}`,
      'ledgerbell-event': 'NEW_TRANSACTION',
      'ledgerbell-transaction-id': String(ids[0]),
    });
    expect(taken?.headers).toMatchObject({
      'webhook-id': `msg_${id}-${ids[0]}-withdrawn`,
      'ledgerbell-event': 'WITHDRAWN_TRANSACTION',
      'ledgerbell-transaction-id': String(ids[0]),
    });
    expect(taken?.body).toBe(sent?.body);
    expect(receiver.at('/plain')[0]?.headers).not.toHaveProperty('ledgerbell-event');
    const extended = JSON.parse(receiver.at('/only')[0]?.body ?? '');
    expect(extended).toMatchObject({ ...JSON.parse(sent?.body ?? ''), extended: { currency: 'TRY' } });
    for (const webhook of [id, plain.id, only.id, late.id]) await it.idle(webhook);
    expect(receiver.at('/plain')).toHaveLength(1);
    expect(receiver.at('/late')).toEqual([]);

    const { deliveries } = await it.call('GET', `/v1/webhooks/${id}/deliveries`);
    expect(deliveries).toMatchObject([
      { transaction_id: ids[0], event_id: expect.any(Number), status: 'delivered' },
      { transaction_id: ids[0], event_id: null, status: 'delivered' },
    ]);
    const { id: deliveryId, event_id } = deliveries[0];
    expect(deliveryId).toBe(`${id}-${event_id}`);
    const of = (await it.call('GET', `/v1/transactions/${ids[0]}/deliveries`)).deliveries;
    expect(of.map((row: { id: string }) => row.id).toSorted()).toEqual(
      [`${id}-${ids[0]}`, deliveryId, `${plain.id}-${ids[0]}`, `${only.id}-${event_id}`].toSorted(),
    );
    await it.call('POST', `/v1/deliveries/${deliveryId}/redeliver`);
    await until('the redelivery', () => receiver.at('/both').length === 3);
    expect(idsAt('/both').at(-1)).toBe(`msg_${id}-${ids[0]}-withdrawn`);
    await it.call('POST', `/v1/webhooks/${id}/replay`, {
      since: '2000-01-01 00:00:00',
      status: 'delivered',
    });
    await until('the replay', async () => (await it.idle(id)) && receiver.at('/both').length >= 4);
    expect(idsAt('/both').slice(3)).toContain(`msg_${id}-${ids[0]}-withdrawn`);
  });

  it('hears of what it matched when it was stored, and of no other account', async () => {
    const it = await createCustomer();
    const debit = await it.hook('/debit', {
      event: undefined,
      events: ['NEW_DEBIT', 'WITHDRAWN_TRANSACTION'],
    });
    const other = await it.hook('/other', { ...BOTH, account: Number(it.otherId) });
    const changed = await it.hook('/changed', BOTH);
    const credits = await it.store(1);
    const debits = await it.store(2, { dc: 'Debit' });
    await it.call('PATCH', `/v1/webhooks/${changed.id}`, { account: Number(it.otherId) });
    await it.idle(debit.id);
    for (const { id } of [credits, debits]) await withdrawn(service, it.key, `imports/${id}`);
    for (const { id } of [debit, other, changed]) await it.idle(id);
    expect(idsAt('/debit').toSorted()).toEqual(
      debits.ids.flatMap((id) => [`msg_${debit.id}-${id}`, `msg_${debit.id}-${id}-withdrawn`]).toSorted(),
    );
    expect(receiver.at('/other')).toEqual([]);
    expect(idsAt('/changed').filter((id) => id?.endsWith('-withdrawn'))).toHaveLength(3);
  });

  it('may be paused, ordered or sent batches', async () => {
    const it = await createCustomer();
    const ordered = await it.hook('/ordered', { ...BOTH, ordered: true });
    const batched = await it.hook('/batched', { ...BOTH, batch: { max: 100 } });
    const paused = await it.hook('/paused', BOTH);
    const first = await it.store(3);
    for (const { id } of [ordered, batched, paused]) await it.idle(id);
    await it.call('PATCH', `/v1/webhooks/${paused.id}`, { status: 'paused' });
    await withdrawn(service, it.key, `imports/${first.id}`);
    await it.idle(ordered.id);
    await it.idle(batched.id);
    expect(idsAt('/ordered')).toEqual([
      ...first.ids.map((id) => `msg_${ordered.id}-${id}`),
      ...first.ids.map((id) => `msg_${ordered.id}-${id}-withdrawn`),
    ]);
    const events = receiver.at('/batched').flatMap(({ body }) => JSON.parse(body).events);
    expect(events.map(({ id, event }: { id: string; event: string }) => [id, event])).toEqual([
      ...first.ids.map((id) => [`msg_${batched.id}-${id}`, 'NEW_TRANSACTION']),
      ...first.ids.map((id) => [`msg_${batched.id}-${id}-withdrawn`, 'WITHDRAWN_TRANSACTION']),
    ]);
    expect(receiver.at('/paused')).toHaveLength(3);
    await it.call('PATCH', `/v1/webhooks/${paused.id}`, { status: 'active' });
    await it.idle(paused.id);
    expect(idsAt('/paused').slice(3).toSorted()).toEqual(
      first.ids.map((id) => `msg_${paused.id}-${id}-withdrawn`),
    );
  });
});

describe('what is pending of a withdrawn movement', () => {
  it('fails at once, although the endpoint is dead or the webhook is paused', async () => {
    const it = await createCustomer();
    const dead = await subscribe(service, it.key, NOWHERE);
    const paused = await it.hook('/waiting');
    await it.call('PATCH', `/v1/webhooks/${paused.id}`, { status: 'paused' });
    const { id, ids } = await it.store(3);
    await until('a failed attempt', async () => {
      const { deliveries } = await it.call('GET', `/v1/webhooks/${dead.id}/deliveries`);
      return deliveries.some(({ attempts }: { attempts: number }) => attempts > 0);
    });
    await withdrawn(service, it.key, `imports/${id}`);
    for (const webhook of [dead, paused]) {
      await it.idle(webhook.id);
      const { deliveries } = await it.call('GET', `/v1/webhooks/${webhook.id}/deliveries`);
      expect(deliveries.map((row: { transaction_id: number }) => row.transaction_id)).toEqual(
        ids.toReversed(),
      );
      for (const row of deliveries)
        expect(row).toMatchObject({ status: 'failed', last_error: expect.stringMatching(WITHDRAWN) });
      const path = `/v1/deliveries/${deliveries[0].id}/redeliver`;
      expectProblem(await service.call('POST', path, { key: it.key }), 409);
      const { replay } = await it.call('POST', `/v1/webhooks/${webhook.id}/replay`, {
        since: '2000-01-01 00:00:00',
      });
      await until('the end of the replay', async () => {
        const { replay: now } = await it.call('GET', `/v1/replays/${replay.id}`);
        return now.finished_at !== null;
      });
      await it.idle(webhook.id);
    }
    expect(receiver.at('/waiting')).toEqual([]);
  });

  it('fails when its POST, which was under way, has failed', async () => {
    const it = await createCustomer();
    const { id: webhookId } = await it.hook('/under-way');
    const held: ServerResponse[] = [];
    receiver.answer('/under-way', (_, response) => held.push(response));
    const { id } = await it.store(1);
    await until('the POST', () => held.length === 1);
    await withdrawn(service, it.key, `imports/${id}`);
    held[0]?.writeHead(500).end('down');
    const last_error = 'The movement was withdrawn. Its POST under way failed too: answered 500';
    await until('the answer', async () => {
      const { deliveries } = await it.call('GET', `/v1/webhooks/${webhookId}/deliveries`);
      return deliveries[0].status === 'failed' && deliveries[0].last_error === last_error;
    });
    const { webhook } = await it.call('GET', `/v1/webhooks/${webhookId}`);
    expect(webhook.deliveries).toMatchObject({ pending: 0, failed: 1, delivered: 0 });
  });

  it('is not handed out by a feed any more, whose withdrawals are', async () => {
    const it = await createCustomer();
    const { webhook } = await it.call('POST', '/v1/webhooks', {
      title: 'feed',
      delivery: 'pull',
      account: 'all',
      events: BOTH.events,
    });
    const read = (cursor?: string) =>
      it.call('GET', `/v1/webhooks/${webhook.id}/feed${cursor === undefined ? '' : `?cursor=${cursor}`}`);
    const acknowledged = await it.store(2);
    const first = await read();
    expect(first.events).toMatchObject([{ event: 'NEW_TRANSACTION' }, { event: 'NEW_TRANSACTION' }]);
    expect((await read(first.cursor)).events).toEqual([]);
    const unread = await it.store(2);
    for (const { id } of [acknowledged, unread]) await withdrawn(service, it.key, `imports/${id}`);
    const second = await read(first.cursor);
    expect(second.events.map(({ id, event }: { id: string; event: string }) => [id, event])).toEqual(
      [...acknowledged.ids, ...unread.ids].map((id) => [
        `msg_${webhook.id}-${id}-withdrawn`,
        'WITHDRAWN_TRANSACTION',
      ]),
    );
    const { webhook: behind } = await it.call('GET', `/v1/webhooks/${webhook.id}`);
    expect(behind.deliveries).toMatchObject({ pending: 4, delivered: 2, failed: 2 });
    expect((await read(second.cursor)).events).toEqual([]);
    const { webhook: done } = await it.call('GET', `/v1/webhooks/${webhook.id}`);
    expect(done.deliveries).toMatchObject({ pending: 0, delivered: 6, failed: 2 });
  });
});
