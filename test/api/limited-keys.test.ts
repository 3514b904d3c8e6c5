import { beforeAll, describe, expect, it } from 'vitest';
import { insertApiKey } from '../../src/customers/api-keys.ts';
import { readAll } from '../support/listing.ts';
import { createAccount, importDone, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { countRows } from '../support/rows.ts';
import { useOwnService } from '../support/service.ts';
import { deliveriesOf, webhook } from '../support/webhooks.ts';

const service = useOwnService({ because: 'it counts the rows of all tables', roles: ['api', 'importer'] });

describe('a key limited to accounts', () => {
  let whole: string;
  let limited: string;
  let none: string;
  let pair: string;
  let seen: string;
  let hidden: string;

  beforeAll(async () => {
    const { api_key, customer } = await service.customer();
    whole = api_key;
    seen = (await createAccount(service, whole)).id;
    hidden = (await createAccount(service, whole, { bank: 'Akbank' })).id;
    const third = (await createAccount(service, whole, { bank: 'Denizbank' })).id;
    const keyFor = async (accountIds: string[]) =>
      (await insertApiKey(service.runtime.database, { customerId: customer.id, title: 'Dar', accountIds }))
        .apikey;
    limited = await keyFor([seen]);
    pair = await keyFor([seen, third]);
    none = await keyFor([]);
    await importMovements(service, whole, [
      movement(seen, { unique_id: 'seen' }),
      movement(hidden, { unique_id: 'hidden' }),
      movement(third, { unique_id: 'third' }),
    ]);
  });

  it('lists only its accounts and their movements', async () => {
    const idsOf = async (key: string) =>
      (await service.call('GET', '/v1/accounts', { key })).body.accounts.map(({ id }: { id: number }) =>
        String(id),
      );
    expect(await idsOf(limited)).toEqual([seen]);
    expect(await idsOf(none)).toEqual([]);
    for (const query of ['starts=2000-01-01', 'ends=2030-01-01', 'after=2000-01-01 00:00:00']) {
      const listed = async (key: string) =>
        (await readAll(service, key, `/v1/transactions?per_page=1&${query}`)).map(
          ({ unique_id }) => unique_id,
        );
      expect(await listed(limited)).toEqual(['seen']);
      expect(await listed(pair)).toEqual(['seen', 'third']);
      expect(await listed(none)).toEqual([]);
    }
  });

  it('finds no other account, and no movements of other accounts', async () => {
    for (const path of [`/v1/accounts/${hidden}`, `/v1/accounts/${hidden}/transactions?starts=2000-01-01`]) {
      expectProblem(await service.call('GET', path, { key: limited }), 404);
      expect((await service.call('GET', path, { key: whole })).status).toBe(200);
    }
    expectProblem(await service.call('GET', `/v1/accounts/${seen}`, { key: none }), 404);
  });

  it('cannot add accounts', async () => {
    const body = { bank: 'Yeni Banka', title: 'Yeni', currency: 'TRY' };
    const before = await countRows(service);
    expectProblem(await service.call('POST', '/v1/accounts', { key: limited, body }), 403);
    expect(await countRows(service)).toEqual(before);
  });

  it('creates webhooks for its accounts, but neither for all accounts nor for others', async () => {
    const subscribe = (key: string, account: string) =>
      service.call('POST', '/v1/webhooks', { key, body: webhook({ account }) });
    expectProblem(await subscribe(limited, 'all'), 403);
    expect(expectProblem(await subscribe(limited, hidden), 422)).toEqual(['account']);
    const mine = await subscribe(limited, seen);
    const all = await subscribe(whole, 'all');
    const other = await subscribe(whole, hidden);
    expect([mine.status, all.status, other.status]).toEqual([200, 200, 200]);

    const list = await service.call('GET', '/v1/webhooks', { key: limited });
    expect(list.body.webhooks.map(({ id }: { id: string }) => id)).toEqual([mine.body.webhook.id]);
    for (const { body } of [all, other]) {
      for (const method of ['GET', 'DELETE']) {
        expectProblem(await service.call(method, `/v1/webhooks/${body.webhook.id}`, { key: limited }), 404);
      }
    }
    expect((await service.call('GET', '/v1/webhooks', { key: whole })).body.webhooks).toHaveLength(3);
  });

  it('imports only into its accounts: other movements make JSON refused as a whole, and NDJSON row by row', async () => {
    const rows = [movement(seen, { unique_id: 'new' }), movement(hidden, { unique_id: 'new' })];
    const before = await countRows(service);
    const json = await service.call('POST', '/v1/imports', { key: limited, body: { transactions: rows } });
    expect(expectProblem(json, 422)).toEqual(['transactions.1.account_id']);
    expect(await countRows(service)).toEqual(before);

    const ndjson = await service.call('POST', '/v1/imports', {
      key: limited,
      type: 'application/x-ndjson',
      body: rows.map((row) => JSON.stringify(row)).join('\n'),
    });
    const done = await importDone(service, limited, ndjson.body.import.id);
    expect(done).toMatchObject({ received: 2, inserted: 1, rejected: 1 });
    const { body } = await service.call('GET', `/v1/imports/${done.id}/errors`, { key: limited });
    expect(body.errors).toEqual([{ line: 2, path: 'account_id', message: expect.any(String) }]);
  });

  it('sees only its own imports', async () => {
    const theirs = await importMovements(service, whole, []);
    const mine = await importMovements(service, limited, []);
    const list = await service.call('GET', '/v1/imports', { key: limited });
    const ids = list.body.imports.map(({ id }: { id: string }) => id);
    expect(ids).toContain(mine.id);
    expect(ids).not.toContain(theirs.id);
    for (const path of [`/v1/imports/${theirs.id}`, `/v1/imports/${theirs.id}/errors`]) {
      expectProblem(await service.call('GET', path, { key: limited }), 404);
    }
    expect((await service.call('GET', `/v1/imports/${mine.id}`, { key: whole })).status).toBe(200);
  });

  it('does not get the import of another key by an Idempotency-Key', async () => {
    const send = (key: string) =>
      service.call('POST', '/v1/imports', {
        key,
        body: { transactions: [] },
        headers: { 'Idempotency-Key': 'shared' },
      });
    const theirs = await send(whole);
    const mine = await send(limited);
    expect([theirs.status, mine.status]).toEqual([202, 202]);
    expect(mine.body.import.id).not.toBe(theirs.body.import.id);
  });

  it('finds neither webhooks nor deliveries of other accounts', async () => {
    const made = await service.call('POST', '/v1/webhooks', {
      key: whole,
      body: webhook({ account: hidden }),
    });
    const { id } = made.body.webhook;
    await importMovements(service, whole, [movement(hidden, { unique_id: 'of the hidden webhook' })]);
    const [delivery] = await deliveriesOf(service, id);
    expect(delivery).toBeDefined();
    const since = { since: '2000-01-01 00:00:00' };
    for (const key of [limited, none]) {
      for (const [method, path, body] of [
        ['PATCH', `/v1/webhooks/${id}`, { title: 'mine' }],
        ['GET', `/v1/webhooks/${id}/deliveries`, undefined],
        ['POST', `/v1/webhooks/${id}/test`, undefined],
        ['POST', `/v1/webhooks/${id}/rotate-secret`, undefined],
        ['POST', `/v1/webhooks/${id}/replay`, since],
        ['GET', `/v1/deliveries/${delivery?.id}`, undefined],
        ['POST', `/v1/deliveries/${delivery?.id}/redeliver`, undefined],
      ] as const) {
        expectProblem(await service.call(method, path, { key, body }), 404);
      }
    }
  });

  it('reads the deliveries of its own accounts', async () => {
    const made = await service.call('POST', '/v1/webhooks', {
      key: limited,
      body: webhook({ account: seen }),
    });
    const { id } = made.body.webhook;
    await importMovements(service, limited, [movement(seen, { unique_id: 'of the seen webhook' })]);
    const { body } = await service.call('GET', `/v1/webhooks/${id}/deliveries`, { key: limited });
    expect(body.deliveries).toHaveLength(1);
    const path = `/v1/deliveries/${body.deliveries[0].id}`;
    expect((await service.call('GET', path, { key: limited })).status).toBe(200);
    expect((await service.call('POST', `${path}/redeliver`, { key: limited })).status).toBe(202);
  });
});
