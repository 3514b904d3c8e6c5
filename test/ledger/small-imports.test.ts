import { describe, expect, it } from 'vitest';
import { MAX_GROUP_MOVEMENTS } from '../../src/ledger/group-commit.ts';
import { useImports } from '../intake/sent-imports.ts';
import { movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

// No importer: everything that is stored was stored inline.
const service = useService({ roles: ['api', 'delivery'] });
const { customerWithAccount, send, query, storedRows } = useImports(service);
const receiver = useReceiver();

describe('a small import', () => {
  it('is done when it is answered, without being staged, and its movements are delivered', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    await subscribe(service, key, `${receiver.url}/one`);
    const answer = await send(key, [movement(accountId), movement(accountId)]);
    expect([answer.status, answer.headers.get('location')]).toEqual([
      202,
      `/v1/imports/${answer.body.import.id}`,
    ]);
    const { received_at, started_at, finished_at, ...counts } = answer.body.import;
    expect(counts).toMatchObject({ status: 'done', received: 2, inserted: 2, duplicates: 0, deliveries: 2 });
    expect([received_at, started_at, finished_at].toSorted()).toEqual([received_at, started_at, finished_at]);
    expect(await query('SELECT 1 FROM import_parts WHERE import_id = ?', [counts.id])).toEqual([]);
    await until('two POSTs', () => receiver.at('/one').length === 2);
    const uniqueIds = await query<{ unique_id: string }>(
      'SELECT CONVERT(unique_id USING utf8mb4) AS unique_id FROM transactions WHERE customer_id = ? ORDER BY id',
      [customerId],
    );
    expect(uniqueIds.map(({ unique_id }) => unique_id.replace(/:.*:/, ':'))).toEqual([
      'content:1',
      'content:2',
    ]);
  });

  it('that is sent beside many others is stored once, counted separately and delivered once', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    await subscribe(service, key, `${receiver.url}/many`);
    const answers = await Promise.all(
      Array.from({ length: 120 }, (_, i) => send(key, [movement(accountId, { unique_id: `many ${i}` })])),
    );
    for (const { status, body } of answers) {
      expect([status, body.import]).toMatchObject([
        202,
        { status: 'done', received: 1, inserted: 1, duplicates: 0, deliveries: 1 },
      ]);
    }
    expect(await storedRows(customerId)).toBe(120);
    await until('120 POSTs', () => receiver.at('/many').length >= 120);
    expect(new Set(receiver.at('/many').map(({ headers }) => headers['webhook-id'])).size).toBe(120);
    // Ids and date_readed grow together across transactions.
    const rows = await query<{ date_readed: Date }>(
      'SELECT date_readed FROM transactions WHERE customer_id = ? ORDER BY id',
      [customerId],
    );
    expect(rows).toEqual(rows.toSorted((a, b) => a.date_readed.getTime() - b.date_readed.getTime()));
  });

  it('is staged when it has more movements than are stored inline', async () => {
    const { key, accountId } = await customerWithAccount();
    const rows = Array.from({ length: MAX_GROUP_MOVEMENTS + 1 }, () => movement(accountId));
    expect((await send(key, rows)).body.import).toMatchObject({ status: 'queued', inserted: 0 });
    expect((await send(key, rows.slice(1))).body.import).toMatchObject({
      status: 'done',
      inserted: MAX_GROUP_MOVEMENTS,
    });
  });

  it('updates its accounts', async () => {
    const { key, accountId } = await customerWithAccount();
    await send(key, [movement(accountId, { balance: '77.70' })]);
    const { body } = await service.call('GET', `/v1/accounts/${accountId}`, { key });
    expect(body.accounts[0]).toMatchObject({ balance: '77.70', last_update: expect.any(String) });
  });
});

describe('an Idempotency-Key of small imports', () => {
  const once = { 'Idempotency-Key': 'once' };

  it('returns the first import again, and is refused for another body', async () => {
    const { key, accountId } = await customerWithAccount();
    const first = await send(key, [movement(accountId)], once);
    const again = await send(key, [movement(accountId)], once);
    expect([again.status, again.body]).toEqual([202, first.body]);
    expectProblem(await send(key, [], once), 409, 'idempotency-key-reused');
  });

  it('of several simultaneous requests leads to one import', async () => {
    const { key, customerId, accountId } = await customerWithAccount();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send(key, [movement(accountId)], once)),
    );
    const accepted = answers.filter(({ status }) => status === 202);
    for (const answer of answers) if (answer.status !== 202) expectProblem(answer, 409);
    expect(new Set(accepted.map(({ body }) => body.import.id)).size).toBe(1);
    expect(await query('SELECT id FROM imports WHERE customer_id = ?', [customerId])).toHaveLength(1);
  });
});
