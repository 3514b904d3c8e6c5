import { describe, expect, it } from 'vitest';
import { entries, messages, ntry, parse, statement } from './events.ts';

const ofDetails = async (details: string, parts: Parameters<typeof ntry>[0] = {}) =>
  entries(await parse(statement(ntry({ details, ...parts }))));

const detail = (amount: string, more = '') => `<TxDtls>${amount}${more}</TxDtls>`;
const amt = (text: string, currency = 'EUR') => `<Amt Ccy="${currency}">${text}</Amt>`;
const txAmt = (text: string, currency = 'EUR') => `<AmtDtls><TxAmt>${amt(text, currency)}</TxAmt></AmtDtls>`;
const instdAmt = (text: string) => `<AmtDtls><InstdAmt>${amt(text)}</InstdAmt></AmtDtls>`;
const charge = (text: string, code: string) => `<Chrgs>${amt(text)}<CdtDbtInd>${code}</CdtDbtInd></Chrgs>`;
const records = (...texts: string[]) =>
  `<Chrgs>${texts.map((it) => `<Rcrd>${amt(it)}<CdtDbtInd>DBIT</CdtDbtInd></Rcrd>`).join('')}</Chrgs>`;
const dc = (code: string) => `<CdtDbtInd>${code}</CdtDbtInd>`;
const ref = (text: string) => `<Refs><AcctSvcrRef>${text}</AcctSvcrRef></Refs>`;

