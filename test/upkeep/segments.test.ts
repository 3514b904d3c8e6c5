import { describe, expect, it } from 'vitest';
import { advanceImportLocks, segmentsMade } from '../../bench/filled-tables.ts';
import { storeHistory } from '../../bench/history.ts';
import { inTransaction } from '../../src/database/transaction.ts';
import { makeSegments, SEGMENT_SIZE } from '../../src/movements/segments.ts';
import { startMaintenance } from '../../src/upkeep/worker.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useOwnService } from '../support/service.ts';

const service = useOwnService({ because: 'segments are made for all customers', roles: ['api', 'importer'] });

interface Segment {
  account_id: string;
  last_id: string;
  movements: number;
  first_date_issue: string;
  last_date_issue: string;
}

const readSegments = (customerId: string): Promise<Segment[]> =>
  service.runtime.database.query(
    `SELECT account_id, last_id, movements, first_date_issue, last_date_issue FROM transaction_segments
     WHERE customer_id = ? ORDER BY last_id, account_id`,
    [customerId],
  );

/** The segments that the stored movements fill, each of `size` of them in the order of ids. */
async function expectedSegments(customerId: string, size: number): Promise<Segment[]> {
  const rows = await service.runtime.database.query<{ id: string; account_id: string; date_issue: string }[]>(
    'SELECT id, account_id, date_issue FROM transactions WHERE customer_id = ? ORDER BY id',
    [customerId],
  );
  const segments: Segment[] = [];
  for (let end = size; end <= rows.length; end += size) {
    const part = rows.slice(end - size, end);
    const accounts = [...new Set(part.map(({ account_id }) => account_id))].sort(
      (a, b) => Number(a) - Number(b),
    );
    for (const account_id of ['0', ...accounts]) {
      const own = part.filter((row) => account_id === '0' || row.account_id === account_id);
      const days = own.map(({ date_issue }) => date_issue).sort();
      segments.push({
        account_id,
        last_id: part.at(-1)?.id ?? '',
        movements: own.length,
        first_date_issue: days[0] ?? '',
        last_date_issue: days.at(-1) ?? '',
      });
    }
  }
  return segments;
}

async function customerWithAccounts() {
  const { api_key: key, customer } = await service.customer();
  const accounts = [await createAccount(service, key), await createAccount(service, key)].map(({ id }) => id);
  return { key, customerId: customer.id, accounts };
}

const batch = (number: number, accounts: string[], length = 40) =>
  Array.from({ length }, (_, i) =>
    movement(accounts[i % 3 === 0 ? 0 : 1] ?? '', {
      unique_id: `${number} ${i}`,
      date_issue: `2026-01-${String(1 + ((number * 7 + i) % 31)).padStart(2, '0')}`,
    }),
  );

const countOf = async (customerId: string) => {
  const [row] = await service.runtime.database.query<{ movements: string }[]>(
    'SELECT movements FROM import_locks WHERE customer_id = ?',
    [customerId],
  );
  return Number(row?.movements);
};

describe('segments', () => {
  it('are made once each by many processes at once, while imports go on that include known movements', async () => {
    const { database } = service.runtime;
    const { key, customerId, accounts } = await customerWithAccounts();
    const size = 9;
    let importing = true;
    const imports = (async () => {
      for (let number = 0; number < 12; number += 1) {
        await importMovements(service, key, [
          ...batch(number, accounts),
          ...batch(Math.max(0, number - 1), accounts, 10),
        ]);
      }
      // More movements than the API stores itself, so the importer stores them.
      await importMovements(service, key, batch(20, accounts, 150));
    })().finally(() => {
      importing = false;
    });
    const makers = Array.from({ length: 4 }, async () => {
      while (importing) await makeSegments(database, { size, most: 3 });
    });
    await Promise.all([imports, ...makers]);
    expect(await countOf(customerId)).toBe(12 * 40 + 150);

    const made = await Promise.all([1, 2, 3].map(() => makeSegments(database, { size })));
    expect(await makeSegments(database, { size })).toBe(0);
    const segments = await readSegments(customerId);
    expect(segments).toEqual(await expectedSegments(customerId, size));
    expect(segments.filter(({ account_id }) => account_id === '0')).toHaveLength(70);
    expect(Math.max(...made)).toBeLessThanOrEqual(70);
  });

  it('of a backlog are made a few at a time, for all customers', async () => {
    const { database } = service.runtime;
    const some = [await customerWithAccounts(), await customerWithAccounts()];
    for (const { key, accounts } of some) await importMovements(service, key, batch(0, accounts));
    expect(await makeSegments(database, { size: 10, most: 5 })).toBe(5);
    expect(await makeSegments(database, { size: 10, most: 5 })).toBe(3);
    expect(await makeSegments(database, { size: 10, most: 5 })).toBe(0);
    for (const { customerId } of some)
      expect(await readSegments(customerId)).toEqual(await expectedSegments(customerId, 10));
  });

  it('do not make imports wait, and do not wait for imports', async () => {
    const { database } = service.runtime;
    const { key, customerId, accounts } = await customerWithAccounts();
    await importMovements(service, key, batch(0, accounts));
    await makeSegments(database, { size: 10 });
    await inTransaction(database, async (sql) => {
      await sql.query('SELECT 1 FROM segment_checkpoints WHERE customer_id = ? FOR UPDATE', [customerId]);
      await importMovements(service, key, batch(1, accounts));
    });
    await inTransaction(database, async (sql) => {
      await sql.query('SELECT 1 FROM import_locks WHERE customer_id = ? FOR UPDATE', [customerId]);
      expect(await makeSegments(database, { size: 10 })).toBe(4);
    });
  });

  it('contain no movement that is not committed or that the importer has not passed', async () => {
    const { database } = service.runtime;
    const { key, customerId, accounts } = await customerWithAccounts();
    await importMovements(service, key, batch(0, accounts, 15));
    // As if these movements were counted, because the count only tells where to look.
    await storeHistory(database, [{ customerId, accountId: accounts[0] ?? '' }], 100);
    await database.query('UPDATE import_locks SET movements = 115 WHERE customer_id = ?', [customerId]);
    expect(await makeSegments(database, { size: 10 })).toBe(1);
    expect(await readSegments(customerId)).toEqual((await expectedSegments(customerId, 10)).slice(0, 3));
  });

  it('are made by the maintenance worker from stored movements', async () => {
    const { database } = service.runtime;
    const { customerId, accounts } = await customerWithAccounts();
    await storeHistory(
      database,
      accounts.map((accountId) => ({ customerId, accountId })),
      2.5 * SEGMENT_SIZE,
    );
    await advanceImportLocks(database);
    const worker = startMaintenance(service.runtime);
    await segmentsMade(database);
    await worker.stop();
    const segments = await readSegments(customerId);
    expect(segments).toHaveLength(2 * 3);
    expect(segments).toEqual(await expectedSegments(customerId, SEGMENT_SIZE));
  });
});
