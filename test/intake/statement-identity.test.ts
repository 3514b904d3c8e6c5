import { gzipSync } from 'node:zlib';
import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { renderFile, STATEMENT_IBAN } from '../../bench/statement-files.ts';
import { useService } from '../support/service.ts';
import { createStatementCustomer, mt940, type TestEntry } from './statement-files.ts';

const service = useService({ roles: ['api'] });

const customer = () => createStatementCustomer(service);
const of = (day: number, amount: number, reference?: string): TestEntry => ({
  day,
  amount,
  ...(reference === undefined ? {} : { reference }),
});

describe('a statement', () => {
  it('is stored with the balance after each movement, in the account that it names', async () => {
    const { importFile, movements, accountId } = await customer();
    const it = await importFile(mt940([of(2, 250.5), of(3, -1_300)]));
    expect(it).toMatchObject({
      status: 'done',
      received: 2,
      inserted: 2,
      rejected: 0,
      statements: 1,
      warnings: 0,
    });
    expect(await movements()).toMatchObject([
      {
        account_id: Number(accountId),
        date_issue: '2026-03-02',
        dc: 'Credit',
        amount: '250.50',
        balance: '1250.50',
      },
      { date_issue: '2026-03-03', dc: 'Debit', amount: '1300.00', balance: '-49.50' },
    ]);
  });

  it('marks its account as updated even when it is already known', async () => {
    const { importFile, accountId } = await customer();
    const file = mt940([of(2, 10)]);
    await importFile(file);
    const { database } = service.runtime;
    await database.query("UPDATE accounts SET last_work = '2020-01-01' WHERE id = ?", [accountId]);
    await importFile(file);
    const [row] = await database.query<{ is_recent: number }[]>(
      'SELECT last_work > NOW(6) - INTERVAL 1 HOUR AS is_recent FROM accounts WHERE id = ?',
      [accountId],
    );
    expect(Number(row?.is_recent)).toBe(1);
  });

  it('without entries is done with zero rows', async () => {
    const { importFile } = await customer();
    expect(await importFile(mt940([]))).toMatchObject({
      status: 'done',
      received: 0,
      statements: 1,
      warnings: 0,
    });
  });

  it('whose closing balance differs is stored, with a warning', async () => {
    const { importFile } = await customer();
    const it = await importFile(mt940([of(2, 10)], { closing: 1_011 }));
    expect(it).toMatchObject({ status: 'done', inserted: 1, warnings: 1 });
    expect(it.warningMessages).toEqual([expect.stringContaining('a difference of 1.00')]);
  });

  it('of an account that the customer does not have is rejected, and the account is created on request', async () => {
    const { importFile, movements } = await customer();
    const file = mt940([of(2, 10), of(2, 11)], { account: 'DE89370400440532013000' });
    const refused = await importFile(file);
    expect(refused).toMatchObject({ status: 'done', received: 2, inserted: 0, rejected: 2 });
    expect(refused.errors).toMatchObject([
      {
        path: 'account',
        message: expect.stringContaining('DE89370400440532013000 is not one of your accounts'),
      },
    ]);
    expect(await importFile(file, { create_accounts: 1 })).toMatchObject({ inserted: 2, rejected: 0 });
    expect(await importFile(file, { create_accounts: 1 })).toMatchObject({ inserted: 0, duplicates: 2 });
    expect(await movements()).toHaveLength(2);
  });

  it('goes to the account that its sender names', async () => {
    const { importFile, movements, accountId } = await customer();
    await importFile(mt940([of(2, 10)], { account: '4711' }), { account_id: accountId });
    expect(await movements()).toHaveLength(1);
  });

  it.each<[string, string | Uint8Array, string]>([
    ['an empty file', '', 'The file is empty.'],
    ['a letter', 'Dear Sir or Madam,', 'The file is in no format that is supported.'],
    [
      'a zip without a statement',
      zipSync({ 'a.txt': Buffer.from('x') }),
      'The file a.txt in the zip is in no format',
    ],
  ])('fails with one sentence when the file holds %s', async (_, file, error) => {
    const { importFile } = await customer();
    const it = await importFile(file);
    expect(it).toMatchObject({ status: 'failed', inserted: 0 });
    expect(it.error).toContain(error);
  });

  it('in a zip is stored when a later file of the zip is cut off', async () => {
    const { importFile } = await customer();
    const whole = zipSync(
      { 'a.sta': Buffer.from(mt940([of(2, 10)])), 'b.txt': Buffer.alloc(1_000) },
      { level: 0 },
    );
    const it = await importFile(whole.subarray(0, -1_000));
    expect(it).toMatchObject({ status: 'failed', inserted: 1, received: 1 });
    expect(it.error).toContain('1 row before that is stored.');
  });
});

