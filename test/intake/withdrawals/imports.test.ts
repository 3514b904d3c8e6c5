import { describe, expect, it } from 'vitest';
import { tellBalances } from '../../../src/upkeep/events/tell-balances.ts';
import { dayStatement } from '../../support/day-statement.ts';
import { createAccount, importMovements, movement } from '../../support/movements.ts';
import { useService } from '../../support/service.ts';
import { NOWHERE } from '../../support/subscriber.ts';
import { subscribe } from '../../support/webhooks.ts';
import { listed, upload, withdrawn } from './withdrawn.ts';

const service = useService({ roles: ['api', 'importer'] });

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

async function createCustomer() {
  const { api_key: key, customer } = await service.customer();
  const account = await createAccount(service, key, { iban: 'TR330006100519786457841326' });
  return { key, customerId: customer.id, accountId: account.id };
}

const amounts = (movements: readonly { amount: string }[]) => movements.map(({ amount }) => amount);

describe('an import that is withdrawn', () => {
  it('leaves the listing, and the same rows are new afterwards', async () => {
    const { key, accountId } = await createCustomer();
    const rows = ['1.00', '2.00', '3.00'].map((amount) =>
      movement(accountId, { amount, unique_id: `u${amount}` }),
    );
    const kept = await importMovements(service, key, [
      movement(accountId, { amount: '9.00', unique_id: 'k' }),
    ]);
    const { id, inserted } = await importMovements(service, key, rows);
    expect(inserted).toBe(3);
    const before = await listed(service, key);

    const withdrawal = await withdrawn(service, key, `imports/${id}`);
    expect(withdrawal).toMatchObject({
      import_id: id,
      statement_id: null,
      status: 'done',
      matched: 3,
      withdrawn: 3,
      kept: 0,
      reason: 'wrong file',
      finished_at: expect.any(String),
    });
    expect(amounts(await listed(service, key))).toEqual(['9.00']);

    const again = await importMovements(service, key, rows);
    expect(again).toMatchObject({ inserted: 3, duplicates: 0 });
    const after = await listed(service, key);
    expect(amounts(after)).toEqual(['9.00', '1.00', '2.00', '3.00']);
    const newest = Math.max(...before.map((it) => it.id));
    expect(after.slice(1).every((it) => it.id > newest + 3)).toBe(true);
    expect(await listed(service, key, `import_id=${kept.id}`)).toHaveLength(1);
  });

  it('is withdrawn once, however often it is asked for', async () => {
    const { key, accountId } = await createCustomer();
    const { id } = await importMovements(service, key, [movement(accountId, { unique_id: 'once' })]);
    const first = await withdrawn(service, key, `imports/${id}`);
    expect(await withdrawn(service, key, `imports/${id}`, 'another reason')).toEqual(first);
    const { body } = await service.call('GET', '/v1/withdrawals', { key });
    expect(body.withdrawals).toEqual([first]);
  });

  it('keeps what another JSON import has as a duplicate, until that is withdrawn too', async () => {
    const { key, accountId } = await createCustomer();
    const rows = ['1.00', '2.00'].map((amount) => movement(accountId, { amount, unique_id: amount }));
    const first = await importMovements(service, key, rows);
    const second = await importMovements(service, key, rows.slice(0, 1));
    expect(await withdrawn(service, key, `imports/${first.id}`)).toMatchObject({ withdrawn: 1, kept: 1 });
    expect(amounts(await listed(service, key))).toEqual(['1.00']);
    expect(await withdrawn(service, key, `imports/${second.id}`)).toMatchObject({ withdrawn: 1, kept: 0 });
    expect(await listed(service, key)).toEqual([]);
  });

  it('keeps what a statement of another file has, until that is withdrawn too', async () => {
    const { key, accountId } = await createCustomer();
    const long = await upload(service, key, dayStatement(5, 5, 500, [100, -17.29, 8]));
    const short = await upload(service, key, dayStatement(5, 5, 500, [100, -17.29]));
    expect(short).toMatchObject({ inserted: 0, duplicates: 2 });
    expect(await withdrawn(service, key, `imports/${long.id}`)).toMatchObject({ withdrawn: 1, kept: 2 });
    const { body } = await service.call('GET', `/v1/accounts/${accountId}/statements`, { key });
    expect(body.statements.map((it: { import_id: number }) => it.import_id)).toEqual([short.id]);
    expect(amounts(await listed(service, key))).toEqual(['100.00', '17.29']);
    expect(await withdrawn(service, key, `imports/${short.id}`)).toMatchObject({ withdrawn: 2, kept: 0 });
    expect(await listed(service, key)).toEqual([]);
    expect(await query('SELECT * FROM repeated_entries WHERE account_id = ?', accountId)).toEqual([]);
  });

  it('may be of the wrong account', async () => {
    const { key, accountId } = await createCustomer();
    const right = await createAccount(service, key, { title: 'Doğru', number: '42' });
    const file = dayStatement(5, 5, 500, [100, -17.29]);
    const wrong = await upload(service, key, file);
    await withdrawn(service, key, `imports/${wrong.id}`);
    const [account] = await query<{ balance: string | null }>(
      'SELECT balance FROM accounts WHERE id = ?',
      accountId,
    );
    expect(account?.balance).toBeNull();
    const sent = await upload(service, key, file, `?account_id=${right.id}&force_account=true`);
    expect(sent).toMatchObject({ inserted: 2, duplicates: 0 });
    expect((await listed(service, key)).map(({ account_id }) => String(account_id))).toEqual([
      right.id,
      right.id,
    ]);
  });
});

