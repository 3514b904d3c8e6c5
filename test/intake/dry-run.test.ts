import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { createAccount } from '../support/movements.ts';
import { useOwnService } from '../support/service.ts';
import { createDryRunCustomer, IBAN } from './dry-run-customer.ts';
import { mt940, type TestEntry } from './statement-files.ts';

const PROFILES_DIR = mkdtempSync(join(tmpdir(), 'dry-run-profiles-'));
writeFileSync(
  join(PROFILES_DIR, 'mine.json'),
  JSON.stringify({
    bank: 'My Bank',
    source: 'its manual',
    delimiter: ';',
    decimalSign: ',',
    dateFormats: ['DD.MM.YYYY'],
    heading: ['My day', 'My amount'],
    columns: { date: 'My day', amount: 'My amount' },
  }),
);

const service = useOwnService({
  because: 'it has profiles',
  roles: ['api', 'importer'],
  config: { profilesDir: PROFILES_DIR },
});

const OTHER = 'DE89370400440532013000';

const customer = () => createDryRunCustomer(service);

const FILE = mt940([
  { day: 2, amount: 250.5, text: 'RENT' },
  { day: 3, amount: -10 },
]);

describe('a dry run of a statement', () => {
  it('shows its rows and balances, and stores nothing', async () => {
    const { dryRun, accountId } = await customer();
    const id = Number(accountId);
    expect(await dryRun(FILE)).toEqual({
      dry_run: {
        status: 'done',
        error: null,
        format: 'mt940',
        received: 2,
        inserted: 2,
        duplicates: 0,
        changed: 0,
        assumed_duplicates: 0,
        assumed_new: 0,
        conflicts: 0,
        rejected: 0,
        statements: 1,
        warnings: 0,
      },
      transactions: [
        {
          line: 5,
          known: false,
          reason: null,
          stored: null,
          account_id: id,
          account: IBAN,
          name: null,
          dc: 'Credit',
          code: 'NTRF',
          amount: '250.50',
          balance: '1250.50',
          description: 'RENT',
          date_issue: '2026-03-02',
          opponent_id: '',
          opponent_iban: '',
          unique_id: '',
        },
        expect.objectContaining({ line: 7, known: false, dc: 'Debit', amount: '10.00', balance: '1240.50' }),
      ],
      errors: [],
      warnings: [],
      statements: [
        {
          line: expect.any(Number),
          file: null,
          format: 'mt940',
          account_id: id,
          account: IBAN,
          problem: null,
          currency: 'TRY',
          opening: '1000.00',
          credits: '250.50',
          debits: '10.00',
          closing: '1240.50',
          difference: '0.00',
        },
      ],
      accounts: [{ id, bank: 'Garanti BBVA', title: 'Ana Hesap', currency: 'TRY', iban: IBAN, number: null }],
    });
  });

  it('says which movements are already known', async () => {
    const { dryRun, importFile } = await customer();
    await importFile(mt940([{ day: 2, amount: 250.5 }]));
    const { dry_run, transactions } = await dryRun(gzipSync(FILE));
    expect(dry_run).toMatchObject({ received: 2, inserted: 1, duplicates: 1 });
    expect(transactions.map(({ known }: { known: boolean }) => known)).toEqual([true, false]);
  });

  it('lists an account that would be created once, even when several statements name it', async () => {
    const { dryRun } = await customer();
    const file = mt940([{ day: 2, amount: 1 }], { account: OTHER });
    const unknown = await dryRun(file);
    expect(unknown.dry_run).toMatchObject({ received: 1, inserted: 0, rejected: 1 });
    expect(unknown.statements).toMatchObject([
      { account: OTHER, account_id: null, problem: expect.stringContaining('is not one of your accounts') },
    ]);
    expect(unknown.errors).toMatchObject([{ path: 'account' }]);
    const later = mt940([{ day: 3, amount: 1 }], { account: OTHER });
    const both = zipSync({ 'a.sta': Buffer.from(file), 'b.sta': Buffer.from(later) });
    const created = await dryRun(both, '&create_accounts=true');
    expect(created.dry_run).toMatchObject({ received: 2, inserted: 2, rejected: 0, statements: 2 });
    expect(created.accounts).toMatchObject([{ id: null, iban: OTHER, title: OTHER, currency: 'TRY' }]);
    expect(created.transactions).toMatchObject([
      { account_id: null, account: OTHER },
      { account_id: null, account: OTHER },
    ]);
    expect(created.statements).toMatchObject([
      { file: 'a.sta', account_id: null, problem: null },
      { file: 'b.sta' },
    ]);
  });

  it('shows a closing balance that differs, and the error that ends the file', async () => {
    const { dryRun } = await customer();
    const odd = mt940([{ day: 2, amount: 10 }], { closing: 1_011 });
    const { statements, warnings, dry_run } = await dryRun(odd);
    expect(statements).toMatchObject([{ closing: '1011.00', difference: '1.00' }]);
    expect(warnings).toMatchObject([{ message: expect.stringContaining('a difference of 1.00') }]);
    expect(dry_run).toMatchObject({ warnings: 1, status: 'done' });
    const whole = zipSync({ 'a.sta': Buffer.from(FILE), 'b.txt': Buffer.alloc(1_000) }, { level: 0 });
    const broken = await dryRun(whole.subarray(0, -1_000));
    expect(broken.dry_run).toMatchObject({
      status: 'failed',
      error: 'The file is a zip, and is empty, broken or cut off.',
      received: 2,
      inserted: 2,
    });
  });

  it('of several chunks counts like an import, and lists only the first 1,000 rows', async () => {
    const { dryRun, importFile } = await customer();
    await importFile(mt940([{ day: 1, amount: 10, reference: 'A' }], { interim: true }));
    const others = Array.from({ length: 1_200 }, (_, at): TestEntry => ({ day: 2, amount: at + 1 }));
    // The first entry is not A. The last entry, in the next chunk, has no reference and is A.
    const file = mt940(
      [{ day: 1, amount: 10, reference: 'B' }, ...others, { day: 1, amount: 10, reference: 'NONREF' }],
      { interim: true },
    );
    const { dry_run, transactions } = await dryRun(file);
    expect(transactions).toHaveLength(1_000);
    expect(dry_run).toMatchObject({ received: 1_202, inserted: 1_201, duplicates: 1 });
    expect(await importFile(file)).toMatchObject({ inserted: 1_201, duplicates: 1 });
  });

  it('predicts the counts of the import, whatever was stored before', async () => {
    const { dryRun, importFile } = await customer();
    const entry = fc.record({
      day: fc.integer({ min: 1, max: 3 }),
      amount: fc.constantFrom(10, 20, -10),
      reference: fc.constantFrom('A', 'B', 'C', 'NONREF'),
    });
    const files = fc.tuple(fc.array(entry, { maxLength: 8 }), fc.boolean());
    await fc.assert(
      fc.asyncProperty(files, async ([entries, interim]) => {
        const file = mt940(entries, { interim });
        const { received, inserted, duplicates, statements } = (await dryRun(file)).dry_run;
        expect(await importFile(file)).toMatchObject({ received, inserted, duplicates, statements });
      }),
      { numRuns: 30, endOnFailure: true },
    );
  });

  it('uses the profiles of PROFILES_DIR, like an import', async () => {
    const { dryRun, importFile, accountId } = await customer();
    const csv = 'My day;My amount\n02.03.2026;12,50\n';
    const query = `account_id=${accountId}`;
    expect(await dryRun(csv, `&${query}`)).toMatchObject({
      dry_run: { format: 'csv', inserted: 1 },
      transactions: [{ amount: '12.50', date_issue: '2026-03-02' }],
    });
    expect(await importFile(csv, `?${query}`)).toMatchObject({ inserted: 1 });
  });

  it('leaves its Idempotency-Key free for the import', async () => {
    const { dryRun, key } = await customer();
    const headers = { 'Idempotency-Key': 'march' };
    await dryRun(FILE, '', 'application/octet-stream', headers);
    const answer = await service.call('POST', '/v1/imports', {
      key,
      body: Buffer.from(FILE),
      type: 'application/octet-stream',
      headers,
    });
    expect(answer.status).toBe(202);
  });

  it('with a limited key finds only the accounts of that key', async () => {
    const { key } = await customer();
    const { id } = await createAccount(service, key, { iban: OTHER });
    const limited = await service.call('POST', '/v1/apikeys', { key, body: { title: 'One', account: [id] } });
    const { body } = await service.call('POST', '/v1/imports?dry_run=true', {
      key: limited.body.apikey.apikey,
      body: Buffer.from(FILE),
      type: 'application/octet-stream',
    });
    expect(body).toMatchObject({ dry_run: { inserted: 0, rejected: 2 }, accounts: [] });
  });
});