describe('the identity of movements', () => {
  const march = [of(2, 10, 'A'), of(2, 10, 'B'), of(2, -3, 'C'), of(3, 10, 'D')];
  const file = mt940(march);

  it.each<[string, string | Uint8Array]>([
    ['unchanged', file],
    ['gzipped', gzipSync(file)],
    ['in a zip', zipSync({ 'march.sta': Buffer.from(file) })],
    ['in another encoding', Buffer.from(`\uFEFF${file}`, 'utf16le')],
    ['with other line ends', file.replaceAll('\r\n', '\n')],
    ['with other texts', file.replaceAll('PAYMENT', 'ÖDEME 2')],
    ['without its references', file.replaceAll(/NTRF[A-D]/g, 'NTRFNONREF')],
    ['with new references for all', file.replaceAll(/NTRF([A-D])/g, 'NTRFNEW$1')],
    ['as an interim report', mt940(march, { interim: true })],
  ])('holds for a repeated statement, which stores no movement twice: %s', async (_, again) => {
    const { importFile, movements } = await customer();
    expect(await importFile(file)).toMatchObject({ inserted: 4, duplicates: 0 });
    expect(await importFile(again)).toMatchObject({ status: 'done', inserted: 0, duplicates: 4 });
    expect(await movements()).toHaveLength(4);
  });

  it.each<[string, TestEntry[], TestEntry[], number]>([
    ['overlapping statements', [of(2, 10, 'A'), of(3, 10, 'B')], [of(3, 10, 'B'), of(4, 10, 'C')], 3],
    ['two identical payments in one statement', [of(2, 10)], [of(2, 10), of(2, 10)], 2],
    ['a reference that is used again next month', [of(2, 10, 'A')], [of(9, 10, 'A')], 2],
    [
      'a reference shared by the entries of a batch',
      [of(2, 10, 'A'), of(2, 10, 'A')],
      [of(2, 10, 'A'), of(2, 10, 'A'), of(2, 10, 'A')],
      3,
    ],
    [
      'an entry that was removed and added again',
      [of(2, 10, 'A'), of(2, 20, 'B')],
      [of(2, 20, 'B'), of(2, 10, 'A')],
      2,
    ],
  ])('holds for %s', async (_, first, second, stored) => {
    const { importFile, movements } = await customer();
    await importFile(mt940(first, { interim: true }));
    await importFile(mt940(second, { interim: true }));
    expect(await movements()).toHaveLength(stored);
    await importFile(mt940(second, { interim: true }));
    expect(await movements()).toHaveLength(stored);
  });

  it('holds for an equal payment in a later report of the same day', async () => {
    const { importFile, movements } = await customer();
    await importFile(mt940([of(2, 10, 'A'), of(2, 5, 'B')], { interim: true }));
    await importFile(mt940([of(2, 10, 'C')], { interim: true }));
    expect(await movements()).toHaveLength(3);
    await importFile(mt940([of(2, 10, 'A'), of(2, 5, 'B'), of(2, 10, 'C')]));
    expect(await movements()).toHaveLength(3);
  });

  it('holds for an entry of a day to which a long file returns', async () => {
    const { importFile, accountId } = await customer();
    // More days than the importer keeps counts of.
    const days = 4_000;
    const file = [
      ...renderFile('mt940', { entries: days, perDay: 1 }),
      ...renderFile('mt940', { entries: 1, perDay: 1 }),
    ]
      .join('')
      .replaceAll(STATEMENT_IBAN, 'TR330006100519786457841326');
    expect(await importFile(file, { account_id: accountId })).toMatchObject({
      status: 'done',
      statements: days + 1,
      inserted: days + 1,
      duplicates: 0,
    });
    expect(await importFile(file, { account_id: accountId })).toMatchObject({
      inserted: 0,
      duplicates: days + 1,
    });
  });

  it('holds for a statement with equal payments in several chunks', async () => {
    const { importFile, movements } = await customer();
    const many = Array.from({ length: 2_500 }, (_, i) => of((i % 3) + 1, i % 2 === 0 ? 10 : 20));
    await importFile(mt940(many.slice(0, 700)));
    expect(await importFile(mt940(many))).toMatchObject({ inserted: 1_800, duplicates: 700 });
    expect(await importFile(mt940(many))).toMatchObject({ inserted: 0, duplicates: 2_500 });
    expect((await movements()).length).toBe(1_000);
  });
});