describe('a statement that is withdrawn', () => {
  it('makes room for the one that replaces it', async () => {
    const { key, accountId } = await createCustomer();
    await upload(service, key, dayStatement(4, 4, 400, [100]));
    await upload(service, key, dayStatement(5, 5, 500, [100, -17.29]));
    const replaced = await upload(service, key, dayStatement(5, 5, 500, [105, -17.29]));
    await upload(service, key, dayStatement(6, 6, 587.71, [1]));
    const [statement] = replaced.contradicts;
    const completeness = async () =>
      (await service.call('GET', `/v1/accounts/${accountId}/completeness`, { key })).body.completeness
        ?.status ??
      (await service.call('GET', `/v1/accounts/${accountId}/completeness`, { key })).body.status;
    expect(await completeness()).toBe('contradictory');
    const { body: plan } = await service.call('POST', `/v1/statements/${statement}/withdraw?dry_run=true`, {
      key,
    });
    expect(plan.withdrawal).toEqual({
      import_id: expect.any(Number),
      statement_id: statement,
      matched: 2,
      withdrawn: 2,
      kept: 0,
      is_whole: true,
      statements: 1,
      unlisted_import_id: null,
      completeness: [{ account_id: Number(accountId), before: 'contradictory', after: 'complete' }],
    });
    expect(
      plan.transactions.map(({ amount, outcome }: { amount: string; outcome: string }) => [amount, outcome]),
    ).toEqual([
      ['100.00', 'withdrawn'],
      ['17.29', 'withdrawn'],
    ]);
    expect(await withdrawn(service, key, `statements/${statement}`)).toMatchObject({
      statement_id: statement,
      withdrawn: 2,
      kept: 0,
    });
    expect(await completeness()).toBe('complete');
    expect(amounts(await listed(service, key))).toEqual(['100.00', '105.00', '17.29', '1.00']);
  });
});

describe('closing balances', () => {
  it('are told again when the one that was told last is withdrawn', async () => {
    const { key, customerId, accountId } = await createCustomer();
    await subscribe(service, key, NOWHERE, { event: 'BALANCE_UPDATED', account: Number(accountId) });
    const told = async () => {
      await tellBalances(service.runtime.database);
      const events = await query<{ data: string }>(
        "SELECT data FROM operational_events WHERE customer_id = ? AND type = 'balance.updated' ORDER BY id",
        customerId,
      );
      return events.map(({ data }) => JSON.parse(data).balance);
    };
    await upload(service, key, dayStatement(4, 4, 400, [100]));
    expect(await told()).toEqual(['500.00']);
    const { id } = await upload(service, key, dayStatement(5, 5, 500, [100, -17.29]));
    expect(await told()).toEqual(['500.00', '582.71']);
    await withdrawn(service, key, `imports/${id}`);
    expect(await told()).toEqual(['500.00', '582.71', '500.00']);
    expect(await told()).toHaveLength(3);
  });
});

describe('conflicts', () => {
  const conflict = async (key: string) =>
    (await service.call('GET', '/v1/conflicts', { key })).body.conflicts as {
      id: number;
      status: string;
      stored: { id: number; amount: string };
    }[];

  it('an open conflict takes over the unique id of the withdrawn movement', async () => {
    const { key, accountId } = await createCustomer();
    const [wrong, right] = ['1.00', '2.00'].map((amount) => movement(accountId, { amount, unique_id: 'c' }));
    const first = await importMovements(service, key, [wrong as object]);
    const second = await importMovements(service, key, [right as object]);
    expect(second).toMatchObject({ inserted: 0, conflicts: 1 });
    await withdrawn(service, key, `imports/${first.id}`);
    expect(await listed(service, key)).toMatchObject([{ amount: '2.00', unique_id: 'c' }]);
    expect(await conflict(key)).toMatchObject([{ status: 'stored' }]);
    expect(await importMovements(service, key, [right as object])).toMatchObject({
      inserted: 0,
      duplicates: 1,
    });
    expect(await importMovements(service, key, [wrong as object])).toMatchObject({
      inserted: 0,
      conflicts: 1,
    });
    expect(await listed(service, key, `import_id=${second.id}`)).toHaveLength(1);
  });

  it('a stored conflict takes it over too, and its row stays a duplicate', async () => {
    const { key, accountId } = await createCustomer();
    const [wrong, right] = ['1.00', '2.00'].map((amount) => movement(accountId, { amount, unique_id: 'c' }));
    const first = await importMovements(service, key, [wrong as object]);
    await importMovements(service, key, [right as object]);
    const [open] = await conflict(key);
    await service.call('POST', `/v1/conflicts/${open?.id}`, { key, body: { decision: 'store' } });
    await withdrawn(service, key, `imports/${first.id}`);
    expect(await listed(service, key)).toMatchObject([{ amount: '2.00', unique_id: 'c' }]);
    expect(await importMovements(service, key, [right as object])).toMatchObject({
      inserted: 0,
      duplicates: 1,
    });
  });

  it('what a withdrawn import has brought is ignored, and conflicts anew when it comes again', async () => {
    const { key, accountId } = await createCustomer();
    const [right, wrong] = ['1.00', '2.00'].map((amount) => movement(accountId, { amount, unique_id: 'c' }));
    await importMovements(service, key, [right as object]);
    const second = await importMovements(service, key, [wrong as object]);
    await withdrawn(service, key, `imports/${second.id}`);
    expect(await conflict(key)).toMatchObject([{ status: 'ignored' }]);
    expect(await importMovements(service, key, [wrong as object])).toMatchObject({
      conflicts: 1,
      duplicates: 0,
    });
    expect(await conflict(key)).toMatchObject([{ status: 'open' }]);
  });
});
