import { describe, expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { createImporter } from '../../src/intake/importer/importer.ts';
import { ACCOUNT_IBAN, dayStatement } from '../support/day-statement.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useOwnService } from '../support/service.ts';
import { subscribe } from '../support/webhooks.ts';

// No importer role: the tests run the imports themselves, so that they can interrupt them.
const service = useOwnService({
  because: 'its customer has many webhooks',
  roles: ['api'],
  config: { webhooksPerCustomer: 450 },
});

const never = new AbortController().signal;

async function staged(rows: number, fields: (i: number) => object = () => ({})) {
  const { api_key: key, customer } = await service.customer();
  const account = await createAccount(service, key);
  const body = Array.from({ length: rows }, (_, i) => JSON.stringify(movement(account.id, fields(i)))).join(
    '\n',
  );
  const answer = await service.call('POST', '/v1/imports', { key, body, type: 'application/x-ndjson' });
  expect(answer.status).toBe(202);
  return { key, customer, account, importId: String(answer.body.import.id) };
}

/** @param dayOf the day of each statement, counted from the first one. */
async function stagedStatements(count: number, dayOf: (n: number) => number) {
  const { api_key: key } = await service.customer();
  await createAccount(service, key, { iban: ACCOUNT_IBAN });
  const body = Array.from({ length: count }, (_, n) => {
    const date = new Date(Date.UTC(2010, 0, 1 + dayOf(n))).toISOString().slice(2, 10).replaceAll('-', '');
    return dayStatement(n + 1, 1, n, []).replaceAll('260301', date);
  }).join('');
  const answer = await service.call('POST', '/v1/imports', { key, body, type: 'application/octet-stream' });
  expect(answer.status).toBe(202);
  return { key, importId: String(answer.body.import.id) };
}

const newImporter = () => {
  const woken: string[][] = [];
  const importer = createImporter({
    database: service.runtime.database,
    reader: createStatementFormats([], READ_SETTINGS),
    log: service.runtime.log,
    wake: async (ids) => void woken.push([...ids]),
  });
  return { importer, woken };
};

const show = async (key: string, importId: string) =>
  (await service.call('GET', `/v1/imports/${importId}`, { key })).body.import;

const storedRows = async (customerId: string) => {
  const [row] = await service.runtime.database.query<{ n: string }[]>(
    'SELECT COUNT(*) AS n FROM transactions WHERE customer_id = ?',
    [customerId],
  );
  return Number(row?.n);
};

const storedStatements = async (importId: string) => {
  const [row] = await service.runtime.database.query<{ n: string }[]>(
    'SELECT COUNT(*) AS n FROM statements WHERE import_id = ?',
    [importId],
  );
  return Number(row?.n);
};

describe('an import', () => {
  it('that is interrupted goes on at its checkpoint, and gives rows without an id the same ids', async () => {
    const { key, customer, importId } = await staged(2_500, () => ({ unique_id: '' }));
    const { importer } = newImporter();
    const shutdown = new AbortController();
    shutdown.abort();
    expect(await importer.run(importId, shutdown.signal)).toBe('given back');
    expect(await storedRows(customer.id)).toBe(1_000);
    expect(await show(key, importId)).toMatchObject({ status: 'running', inserted: 1_000 });
    expect(await importer.run(importId, never)).toBe('done');
    expect(await show(key, importId)).toMatchObject({
      status: 'done',
      received: 2_500,
      inserted: 2_500,
      duplicates: 0,
    });
    expect(await storedRows(customer.id)).toBe(2_500);
  });

  it('of statements without entries goes on at its checkpoint, and keeps each statement once', async () => {
    const { key, importId } = await stagedStatements(2_500, (n) => n);
    const { importer } = newImporter();
    const shutdown = new AbortController();
    shutdown.abort();
    expect(await importer.run(importId, shutdown.signal)).toBe('given back');
    expect(await show(key, importId)).toMatchObject({ status: 'running', statements: 1_000 });
    expect(await importer.run(importId, shutdown.signal)).toBe('given back');
    expect(await storedStatements(importId)).toBe(2_000);
    expect(await importer.run(importId, never)).toBe('done');
    expect(await show(key, importId)).toMatchObject({ status: 'done', received: 0, statements: 2_500 });
    expect(await storedStatements(importId)).toBe(2_500);
  });

  it('of more than 1,000 statements of one account and day fails, and keeps the statements before the limit', async () => {
    const { key, importId } = await stagedStatements(1_001, () => 0);
    expect(await newImporter().importer.run(importId, never)).toBe('done');
    const { status, error } = await show(key, importId);
    expect({ status, error }).toEqual({
      status: 'failed',
      error: expect.stringContaining(
        'more than 1000 final statements of one account that end on the same day',
      ),
    });
    expect(await storedStatements(importId)).toBe(1_000);
  });

  it('that MySQL stores slowly uses smaller chunks, so that other imports of the customer do not wait long', async () => {
    const { customer, key, account, importId } = await staged(3_000);
    const { database } = service.runtime;
    await database.query(`CREATE TRIGGER slow_rows BEFORE INSERT ON transactions FOR EACH ROW
      IF NEW.account_id = ${Number(account.id)} THEN DO SLEEP(0.0015); END IF`);
    const checkpoints: number[] = [];
    const mayGoOn = async () => {
      checkpoints.push(await storedRows(customer.id));
      return true;
    };
    try {
      expect(await newImporter().importer.run(importId, never, { mayGoOn })).toBe('done');
    } finally {
      await database.query('DROP TRIGGER slow_rows');
    }
    const sizes = checkpoints.map((rows, index) => rows - (checkpoints[index - 1] ?? 0));
    expect(sizes[0]).toBe(1_000);
    expect(sizes.at(-1)).toBeLessThanOrEqual(500);
    expect(await show(key, importId)).toMatchObject({ status: 'done', inserted: 3_000 });
  });

  it('that two runs work on at the same time is stored once', async () => {
    const { key, customer, importId } = await staged(3_000);
    const { importer } = newImporter();
    const outcomes = await Promise.all([importer.run(importId, never), importer.run(importId, never)]);
    expect(outcomes.toSorted()).toEqual(['done', 'nothing to do']);
    expect(await storedRows(customer.id)).toBe(3_000);
    expect(await show(key, importId)).toMatchObject({ inserted: 3_000, duplicates: 0 });
  });

  it('that is done is not run again', async () => {
    const { importId } = await staged(1);
    const { importer } = newImporter();
    expect(await importer.run(importId, never)).toBe('done');
    expect(await importer.run(importId, never)).toBe('nothing to do');
    expect(await importer.run('999999', never)).toBe('nothing to do');
  });

  it('that crashes its process ten times fails with the reason, and keeps its bytes', async () => {
    const { key, importId } = await staged(5);
    const { database } = service.runtime;
    // The state after ten runs that were killed.
    await database.query("UPDATE imports SET status = 'running', crash_count = 10 WHERE id = ?", [importId]);
    expect(await newImporter().importer.run(importId, never)).toBe('nothing to do');
    expect(await show(key, importId)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/from row 1 .*10 times/),
    });
    const parts = await database.query<unknown[]>('SELECT 1 FROM import_parts WHERE import_id = ?', [
      importId,
    ]);
    expect(parts).toHaveLength(1);
  });

  it('leaves no staged bytes behind', async () => {
    const { importId } = await staged(10);
    await newImporter().importer.run(importId, never);
    const parts = await service.runtime.database.query<unknown[]>(
      'SELECT 1 FROM import_parts WHERE import_id = ?',
      [importId],
    );
    expect(parts).toEqual([]);
  });

  it('wakes only the webhooks that match', async () => {
    const { key, importId } = await staged(3, () => ({ dc: 'Debit' }));
    const webhook = async (event: string) =>
      String(
        (
          await service.call('POST', '/v1/webhooks', {
            key,
            body: { title: event, endpoint: 'http://127.0.0.1:9/', event, account: 'all' },
          })
        ).body.webhook.id,
      );
    const all = await webhook('NEW_TRANSACTION');
    const debit = await webhook('NEW_DEBIT');
    await webhook('NEW_CREDIT');
    const { importer, woken } = newImporter();
    await importer.run(importId, never);
    expect(woken).toEqual([[all, debit]]);
  });

  it('is delivered to every webhook, however many webhooks there are', async () => {
    const { key, importId } = await staged(2);
    const made: { id: string }[] = [];
    // All at once, some would wait for the database for too long.
    while (made.length < 450)
      made.push(
        ...(await Promise.all(
          Array.from({ length: 15 }, () => subscribe(service, key, 'http://127.0.0.1:9/one-of-many')),
        )),
      );
    const { importer, woken } = newImporter();
    expect(await importer.run(importId, never)).toBe('done');
    expect(await show(key, importId)).toMatchObject({ inserted: 2, deliveries: 900 });
    expect(new Set(woken.flat())).toEqual(new Set(made.map(({ id }) => id)));
    const backlogs = await service.runtime.database.query<{ matched_count: string }[]>(
      'SELECT matched_count FROM webhook_backlogs WHERE webhook_id IN (?)',
      [made.map(({ id }) => id)],
    );
    expect(backlogs.map(({ matched_count }) => Number(matched_count))).toEqual(made.map(() => 2));
  });

  it('is done even when no webhook could be woken: the reconciler finds the due webhooks', async () => {
    const { key, importId } = await staged(1);
    const { database, log } = service.runtime;
    const importer = createImporter({
      database,
      reader: createStatementFormats([], READ_SETTINGS),
      log,
      wake: () => Promise.reject(new Error('Redis is unreachable')),
    });
    expect(await importer.run(importId, never)).toBe('done');
    expect(await show(key, importId)).toMatchObject({ status: 'done', inserted: 1 });
  });

  it('marks an account as updated only when a movement of the account was new', async () => {
    const { key, importId, account } = await staged(1, () => ({ unique_id: 'known' }));
    await newImporter().importer.run(importId, never);
    const other = await createAccount(service, key);
    const lastUpdate = async () =>
      (await service.call('GET', `/v1/accounts/${account.id}`, { key })).body.accounts[0].last_update;
    const database = service.runtime.database;
    await database.query("UPDATE accounts SET last_update = '2020-01-01' WHERE id = ?", [account.id]);
    const body = [movement(account.id, { unique_id: 'known' }), movement(other.id)]
      .map((it) => JSON.stringify(it))
      .join('\n');
    const again = await service.call('POST', '/v1/imports', { key, body, type: 'application/x-ndjson' });
    await newImporter().importer.run(again.body.import.id, never);
    expect(await lastUpdate()).toBe('2020-01-01 03:00:00+03');
  });

  it('keeps the balance of the newest movement, even when an older statement comes later', async () => {
    const first = await staged(1, () => ({ date_issue: '2026-03-01', balance: '10.00' }));
    await newImporter().importer.run(first.importId, never);
    const body = JSON.stringify(movement(first.account.id, { date_issue: '2026-02-01', balance: '99.00' }));
    const { body: answer } = await service.call('POST', '/v1/imports', {
      key: first.key,
      body,
      type: 'application/x-ndjson',
    });
    await newImporter().importer.run(answer.import.id, never);
    const { body: accounts } = await service.call('GET', `/v1/accounts/${first.account.id}`, {
      key: first.key,
    });
    expect(accounts.accounts[0]).toMatchObject({
      balance: '10.00',
      last_update: expect.stringMatching(/\+03$/),
    });
  });
});
