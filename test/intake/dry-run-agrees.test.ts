import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createDryRunCustomer, IBAN } from './dry-run-customer.ts';
import { mt940, type TestEntry } from './statement-files.ts';

/** A dry run says what its import says: the same decision for each row, the same counts, errors and warnings. */

const PROFILES_DIR = mkdtempSync(join(tmpdir(), 'dry-run-agrees-'));
writeFileSync(
  join(PROFILES_DIR, 'mine.json'),
  JSON.stringify({
    bank: 'My Bank',
    source: 'its manual',
    delimiter: ';',
    decimalSign: ',',
    dateFormats: ['DD.MM.YYYY'],
    heading: ['Day', 'Text', 'Amount', 'Id'],
    columns: { date: 'Day', description: 'Text', amount: 'Amount', reference: 'Id' },
  }),
);

const service = useOwnService({
  because: 'it has profiles',
  roles: ['api', 'importer'],
  config: { profilesDir: PROFILES_DIR },
});

/** A row, as far as the formats have something for it. Few values, so that rows meet again. */
const row = fc.record({
  day: fc.integer({ min: 2, max: 6 }),
  amount: fc.constantFrom(10, -10, 25.5, -40),
  id: fc.constantFrom(null, 'R10001', 'R10002', 'R10003', 'NONREF', '7'),
  text: fc.constantFrom('PAYMENT', 'RENT', 'X'.repeat(2_100)),
  hasBalance: fc.boolean(),
  isReversal: fc.boolean(),
});
type TestRow = typeof row extends fc.Arbitrary<infer It> ? It : never;

const toEntry = ({ day, amount, id, text }: TestRow): TestEntry => ({
  day,
  amount,
  text,
  ...(id === null ? {} : { reference: `NONREF//${id}` }),
});

const money = (amount: number) => Math.abs(amount).toFixed(2);
const dayOf = ({ day }: TestRow) => `2026-03-0${day}`;

const toMovement = (accountId: string) => (it: TestRow) => ({
  account_id: accountId,
  dc: it.amount < 0 ? 'Debit' : 'Credit',
  amount: money(it.amount),
  date_issue: dayOf(it),
  description: it.text.slice(0, 500),
  ...(it.id === null ? {} : { unique_id: it.id }),
  ...(it.hasBalance ? { balance: '100.00' } : {}),
});

/** A line of NDJSON. Without a direction, the row is rejected. */
const toLine = (accountId: string, it: TestRow) =>
  JSON.stringify({
    ...toMovement(accountId)(it),
    ...(it.text === 'RENT' && it.isReversal ? { dc: 'Neither' } : {}),
  });

function camt(rows: readonly TestRow[], { opening, isFinal }: { opening: number; isFinal: boolean }): string {
  const inOrder = rows.toSorted((one, other) => one.day - other.day);
  const sum = inOrder.reduce((total, { amount }) => total + amount, opening);
  const balance = (code: string, amount: number) =>
    `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="TRY">${money(amount)}</Amt><CdtDbtInd>${
      amount < 0 ? 'DBIT' : 'CRDT'
    }</CdtDbtInd><Dt><Dt>2026-03-06</Dt></Dt></Bal>`;
  const [message, part, root] = isFinal
    ? ['camt.053', 'Stmt', 'BkToCstmrStmt']
    : ['camt.052', 'Rpt', 'BkToCstmrAcctRpt'];
  return `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${message}.001.08"><${root}>
<GrpHdr><MsgId>X</MsgId><CreDtTm>2026-03-06T18:00:00+03:00</CreDtTm></GrpHdr>
<${part}><Id>X</Id><Acct><Id><IBAN>${IBAN}</IBAN></Id><Ccy>TRY</Ccy></Acct>
${balance('OPBD', opening)}${balance(isFinal ? 'CLBD' : 'ITBD', sum)}
${inOrder
  .map(
    (it) =>
      `<Ntry><Amt Ccy="TRY">${money(it.amount)}</Amt><CdtDbtInd>${it.amount < 0 ? 'DBIT' : 'CRDT'}</CdtDbtInd>${
        it.isReversal ? '<RvslInd>true</RvslInd>' : ''
      }<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>${dayOf(it)}</Dt></BookgDt>${it.id === null ? '' : `<AcctSvcrRef>${it.id}</AcctSvcrRef>`}<NtryDtls><TxDtls><RmtInf><Ustrd>${it.text.slice(0, 140)}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>`,
  )
  .join('\n')}
</${part}></${root}></Document>
`;
}

const csv = (rows: readonly TestRow[]) =>
  [
    'Day;Text;Amount;Id',
    ...rows.map(
      ({ day, text, amount, id }) =>
        `0${day}.03.2026;${text.slice(0, 200)};${amount.toFixed(2).replace('.', ',')};${id ?? ''}`,
    ),
    '',
  ].join('\r\n');

