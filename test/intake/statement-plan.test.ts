import { beforeAll, describe, expect, it } from 'vitest';
import { storeHistory } from '../../bench/history.ts';
import type { Sql } from '../../src/database/transaction.ts';
import { linkReversal } from '../../src/intake/importer/details.ts';
import { readAccountsOfImport } from '../../src/intake/importer/find-account.ts';
import { KnownDaysError, OutdatedIdentitiesError } from '../../src/intake/known/entry.ts';
import { createFileEntries } from '../../src/intake/known/file-entries.ts';
import { createChunkIdentifier } from '../../src/intake/known/identify-chunk.ts';
import { createFileIdentifier } from '../../src/intake/known/identify-file.ts';
import { readStoredRows } from '../../src/intake/known/read-stored.ts';
import { useDatabase } from '../support/database.ts';
import { findExplain } from '../support/explain.ts';
import { watchReads } from '../support/reads.ts';
import { entriesOf, newestOf } from './stored-movements.ts';

const { database } = useDatabase();

const CUSTOMERS = 200;
const ACCOUNTS_EACH = 10;
const ROWS = 200_000;
/** Accounts with movements. Each has 55 on a day. */
const OWNERS = ['11', '12', '13', '14', '15'].map((accountId) => ({ customerId: '1', accountId }));

interface Step {
  table: string | null;
  type: string | null;
  key: string | null;
  Extra: string | null;
}

/** Explains each statement that `work` runs, and counts what MySQL reads for it. */
async function watch<T>(work: (sql: Sql) => Promise<T>): Promise<{ result: T; read: number; steps: Step[] }> {
  const statements: [string, unknown[] | undefined][] = [];
  const { result, read } = await watchReads(database, (session) =>
    work({
      query(statement, values) {
        statements.push([statement, values]);
        return session.query(statement, values);
      },
    }),
  );
  const explain = await findExplain(database);
  const steps: Step[] = [];
  for (const [statement, values] of statements)
    steps.push(...(await database.query<Step[]>(`${explain} ${statement}`, values)));
  return { result, read, steps };
}

beforeAll(async () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
  const insert = (into: string, rows: unknown[][]) => database.query(`INSERT INTO ${into} VALUES ?`, [rows]);
  await insert(
    'customers (id, name, api_secret)',
    numbers(CUSTOMERS).map((id) => [id, 'Müşteri', '-']),
  );
  await insert(
    'import_locks (customer_id)',
    numbers(CUSTOMERS).map((id) => [id]),
  );
  await insert(
    'banks (id, customer_id, name)',
    numbers(CUSTOMERS).map((id) => [id, id, 'Banka']),
  );
  await insert(
    'api_keys (id, customer_id, title, prefix, key_hash, all_accounts, scopes)',
    numbers(CUSTOMERS).map((id) => [
      id,
      id,
      'Anahtar',
      'p',
      Buffer.from(String(id).padStart(32)),
      id % 2,
      'all',
    ]),
  );
  await insert(
    'accounts (id, customer_id, bank_id, title, currency)',
    numbers(CUSTOMERS * ACCOUNTS_EACH).map((id) => {
      const customer = Math.ceil(id / ACCOUNTS_EACH);
      return [id + ACCOUNTS_EACH, customer, customer, 'Hesap', 'TRY'];
    }),
  );
  await insert(
    'api_key_accounts (api_key_id, account_id)',
    numbers(CUSTOMERS).map((id) => [id, (id - 1) * ACCOUNTS_EACH + ACCOUNTS_EACH + 1]),
  );
  await insert(
    'imports (id, customer_id, api_key_id, format, status)',
    numbers(CUSTOMERS).map((id) => [id, id, id, 'auto', 'queued']),
  );
  for (const table of ['accounts', 'api_keys', 'api_key_accounts', 'imports', 'import_locks'])
    await database.query(`ANALYZE TABLE ${table}`);
  await storeHistory(database, OWNERS, ROWS);
});

/** Days in the middle of the history. */
const daysOf = (accountId: string, count: number): { accountId: string; date: string }[] =>
  Array.from({ length: count }, (_, i) => ({
    accountId,
    date: new Date(Date.UTC(2024, 6, 1 + i)).toISOString().slice(0, 10),
  }));

