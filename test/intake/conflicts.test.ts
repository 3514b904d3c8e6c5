import { describe, expect, it } from 'vitest';
import { storedEvents } from '../delivery/events/received-events.ts';
import { createAccount, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';
import { useImports } from './sent-imports.ts';

const service = useService();
const { customerWithAccount, send, query, storedRows } = useImports(service);
const receiver = useReceiver();

const call = (method: string, path: string, key: string, body?: object) =>
  service.call(method, path, { key, ...(body === undefined ? {} : { body }) });

/** A customer who has stored movement `a` of 100.00, and then sends it with another amount. */
async function withConflict(path: string, account: object = {}) {
  const { key, customerId } = await customerWithAccount();
  const { id: accountId } = await createAccount(service, key, account);
  const row = (fields: object = {}) => movement(accountId, { unique_id: 'a', amount: '100.00', ...fields });
  await subscribe(service, key, `${receiver.url}${path}`);
  await send(key, [row()]);
  const { body } = await send(key, [row({ amount: '777.00' }), row({ unique_id: 'b' })]);
  return { key, customerId, accountId, row, imported: body.import };
}

const listed = async (key: string, query = '') =>
  (await call('GET', `/v1/conflicts${query}`, key)).body.conflicts;
const amountsAt = (path: string) => receiver.at(path).map(({ body }) => JSON.parse(body).amount);

describe('a known unique_id with a different amount, direction or date', () => {
  it('is held: the row is counted, listed with its line beside the stored movement, reported, and not stored', async () => {
    const { key, customerId, accountId, imported } = await withConflict('/held');
    expect(imported).toMatchObject({ received: 2, inserted: 1, duplicates: 0, conflicts: 1, changed: 0 });
    const [conflict, ...others] = await listed(key, '?status=open');
    expect(others).toEqual([]);
    expect(conflict).toMatchObject({
      account_id: Number(accountId),
      unique_id: 'a',
      status: 'open',
      stored: { amount: '100.00', unique_id: 'a' },
      received: { amount: '777.00', unique_id: 'a' },
      import_id: imported.id,
      line: 1,
      transaction_id: null,
    });
    const { body } = await call('GET', `/v1/imports/${imported.id}/duplicates`, key);
    expect(body.duplicates).toEqual([{ line: 1, reason: 'conflict', transaction_id: conflict.stored.id }]);
    expect(await storedRows(customerId)).toBe(2);
    const [event] = await storedEvents(service, customerId, 'movement.conflict');
    expect(JSON.parse(event?.data ?? '')).toMatchObject({ import: { id: imported.id }, conflicts: 1 });
  });

  it('is one conflict however often it is sent, and each different version is a separate conflict', async () => {
    const { key, row } = await withConflict('/again');
    const again = await send(key, [
      row({ amount: '777' }),
      row({ dc: 'Debit' }),
      row({ date_issue: '2020-01-01' }),
    ]);
    expect(again.body.import).toMatchObject({ inserted: 0, duplicates: 0, conflicts: 3 });
    const conflicts = await listed(key);
    expect(
      conflicts.map(({ received }: { received: { dc: string; amount: string } }) => received),
    ).toMatchObject([{ date_issue: '2020-01-01' }, { dc: 'Debit' }, { amount: '777.00' }]);
  });

  it('is stored and sent when a customer decides to store it, and is known after that', async () => {
    const { key, row } = await withConflict('/decided');
    const [{ id }] = await listed(key);
    const { status, body } = await call('POST', `/v1/conflicts/${id}`, key, { decision: 'store' });
    expect([status, body.conflict.status]).toEqual([200, 'stored']);
    await until('all are sent', () => amountsAt('/decided').length === 3);
    expect(amountsAt('/decided').toSorted()).toEqual(['100.00', '100.00', '777.00']);
    const { body: stored } = await call('GET', `/v1/transactions/${body.conflict.transaction_id}`, key);
    expect(stored.transaction).toMatchObject({ amount: '777.00' });
    expect(stored.transaction.unique_id).toMatch(/^conflict:/);

    expect((await call('POST', `/v1/conflicts/${id}`, key, { decision: 'store' })).status).toBe(200);
    expectProblem(
      await call('POST', `/v1/conflicts/${id}`, key, { decision: 'ignore' }),
      409,
      'conflict-decided',
    );
    const again = await send(key, [row({ amount: '777.00' })]);
    expect(again.body.import).toMatchObject({ inserted: 0, duplicates: 1, conflicts: 0 });
  });

  it('cannot be stored when retention has removed movements of its time', async () => {
    const { key, customerId, row } = await withConflict('/removed');
    const [{ id }] = await listed(key);
    const day = new Date(Date.parse(row().date_issue) + 86_400_000).toISOString().slice(0, 10);
    await query('UPDATE import_locks SET removed_before = ? WHERE customer_id = ?', [day, customerId]);
    const decide = (decision: string) => call('POST', `/v1/conflicts/${id}`, key, { decision });
    expectProblem(await decide('store'), 409, 'removed-time');
    expect((await decide('ignore')).body.conflict).toMatchObject({ status: 'ignored' });
    expect(amountsAt('/removed')).not.toContain('777.00');
  });

  it('is a duplicate after a customer has ignored it', async () => {
    const { key, row, customerId } = await withConflict('/ignored');
    const [{ id }] = await listed(key);
    await call('POST', `/v1/conflicts/${id}`, key, { decision: 'ignore' });
    expect(await listed(key, '?status=open')).toEqual([]);
    const again = await send(key, [row({ amount: '777.00' })]);
    expect(again.body.import).toMatchObject({ inserted: 0, duplicates: 1, conflicts: 0 });
    expect(await storedRows(customerId)).toBe(2);
  });

  it('is stored and sent at once in an account with on_conflict "store"', async () => {
    const { key, imported, row } = await withConflict('/stored', { on_conflict: 'store' });
    expect(imported).toMatchObject({ received: 2, inserted: 2, duplicates: 0, conflicts: 1 });
    await until('all are sent', () => amountsAt('/stored').length === 3);
    expect(await listed(key)).toMatchObject([{ status: 'stored', received: { amount: '777.00' } }]);
    const again = await send(key, [row({ amount: '777.00' }), row()]);
    expect(again.body.import).toMatchObject({ inserted: 0, duplicates: 2, conflicts: 0 });
  });

  it('is a conflict when only the sign of the amount differs', async () => {
    const { key, row } = await withConflict('/sign', { on_conflict: 'store' });
    const rows = [row({ amount: '-0.50' }), row({ amount: '0.50' }), row({ amount: '-0.5' })];
    expect((await send(key, rows)).body.import).toMatchObject({ inserted: 2, duplicates: 1, conflicts: 2 });
  });

  it('is a conflict when both versions are in the same import', async () => {
    const { key, accountId } = await customerWithAccount();
    const rows = ['100.00', '777.00', '100.00'].map((amount) =>
      movement(accountId, { unique_id: 'a', amount }),
    );
    expect((await send(key, rows)).body.import).toMatchObject({ inserted: 1, duplicates: 1, conflicts: 1 });
    const { body } = await call('GET', '/v1/imports?per_page=1', key);
    const { body: list } = await call('GET', `/v1/imports/${body.imports[0].id}/duplicates`, key);
    expect(list.duplicates).toMatchObject([
      { line: 2, reason: 'conflict' },
      { line: 3, reason: 'same' },
    ]);
  });

  it('is counted the same way in a staged import', async () => {
    const { key, row, accountId } = await withConflict('/staged');
    const lines = [row({ amount: '5.00' }), row(), row({ description: 'other' }), movement(accountId)];
    const { body } = await service.call('POST', '/v1/imports', {
      key,
      body: lines.map((line) => JSON.stringify(line)).join('\n'),
      type: 'application/x-ndjson',
    });
    const done = await until('it is done', async () => {
      const { body: it } = await call('GET', `/v1/imports/${body.import.id}`, key);
      return it.import.status === 'done' && it.import;
    });
    expect(done).toMatchObject({ received: 4, inserted: 1, duplicates: 2, changed: 1, conflicts: 1 });
  });

  it('is hidden from other customers and from keys for other accounts, which cannot decide it', async () => {
    const { key } = await withConflict('/other');
    const [{ id }] = await listed(key);
    const { key: other } = await customerWithAccount();
    const { id: otherAccount } = await createAccount(service, key);
    const { body } = await call('POST', '/v1/apikeys', key, { title: 'limited', account: [otherAccount] });
    for (const stranger of [other, body.apikey.apikey]) {
      expect(await listed(stranger)).toEqual([]);
      expectProblem(await call('GET', `/v1/conflicts/${id}`, stranger), 404, 'not-found');
      expectProblem(
        await call('POST', `/v1/conflicts/${id}`, stranger, { decision: 'store' }),
        404,
        'not-found',
      );
    }
  });
});

describe('a known row that is no conflict', () => {
  it('counts as changed when its text or balance differs', async () => {
    const { key, row } = await withConflict('/changed');
    const again = await send(key, [
      row(),
      row({ amount: '100' }),
      row({ name: 'X' }),
      row({ balance: '1.00' }),
    ]);
    expect(again.body.import).toMatchObject({ inserted: 0, duplicates: 4, changed: 2, conflicts: 0 });
    const { body } = await call('GET', `/v1/imports/${again.body.import.id}/duplicates`, key);
    expect(body.duplicates.map(({ reason }: { reason: string }) => reason)).toEqual([
      'same',
      'same',
      'changed',
      'changed',
    ]);
  });

  it('is an assumed duplicate when it has no id, and is stored when the client sends unidentified=store', async () => {
    const { key, accountId, customerId } = await customerWithAccount();
    const rows = [movement(accountId), movement(accountId, { unique_id: ' ' })];
    await send(key, rows);
    const again = await send(key, rows);
    expect(again.body.import).toMatchObject({ inserted: 0, duplicates: 2, assumed_duplicates: 2 });
    const { body } = await call('POST', '/v1/imports?unidentified=store', key, { transactions: rows });
    expect(body.import).toMatchObject({ inserted: 2, duplicates: 0, assumed_duplicates: 0 });
    expect(await storedRows(customerId)).toBe(4);
  });

  it.each(['name', 'code', 'opponent_id', 'opponent_iban'])(
    'is new when it has no id and its %s differs',
    async (field) => {
      const { key, accountId } = await customerWithAccount();
      await send(key, [movement(accountId)]);
      const { body } = await send(key, [movement(accountId, { [field]: 'another' })]);
      expect(body.import).toMatchObject({ inserted: 1, assumed_duplicates: 0 });
    },
  );
});

it('a dry run of a conflict shows the stored movement beside the received row', async () => {
  const { key, row, customerId } = await withConflict('/dry');
  const rows = [
    row({ amount: '5.00' }),
    row({ name: 'X' }),
    row({ unique_id: 'c' }),
    row({ unique_id: 'c', dc: 'Debit' }),
  ];
  const { body } = await call('POST', '/v1/imports?dry_run=true', key, { transactions: rows });
  expect(body.dry_run).toMatchObject({ received: 4, inserted: 1, duplicates: 1, changed: 1, conflicts: 2 });
  expect(body.transactions).toMatchObject([
    { known: true, reason: 'conflict', amount: '5.00', stored: { amount: '100.00', unique_id: 'a' } },
    { known: true, reason: 'changed', stored: { amount: '100.00' } },
    { known: false, reason: null, stored: null },
    { known: true, reason: 'conflict', stored: null },
  ]);
  expect(await query('SELECT 1 FROM transactions WHERE customer_id = ?', [customerId])).toHaveLength(2);
});