describe('an entry of CAMT with several details', () => {
  it('becomes one entry per detail when the detail amounts add up to its amount', async () => {
    const events = await parse(
      statement(ntry({ details: `\n${detail(amt('4'), ref('A'))}\n${detail(amt('6'), ref('B'))}` })),
    );
    expect(entries(events)).toMatchObject([
      { line: 2, amount: 4000n, dc: 'Credit', currency: 'EUR', date: '2026-03-02', reference: 'A' },
      { line: 3, amount: 6000n, dc: 'Credit', currency: 'EUR', date: '2026-03-02', reference: 'B' },
    ]);
    expect(messages(events)).toEqual([]);
  });

  it.each([
    ['in Amt', detail(amt('4')) + detail(amt('6'))],
    ['in AmtDtls/TxAmt', detail(txAmt('4')) + detail(txAmt('6'))],
    ['in either Amt or TxAmt', detail(amt('4')) + detail(txAmt('6'))],
    [
      'in TxAmt, with Amt in another currency',
      detail(amt('5', 'USD') + txAmt('4')) + detail(amt('7', 'USD') + txAmt('6')),
    ],
    ['in TxAmt, with other amounts in Amt', detail(amt('5') + txAmt('4')) + detail(amt('7') + txAmt('6'))],
    ['in Amt, with other amounts in TxAmt', detail(amt('4') + txAmt('5')) + detail(amt('6') + txAmt('7'))],
    ['in AmtDtls/InstdAmt', detail(instdAmt('4')) + detail(instdAmt('6'))],
    ['less their charges', detail(amt('4.5') + charge('0.50', 'DBIT')) + detail(amt('6'))],
    ['less their charges in records', detail(amt('4.5') + records('0.20', '0.30')) + detail(amt('6'))],
    ['with charges that the bank gives back', detail(amt('3.5') + charge('0.50', 'CRDT')) + detail(amt('6'))],
    [
      'with charges that are no part of the entry',
      detail(amt('4') + charge('0.50', 'DBIT')) + detail(amt('6')),
    ],
    ['in two NtryDtls', `${detail(amt('4'))}</NtryDtls><NtryDtls>${detail(amt('6'))}`],
    ['with their own direction', detail(amt('4') + dc('CRDT')) + detail(amt('6') + dc('CRDT'))],
  ])('is divided by detail amounts %s', async (_, details) => {
    expect(await ofDetails(details)).toMatchObject([{ amount: 4000n }, { amount: 6000n }]);
  });

  it('may have a detail in the other direction', async () => {
    expect(await ofDetails(detail(amt('12')) + detail(amt('2') + dc('DBIT')))).toMatchObject([
      { amount: 12_000n, dc: 'Credit' },
      { amount: 2000n, dc: 'Debit' },
    ]);
  });

  it.each([
    ['the amounts do not add up', detail(amt('4')) + detail(amt('5.99'))],
    ['a detail has no amount', detail(amt('10')) + detail('')],
    ['an amount cannot be read', detail(amt('10')) + detail(amt('0,00'))],
    ['an amount is in another currency', detail(amt('4')) + detail(amt('6', 'USD'))],
    [
      'the amounts add up only in the other direction',
      detail(amt('4') + dc('DBIT')) + detail(amt('6') + dc('DBIT')),
    ],
    ['a detail has an unknown direction', detail(amt('4')) + detail(amt('6') + dc('X'))],
    ['there is only one detail', detail(amt('99'))],
  ])('stays one entry when %s', async (_, details) => {
    expect(await ofDetails(details)).toMatchObject([{ amount: 10_000n, dc: 'Credit' }]);
  });

  it('takes only the fields that all details share when it stays one entry', async () => {
    const party = '<RltdPties><Dbtr><Nm>Ada</Nm></Dbtr></RltdPties>';
    const more = '<AcctSvcrRef>E</AcctSvcrRef><AddtlNtryInf>Collective credit</AddtlNtryInf>';
    const details = detail(ref('A'), party) + detail(ref('B'), party);
    expect(await ofDetails(details, { more })).toMatchObject([
      { name: 'Ada', reference: 'E', description: 'Collective credit' },
    ]);
  });

  it('joins the texts and names of its details when it stays one entry', async () => {
    const one = (name: string, text: string) =>
      detail(
        '',
        `<RltdPties><Dbtr><Nm>${name}</Nm></Dbtr></RltdPties><RmtInf><Ustrd>${text}</Ustrd></RmtInf>`,
      );
    expect(await ofDetails(one('Ada', 'R 1') + one('Bob', 'R 2') + one('Bob', 'R 2'))).toMatchObject([
      { name: null, description: 'Ada R 1 Bob R 2' },
    ]);
    expect(await ofDetails(one('Ada', 'R 1') + one('Ada', 'R 2'))).toMatchObject([
      { name: 'Ada', description: 'R 1 R 2' },
    ]);
    const [many] = await ofDetails(Array.from({ length: 2_000 }, (_, at) => one('Ada', `R ${at}`)).join(''));
    expect(many?.description).toHaveLength(4_000);
  });

  it('is described by its batch when it has a batch and no details', async () => {
    expect(
      await ofDetails('<Btch><PmtInfId>SALARIES-3</PmtInfId><NbOfTxs>20</NbOfTxs></Btch>'),
    ).toMatchObject([{ amount: 10_000n, description: 'SALARIES-3' }]);
  });

  it('keeps equal payments of one batch separate', async () => {
    const events = await ofDetails(detail(amt('5')).repeat(2), { more: '<AcctSvcrRef>E</AcctSvcrRef>' });
    expect(events).toMatchObject([
      { amount: 5000n, reference: 'E' },
      { amount: 5000n, reference: 'E' },
    ]);
  });

  it('stays one entry, with a warning, when the details would use too much memory', async () => {
    const long = detail(amt('1'), `<RltdPties><Dbtr><Nm>${'x'.repeat(60_000)}</Nm></Dbtr></RltdPties>`);
    const events = await parse(statement(ntry({ amount: amt('600'), details: long.repeat(600) }) + ntry()));
    expect(entries(events)).toMatchObject([{ amount: 600_000n, name: null }, { amount: 10_000n }]);
    expect(messages(events)).toEqual([expect.stringContaining('too many details')]);
  });
});