describe('the stored movements on the days of a file', () => {
  it.each([
    ['one day', 1],
    ['a month', 31],
    ['200 days', 200],
  ])('are read by ranges of an index: %s', async (_, count) => {
    const days = daysOf('11', count).map(({ date }) => date);
    const range = { from: days[0] as string, to: days.at(-1) as string };
    const { result, read, steps } = await watch((sql) => readStoredRows(sql, '11', [range]));
    const movements = result.movements.length;
    expect(movements).toBeGreaterThan(40 * count);
    // The index entry, the row, a lookup of its details, and the steps beyond the ranges.
    expect(read).toBeLessThan(3 * movements + 50);
    const plan = JSON.stringify(steps);
    const ofMovements = steps.find(({ table }) => table === 't');
    // One day is a single key.
    expect([ofMovements?.type, ofMovements?.key], plan).toEqual([
      count === 1 && ofMovements?.type === 'ref' ? 'ref' : 'range',
      'transactions_account_date',
    ]);
    const ofRepeated = steps.find(({ table }) => table === 'repeated_entries');
    expect(['range', 'ref', 'ALL', undefined], plan).toContain(ofRepeated?.type);
    for (const step of steps) expect(step.Extra ?? '', plan).not.toMatch(/filesort|temporary/);
  });

  it('are noticed with one index step per day, and looked for only once', async () => {
    const newest = await newestOf(database);
    const empty = entriesOf('1999-01-01', ['1.00']).concat(entriesOf('1999-01-02', ['1.00']));
    // MySQL reads its dictionary when a table is opened.
    await createChunkIdentifier('1')(database, newest, entriesOf('1999-02-01', ['1.00']));
    const identify = createChunkIdentifier('1');
    const { read, steps } = await watch((sql) => identify(sql, newest, empty));
    expect(read).toBeLessThan(20);
    for (const step of steps) expect(step.type, JSON.stringify(steps)).toBe('range');
    expect((await watch((sql) => identify(sql, newest, empty))).steps).toEqual([]);
    const known = entriesOf(daysOf('11', 1)[0]?.date ?? '', ['1.00']);
    await expect(createChunkIdentifier('1')(database, newest, known)).rejects.toThrow(KnownDaysError);
  });

  it('need no reading of thousands of statements of later days', async () => {
    const dayOf = (at: number) => new Date(Date.UTC(2010, 0, 1 + at)).toISOString().slice(0, 10);
    const daily = Array.from({ length: 2_000 }, (_, at) => [dayOf(at), dayOf(at)]);
    const monthly = Array.from({ length: 60 }, (_, at) => [dayOf(30 * at), dayOf(30 * at + 29)]);
    const yearly = [0, 366, 732].map((at) => [dayOf(at), dayOf(at + 365)]);
    await database.query(
      `INSERT INTO statements (customer_id, account_id, import_id, line, format, kind, credits, debits, entries, from_date, to_date, fingerprint) VALUES ?`,
      [
        [...daily, ...monthly, ...yearly].map((days, at) => [
          1,
          16,
          2,
          0,
          'camt',
          'final',
          0,
          0,
          1,
          ...days,
          Buffer.from(String(at).padStart(16)),
        ]),
      ],
    );
    const newest = await newestOf(database);
    const identify = (date: string, sql: Sql = database) =>
      createChunkIdentifier('1')(sql, newest, entriesOf(date, ['1.00'], '16'));
    await identify('2009-11-01');
    const { result, read } = await watch((sql) => identify('2009-12-01', sql));
    expect(result).toHaveLength(1);
    expect(read).toBeLessThan(30);
    await expect(identify('2009-12-29')).rejects.toThrow(KnownDaysError);
    await expect(identify('2012-12-30')).rejects.toThrow(KnownDaysError);
  });

  it('are read again without the lock after other imports have stored movements, and with the lock after four attempts', async () => {
    const date = daysOf('11', 1)[0]?.date ?? '';
    const entries = entriesOf(date, ['1.00']);
    const file = createFileEntries();
    file.add({ entries, ended: [] });
    const options = { customerId: '1', importId: '1', accounts: file.end(), mayAssume: true };
    const identifier = createFileIdentifier(options);
    const identify = async () => identifier.identify(database, await newestOf(database), entries);
    const setNewest = async () =>
      database.query('UPDATE import_locks SET last_transaction_id = ? WHERE customer_id = 1', [
        await newestOf(database),
      ]);
    const storeAnother = async (uniqueId: string) => {
      await database.query(
        `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed)
         VALUES (1, 11, 2, ?, 'Credit', 7, ?, NOW(6))`,
        [uniqueId, date],
      );
      await setNewest();
    };
    await setNewest();
    await identifier.prepare(database);
    expect(await identify()).toHaveLength(1);
    await storeAnother('first');
    await expect(identify()).rejects.toThrow(OutdatedIdentitiesError);
    await identifier.prepare(database);
    expect(await identify()).toHaveLength(1);
    for (const uniqueId of ['second', 'third', 'fourth']) {
      await storeAnother(uniqueId);
      await expect(identify()).rejects.toThrow(OutdatedIdentitiesError);
    }
    expect(await identify()).toHaveLength(1);
  });
});

describe('the movement that a reversal cancels', () => {
  it('is found by one index range per day', async () => {
    // The movements of other amounts, on each of the days.
    await database.query(
      'INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed) VALUES ?',
      [
        daysOf('16', 90).flatMap(({ accountId, date }) =>
          Array.from({ length: 50 }, (_, i) => {
            const amount = `${i + 1}.00`;
            return [
              '1',
              accountId,
              '1',
              `statement:${date}:Debit:${amount}:1:R${i}`,
              'Debit',
              amount,
              date,
              date,
            ];
          }),
        ),
      ],
    );
    const [entry] = entriesOf('2024-09-20', ['7.00 R6']);
    if (entry === undefined) throw new Error('no entry');
    const movement = { ...entry.movement, account_id: '16' };
    const newest = String(BigInt(await newestOf(database)) + 1n);
    const { read, steps } = await watch((sql) =>
      linkReversal(sql, { id: newest, movement, reference: 'R6', endToEndId: null }),
    );
    // One movement of each day, its index and its row, and the step beyond it. All have the same reference, so none is linked.
    expect(read).toBeLessThan(400);
    const [seek] = steps;
    expect([seek?.type, seek?.key], JSON.stringify(steps)).toEqual(['range', 'transactions_unique_id']);
  });
});

describe('the accounts that an import’s API key can see', () => {
  it.each([
    ['all accounts', '101'],
    ['some accounts', '102'],
  ])('are found without reading the accounts of other customers: %s', async (_, importId) => {
    const { result, read, steps } = await watch((sql) => readAccountsOfImport(sql, importId));
    expect(result).toHaveLength(importId === '101' ? ACCOUNTS_EACH : 1);
    expect(read).toBeLessThan(5 * ACCOUNTS_EACH);
    for (const { type, key } of steps) {
      expect(type, JSON.stringify(steps)).toMatch(/^(const|eq_ref|ref)$/);
      expect(key).not.toBeNull();
    }
  });
});
