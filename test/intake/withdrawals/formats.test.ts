import { describe, expect, it } from 'vitest';
import { type Entry, renderCamt } from '../../durability/load/statements.ts';
import {
  header,
  joinLines,
  movement,
  newBalance,
  oldBalance,
  trailer,
} from '../../statements/coda/records.ts';
import { workbook } from '../../statements/xlsx/workbook.fixture.ts';
import { dayReport, dayStatement, ACCOUNT_IBAN as IBAN } from '../../support/day-statement.ts';
import { createAccount, importDone } from '../../support/movements.ts';
import { useService } from '../../support/service.ts';
import { listed, withdrawn } from './withdrawn.ts';

const service = useService({ roles: ['api', 'importer'] });

/** Renders a credit and a debit of 5 March 2026. */
type Render = (credit: number, debit: number, accountId: number) => string | Uint8Array;

const HEADER = ['Tarih', 'Açıklama', 'Etiket', 'Tutar', 'Bakiye', 'Dekont No'];

const money = (amount: number): string => amount.toFixed(2).replace('.', ',');

const tableOf = (credit: number, debit: number) => [
  HEADER,
  ['05.03.2026', 'Gelen', 'POS', money(credit), money(500 + credit), ''],
  ['05.03.2026', 'Giden', 'POS', money(-debit), money(500 + credit - debit), ''],
];

const FORMATS: Record<string, Render> = {
  mt940: (credit, debit) => dayStatement(5, 5, 500, [credit, -debit]),
  mt942: (credit, debit) => dayReport(5, [credit, -debit]),
  camt: (credit, debit) => {
    const entry = (dc: Entry['dc'], amount: number): Entry => ({
      date: '2026-03-05',
      dc,
      amount: Math.round(amount * 100),
      reference: '',
      description: 'POS',
    });
    const entries = [entry('Credit', credit), entry('Debit', debit)];
    return renderCamt({ number: '5', iban: IBAN, opening: 50_000, openedOn: '2026-03-05', entries }, true);
  },
  ofx: (credit, debit) =>
    [
      'OFXHEADER:100',
      'DATA:OFXSGML',
      '',
      '<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>TRY<BANKACCTFROM><BANKID>0001',
      `<ACCTID>${IBAN}<ACCTTYPE>CHECKING</BANKACCTFROM><BANKTRANLIST><DTSTART>20260305<DTEND>20260305`,
      `<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>20260305<TRNAMT>${credit.toFixed(2)}<FITID>c${credit}<NAME>A</STMTTRN>`,
      `<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>20260305<TRNAMT>-${debit.toFixed(2)}<FITID>d${debit}<NAME>B</STMTTRN>`,
      '</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>',
      '',
    ].join('\r\n'),
  bai2: (credit, debit) => {
    const cents = (amount: number) => Math.round(amount * 100);
    const total = cents(credit) + cents(debit);
    return [
      '01,0004,12345,260305,0829,001,80,1,2/',
      '02,12345,0004,1,260305,,TRY,/',
      `03,${IBAN},TRY,040,+50000,,,045,+${50_000 + cents(credit) - cents(debit)},,/`,
      `16,108,${cents(credit)},V,260305,,,,A/`,
      `16,409,${cents(debit)},V,260305,,,,B/`,
      `49,+${total},4/`,
      `98,+${total},1,6/`,
      `99,+${total},1,8/`,
      '',
    ].join('\n');
  },
  coda: (credit, debit) => {
    const thousandths = (amount: number) => BigInt(Math.round(amount * 1_000));
    const named = `${IBAN.padEnd(34)}TRY`;
    const closing = 500_000n + thousandths(credit) - thousandths(debit);
    return joinLines([
      ...[header(), oldBalance(500_000n, named, '3')],
      movement(thousandths(credit), { date: '050326', reference: '', text: 'A' }),
      movement(-thousandths(debit), { sequence: '0002', date: '050326', reference: '', text: 'B' }),
      ...[newBalance(closing, named), trailer(4, thousandths(debit), thousandths(credit))],
    ]);
  },
  csv: (credit, debit) => [...tableOf(credit, debit).map((cells) => cells.join(';')), ''].join('\r\n'),
  xlsx: (credit, debit) => workbook({ rows: tableOf(credit, debit) }),
  json: (credit, debit, account_id) =>
    JSON.stringify({ transactions: [credit, -debit].map((amount) => toRow(amount, account_id)) }),
  ndjson: (credit, debit, account_id) =>
    [credit, -debit].map((amount) => `${JSON.stringify(toRow(amount, account_id))}\n`).join(''),
};

const toRow = (amount: number, account_id: number) => ({
  account_id,
  dc: amount < 0 ? 'Debit' : 'Credit',
  amount: Math.abs(amount).toFixed(2),
  date_issue: '2026-03-05',
  unique_id: `u${amount}`,
});

const TYPES: Record<string, string> = { json: 'application/json', ndjson: 'application/x-ndjson' };
const isMovements = (format: string): boolean => format in TYPES;

async function createCustomer(format: string) {
  const { api_key: key } = await service.customer();
  const wrong = await createAccount(service, key, { title: 'Yanlış' });
  const right = await createAccount(service, key, { title: 'Doğru' });
  return {
    key,
    wrong: Number(wrong.id),
    right: Number(right.id),
    async send(credit: number, debit: number, account: number) {
      const query = isMovements(format) ? '' : `?account_id=${account}&force_account=true`;
      const { status, body } = await service.call('POST', `/v1/imports${query}`, {
        key,
        body: FORMATS[format]?.(credit, debit, account),
        type: TYPES[format] ?? 'application/octet-stream',
      });
      if (status !== 202) throw new Error(JSON.stringify(body));
      return importDone(service, key, body.import.id);
    },
    amounts: async () =>
      (await listed(service, key)).map(({ amount, account_id }) => [account_id, Number(amount)]),
  };
}

describe.each(Object.keys(FORMATS))('%s', (format) => {
  it('is imported into the wrong account, withdrawn, and imported into the right one', async () => {
    const { key, wrong, right, send, amounts } = await createCustomer(format);
    const first = await send(100, 17.29, wrong);
    expect(first).toMatchObject({ inserted: 2, rejected: 0 });
    expect(await withdrawn(service, key, `imports/${first.id}`)).toMatchObject({ withdrawn: 2, kept: 0 });
    expect(await amounts()).toEqual([]);
    expect(await send(100, 17.29, right)).toMatchObject({
      inserted: 2,
      duplicates: 0,
      warnings: first.warnings,
    });
    expect(await amounts()).toEqual([
      [right, 100],
      [right, 17.29],
    ]);
    expect(await send(100, 17.29, wrong)).toMatchObject({ inserted: 2, duplicates: 0 });
  });

  it('is replaced by the bank, and the account has the replacement alone afterwards', async () => {
    const { key, right, send, amounts } = await createCustomer(format);
    const first = await send(100, 17.29, right);
    const second = await send(105, 17.29, right);
    const [statement] = second.contradicts;
    await withdrawn(
      service,
      key,
      statement === undefined ? `imports/${first.id}` : `statements/${statement}`,
    );
    expect((await amounts()).toSorted()).toEqual(
      [
        [right, 105],
        [right, 17.29],
      ].toSorted(),
    );
    expect(await send(105, 17.29, right)).toMatchObject({ inserted: 0, duplicates: 2 });
    const { body } = await service.call('GET', `/v1/accounts/${right}/completeness`, { key });
    expect(JSON.stringify(body)).not.toContain('contradict');
  });
});