const file = fc.record({
  format: fc.constantFrom(
    'json',
    'ndjson',
    'mt940',
    'mt942',
    'two statements',
    'camt.053',
    'camt.052',
    'csv',
    'broken',
  ),
  rows: fc.array(row, { minLength: 1, maxLength: 8 }),
  opening: fc.constantFrom(1_000, 1_010, 990),
  isWrong: fc.boolean(),
});
type TestFile = typeof file extends fc.Arbitrary<infer It> ? It : never;

function render(
  { format, rows, opening, isWrong }: TestFile,
  accountId: string,
): { body: string; type: string; query: string } {
  const octets = (body: string, query = '') => ({ body, type: 'application/octet-stream', query });
  const inOrder = rows.toSorted((one, other) => one.day - other.day).map(toEntry);
  const options = { opening, ...(isWrong ? { closing: 5 } : {}) };
  switch (format) {
    case 'json':
      return {
        body: JSON.stringify({ transactions: rows.map(toMovement(accountId)) }),
        type: 'application/json',
        query: '',
      };
    case 'ndjson':
      return {
        body: rows.map((it) => toLine(accountId, it)).join('\n'),
        type: 'application/x-ndjson',
        query: '',
      };
    case 'mt940':
      return octets(mt940(inOrder, options));
    case 'mt942':
      return octets(mt940(inOrder, { interim: true }));
    case 'two statements':
      return octets(mt940(inOrder.slice(0, 4), { opening }) + mt940(inOrder.slice(2), options));
    case 'camt.053':
    case 'camt.052':
      return octets(camt(rows, { opening, isFinal: format === 'camt.053' }));
    case 'csv':
      return octets(csv(rows), `&account_id=${accountId}&format=csv&profile=mine`);
    case 'broken':
      return octets(camt(rows, { opening, isFinal: true }).replace('</Stmt>', '<Ntry>'));
  }
}

const COUNTS = [
  ...['status', 'received', 'inserted', 'duplicates', 'changed', 'assumed_duplicates', 'assumed_new'],
  ...['conflicts', 'rejected', 'statements', 'warnings'],
];
const countsOf = (counts: Record<string, unknown>) =>
  Object.fromEntries(COUNTS.map((it) => [it, counts[it]]));

type Row = { line: number; reason: string | null };
/** The order of the rows of one line is not promised. */
const sorted = (rows: readonly object[]) =>
  rows.map((it) => JSON.stringify(it, Object.keys(it).toSorted())).toSorted();

async function check(
  files: readonly TestFile[],
  policy: 'hold' | 'store',
  unidentified: string,
): Promise<void> {
  const { key, accountId, dryRun } = await createDryRunCustomer(service);
  await service.call('PATCH', `/v1/accounts/${accountId}`, { key, body: { on_conflict: policy } });
  for (const [index, it] of files.entries()) {
    const { body, type, query } = render(it, String(accountId));
    const said = await dryRun(body, `&unidentified=${unidentified}${query}`, type);
    const sent = await service.call('POST', `/v1/imports?unidentified=${unidentified}${query}`, {
      key,
      body: Buffer.from(body),
      type,
    });
    expect(sent.status).toBe(202);
    const path = `/v1/imports/${sent.body.import.id}`;
    const { done, errors, duplicates } = await ended(key, path);
    const what = `file ${index}: ${it.format}`;
    expect({ what, ...countsOf(said.dry_run), error: said.dry_run.error }).toEqual({
      what,
      ...countsOf(done),
      error: done.error,
    });
    expect({ what, errors: sorted(said.errors), warnings: sorted(said.warnings) }).toEqual({
      what,
      errors: sorted(errors.errors),
      warnings: sorted(errors.warnings),
    });
    const listed = said.transactions.filter(({ reason }: Row) => reason !== null);
    expect({ what, rows: sorted(listed.map(({ line, reason }: Row) => ({ line, reason }))) }).toEqual({
      what,
      rows: sorted(duplicates.duplicates.map(({ line, reason }: Row) => ({ line, reason }))),
    });
  }
}

/** Waits until an import has ended. */
async function ended(key: string, path: string) {
  const done = await until('the import has ended', async () => {
    const { import: it } = (await service.call('GET', path, { key })).body;
    return ['done', 'failed'].includes(it.status) ? it : undefined;
  });
  const [errors, duplicates] = await Promise.all(
    ['errors', 'duplicates'].map(async (it) => (await service.call('GET', `${path}/${it}`, { key })).body),
  );
  return { done, errors, duplicates };
}

it(
  'a dry run says what its import says, whatever was imported before',
  () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(file, { minLength: 1, maxLength: 4 }),
        fc.constantFrom('hold' as const, 'store' as const),
        fc.constantFrom('known', 'store'),
        check,
      ),
      { numRuns: Number(process.env.DRY_RUNS ?? 40) },
    ),
  300_000,
);
