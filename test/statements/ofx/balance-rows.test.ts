import { describe, expect, it } from 'vitest';
import { isNameOfBalance } from '../../../packages/statements/src/ofx/balance-rows.ts';
import { read } from './statement.ts';

/** A row: the day of March 2026, the amount, the text, and the FITID, if there is one. */
type Row = readonly [day: number, amount: string, memo: string, id?: string];

const FILE = (rows: readonly Row[], ledger: string | null) =>
  `OFXHEADER:100\n\n<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>BRL<BANKACCTFROM><ACCTID>17-4</BANKACCTFROM><BANKTRANLIST>${rows
    .map(
      ([day, amount, memo, id = '']) =>
        `<STMTTRN><TRNTYPE>OTHER<DTPOSTED>202603${String(day).padStart(2, '0')}<TRNAMT>${amount}<FITID>${id}<MEMO>${memo}</STMTTRN>`,
    )
    .join(
      '',
    )}</BANKTRANLIST>${ledger === null ? '' : `<LEDGERBAL><BALAMT>${ledger}<DTASOF>20260331</LEDGERBAL>`}</STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>`;

/** The texts of the rows that are stored, and those of the rows that are rejected. */
async function readRows(rows: readonly Row[], ledger: string | null) {
  const events = await read(FILE(rows, ledger));
  return {
    stored: events.flatMap((it) => (it.type === 'entry' ? [it.entry.description] : [])).sort(),
    rejected: events.filter(({ type }) => type === 'issue').length,
    warnings: events.filter(({ type }) => type === 'warning').length,
  };
}

const A: Row = [2, '-50.00', 'PIX A', 'A'];
const B: Row = [3, '70.00', 'PIX B', 'B'];
const OPENING: Row = [1, '1500.00', 'Saldo Anterior'];
const DAY_2: Row = [2, '1450.00', 'Saldo do dia'];
const DAY_3: Row = [3, '1520.00', 'SALDO FINAL 03/03/2026'];

describe('a row of an OFX file with the name of a balance and without a FITID', () => {
  it.each([
    ['the ledger balance shows the opening balance', [OPENING, A, B], '1520.00', 1],
    ['the ledger balance shows the balance of a day', [A, DAY_2, B], '1520.00', 1],
    ['the ledger balance shows all balances', [OPENING, A, DAY_2, B, DAY_3], '1520.00', 3],
    ['the newest transaction is first', [DAY_3, B, DAY_2, A, OPENING], '1520.00', 3],
    ['the balance of a day stands before its transactions', [OPENING, DAY_2, A, DAY_3, B], '1520.00', 3],
    ['there is no ledger balance, and the balances show each other', [OPENING, A, DAY_2, B, DAY_3], null, 3],
    [
      'the ledger balance is of another day, and the balances show each other',
      [OPENING, A, DAY_2],
      '9.00',
      2,
    ],
    ['there is nothing but the balance', [OPENING], '1500.00', 1],
  ] as const)('is rejected with a warning if %s', async (_, rows, ledger, count) => {
    const found = await readRows(rows, ledger);
    expect(found).toMatchObject({ rejected: count, warnings: count });
    expect(found.stored).toEqual(rows.flatMap(([, , memo, id]) => (id ? [memo] : [])).sort());
  });

  it.each([
    ['nothing shows its amount', [OPENING, A, B], '7.00', 1],
    ['there is no ledger balance and no other balance', [OPENING, A, B], null, 1],
    ['the other balance stands beside it, and no transaction between them', [OPENING, OPENING], null, 2],
  ] as const)('is stored with a warning if %s', async (_, rows, ledger, count) => {
    const found = await readRows(rows, ledger);
    expect(found).toMatchObject({ rejected: 0, warnings: count });
    expect(found.stored).toEqual(rows.map(([, , memo]) => memo).sort());
  });

  it.each([
    ['it has a FITID', [[1, '1500.00', 'Saldo Anterior', 'X'], A, B]],
    ['its text is no name of a balance', [[1, '1500.00', 'Saldo de férias'], A, B]],
  ] as const)('is a transaction like others if %s', async (_, rows) => {
    expect(await readRows(rows, '1520.00')).toMatchObject({ rejected: 0, warnings: 0 });
  });
});

describe('the name of a balance', () => {
  it.each([
    ...['Saldo Anterior', 'S A L D O', 'Saldo do dia', 'SALDO DISPONÍVEL', 'Saldo em conta 31/03/2026'],
    ...['Saldo inicial', 'Saldo finale', 'Opening balance', 'Balance', 'Balance brought forward'],
    ...[
      'Anfangssaldo',
      'Kontostand',
      'Alter Saldo',
      'Solde',
      'Ancien solde',
      'Solde précédent',
      'Beginsaldo',
    ],
    ...[
      'Açılış bakiyesi',
      'Bakiye',
      'Saldo końcowe',
      'Počáteční zůstatek',
      'Nyitó egyenleg',
      'Utgående saldo',
    ],
  ])('is known: %s', (text) => {
    expect(isNameOfBalance(text)).toBe(true);
  });

  it.each([
    'Saldo de férias',
    'PIX Saldo',
    'Balance Gym Ltd',
    'New Balance',
    'Solde de tout compte',
    'Rent',
    '',
  ])('is another text: %s', (text) => {
    expect(isNameOfBalance(text)).toBe(false);
  });
});
