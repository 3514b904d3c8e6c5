import { describe, expect, it } from 'vitest';
import { entries, messages, ntry, ofType, parse, statement } from './events.ts';

const read = (parts: Parameters<typeof ntry>[0], kind = {}) => parse(statement(ntry(parts), kind));
const REPORT = { message: 'BkToCstmrAcctRpt', name: 'Rpt' };

describe('an entry of CAMT', () => {
  it('has the amount, direction, date and status of the file', async () => {
    expect(entries(await parse(statement(`\n${ntry()}`)))).toEqual([
      {
        line: 2,
        status: 'booked',
        date: '2026-03-02',
        dc: 'Credit',
        amount: 10_000n,
        currency: 'EUR',
        balance: null,
        code: null,
        description: null,
        name: null,
        opponentId: null,
        opponentIban: null,
        reference: null,
      },
    ]);
  });

  it.each([
    ['a reversed debit', 'CRDT', 'true', 'Credit'],
    ['a reversed credit', 'DBIT', '1', 'Debit'],
    ['no reversal', 'CRDT', 'false', 'Credit'],
  ])('that is %s has the direction of its CdtDbtInd', async (_, dc, reversal, expected) => {
    const events = await read({
      dc: `<CdtDbtInd>${dc}</CdtDbtInd>`,
      reversal: `<RvslInd>${reversal}</RvslInd>`,
    });
    expect(entries(events)).toMatchObject([{ dc: expected, amount: 10_000n }]);
  });

  it.each([
    ['<Sts>BOOK</Sts>', 'booked'],
    ['<Sts>\n  <Cd>BOOK</Cd>\n</Sts>', 'booked'],
    ['<Sts>PDNG</Sts>', 'pending'],
    ['<Sts><Cd>PDNG</Cd></Sts>', 'pending'],
    ['<Sts>INFO</Sts>', 'pending'],
    ['<Sts><Cd>FUTR</Cd></Sts>', 'pending'],
  ])('with %s is %s', async (status, expected) => {
    expect(entries(await read({ status }))).toMatchObject([{ status: expected }]);
  });

  it('without a status is booked with a warning in camt.053, and refused in the other messages', async () => {
    const final = await read({ status: '' });
    expect(entries(final)).toMatchObject([{ status: 'booked' }]);
    expect(ofType(final, 'warning')).toHaveLength(1);
    const interim = await read({ status: '' }, REPORT);
    expect(entries(interim)).toEqual([]);
    expect(ofType(interim, 'issue')).toMatchObject([{ path: 'Ntry/Sts' }]);
  });

  it.each([
    ['a day', '<BookgDt><Dt>2026-03-02</Dt></BookgDt>', '2026-03-02'],
    ['a day with a zone', '<BookgDt><Dt>2026-03-02+02:00</Dt></BookgDt>', '2026-03-02'],
    [
      'a moment just after midnight',
      '<BookgDt><DtTm>2026-03-02T00:30:00+03:00</DtTm></BookgDt>',
      '2026-03-02',
    ],
    [
      'a moment just before midnight',
      '<BookgDt><DtTm>2026-03-02T23:59:59.999Z</DtTm></BookgDt>',
      '2026-03-02',
    ],
    ['a leap day', '<BookgDt><Dt>2028-02-29</Dt></BookgDt>', '2028-02-29'],
  ])('is dated as written: %s', async (_, date, expected) => {
    const events = await read({ date });
    expect(entries(events)).toMatchObject([{ date: expected }]);
    expect(messages(events)).toEqual([]);
  });

  it('without a booking date takes its value date, with a warning unless it is pending', async () => {
    const date = '<ValDt><Dt>2026-03-04</Dt></ValDt>';
    const booked = await read({ date });
    expect(entries(booked)).toMatchObject([{ date: '2026-03-04' }]);
    expect(messages(booked)).toEqual([expect.stringContaining('ValDt')]);
    const pending = await read({ date, status: '<Sts>PDNG</Sts>' });
    expect(entries(pending)).toMatchObject([{ date: '2026-03-04' }]);
    expect(messages(pending)).toEqual([]);
  });

  it('that is pending and has no date is left out, with a warning', async () => {
    const events = await read({ date: '', status: '<Sts>PDNG</Sts>' });
    expect(events.map(({ type }) => type)).toEqual(['statement', 'warning', 'end']);
  });

  it.each([
    ['12.50', 12_500n],
    ['12.5', 12_500n],
    ['0.01', 10n],
    ['1500', 1_500_000n],
    [' 7.00000 ', 7000n],
    ['0', 0n],
  ])('of the amount "%s" is read exactly', async (text, amount) => {
    expect(entries(await read({ amount: `<Amt Ccy="EUR">${text}</Amt>` }))).toMatchObject([{ amount }]);
  });

  it.each([
    ['a fourth decimal', { amount: '<Amt Ccy="EUR">1.0005</Amt>' }, 'Ntry/Amt', '"1.0005"'],
    ['a comma', { amount: '<Amt Ccy="EUR">12,50</Amt>' }, 'Ntry/Amt', '"12,50"'],
    ['two signs', { amount: '<Amt Ccy="EUR">--1.00</Amt>' }, 'Ntry/Amt', '"--1.00"'],
    ['an exponent', { amount: '<Amt Ccy="EUR">1e3</Amt>' }, 'Ntry/Amt', '"1e3"'],
    ['a thousands separator', { amount: '<Amt Ccy="EUR">1 000.00</Amt>' }, 'Ntry/Amt', '"1 000.00"'],
    ['two amounts', { more: '<Amt Ccy="EUR">11.00</Amt>' }, 'Ntry/Amt', '"10.00 11.00"'],
    ['no amount', { amount: '' }, 'Ntry/Amt', 'missing'],
    ['too many digits', { amount: `<Amt>${'9'.repeat(60)}</Amt>` }, 'Ntry/Amt', `"${'9'.repeat(40)}…"`],
    ['a currency that is none', { amount: '<Amt Ccy="eur">1</Amt>' }, 'Ntry/Amt/@Ccy', '"eur"'],
    ['no direction', { dc: '' }, 'Ntry/CdtDbtInd', 'CRDT and DBIT'],
    ['an unknown direction', { dc: '<CdtDbtInd>C</CdtDbtInd>' }, 'Ntry/CdtDbtInd', '"C"'],
    ['an unknown status', { status: '<Sts><Prtry>X1</Prtry></Sts>' }, 'Ntry/Sts', '"X1"'],
    ['no date', { date: '' }, 'Ntry/BookgDt', 'missing'],
    ['31 November', { date: '<BookgDt><Dt>2026-11-31</Dt></BookgDt>' }, 'Ntry/BookgDt', '"2026-11-31"'],
    ['a date of another shape', { date: '<ValDt><Dt>02.03.2026</Dt></ValDt>' }, 'Ntry/ValDt', '"02.03.2026"'],
  ])('with %s is an issue, and the next entry is read', async (_, parts, path, found) => {
    const events = await parse(statement(`\n${ntry(parts)}${ntry()}`));
    expect(ofType(events, 'issue')).toEqual([
      { type: 'issue', line: 2, path, message: expect.stringContaining(found) },
    ]);
    expect(entries(events)).toHaveLength(1);
  });

  it.each([
    ['the code of the detail', 'A', 'B', 'PMNT-RCDT-B'],
    ['the code of the entry when the detail has no code', 'A', '', 'PMNT-RCDT-A'],
  ])('takes the right code: %s', async (_, inEntry, inDetail, expected) => {
    const code = (sub: string) =>
      sub &&
      `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>${sub}</SubFmlyCd></Fmly></Domn><Prtry><Cd>P</Cd></Prtry></BkTxCd>`;
    const events = await read({ more: code(inEntry), details: `<TxDtls>${code(inDetail)}</TxDtls>` });
    expect(entries(events)).toMatchObject([{ code: expected }]);
  });

  it("has the bank's proprietary code when there is no other code", async () => {
    const events = await read({ more: '<BkTxCd><Prtry><Cd>NTRF+166</Cd></Prtry></BkTxCd>' });
    expect(entries(events)).toMatchObject([{ code: 'NTRF+166' }]);
  });

  it.each([
    ['from the detail', '<AcctSvcrRef>E</AcctSvcrRef>', '<AcctSvcrRef>D</AcctSvcrRef>', 'D'],
    ['from the entry', '<AcctSvcrRef>E</AcctSvcrRef>', '', 'E'],
    [
      'from the entry when the detail has a placeholder',
      '<AcctSvcrRef>E</AcctSvcrRef>',
      '<AcctSvcrRef>NOTPROVIDED</AcctSvcrRef>',
      'E',
    ],
    ['never from NtryRef, which counts the entries of a file', '<NtryRef>1</NtryRef>', '', null],
    ['never from EndToEndId, which belongs to the customer', '', '<EndToEndId>X</EndToEndId>', null],
  ])('takes the right reference: %s', async (_, more, refs, reference) => {
    const events = await read({ more, details: `<TxDtls><Refs>${refs}</Refs></TxDtls>` });
    expect(entries(events)).toMatchObject([{ reference }]);
  });

  it('is described by remittance information, reference and notes, without repeated texts', async () => {
    const details = `<TxDtls><RmtInf><Ustrd>Rent
      March</Ustrd><Ustrd>Flat &lt;4&gt;</Ustrd><Strd><CdtrRefInf><Ref>RF18</Ref></CdtrRefInf></Strd></RmtInf>
      <AddtlTxInf>Standing order</AddtlTxInf></TxDtls>`;
    const more = '<AddtlNtryInf>Rent March</AddtlNtryInf>';
    expect(entries(await read({ details, more }))).toMatchObject([
      { description: 'Rent March Flat <4> RF18 Standing order' },
    ]);
    expect(entries(await read({ more }))).toMatchObject([{ description: 'Rent March' }]);
  });

  it('has a description of at most 4,000 characters, with no character cut in half', async () => {
    const details = `<TxDtls><RmtInf><Ustrd>a${'😀'.repeat(3_000)}</Ustrd></RmtInf></TxDtls>`;
    const [entry] = entries(await read({ details }));
    expect(entry?.description).toBe(`a${'😀'.repeat(1_999)}`);
  });

  it('has a name with a size limit, even when the name holds many elements', async () => {
    const name = 'x'.repeat(1_000);
    const details = `<TxDtls><RltdPties><Dbtr><Nm>${`${name}<b/>`.repeat(1_000)}</Nm></Dbtr></RltdPties></TxDtls>`;
    const [entry] = entries(await read({ details }));
    expect(entry?.name).toBe(name.repeat(5));
  });
});
