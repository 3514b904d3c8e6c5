import { describe, expect, it } from 'vitest';
import { entries, messages, ntry, ofType, parse, statement } from './events.ts';

const bal = (
  type: string,
  amount: string,
  more: { dc?: string; date?: string; currency?: string; line?: string } = {},
) =>
  `<Bal><Tp><CdOrPrtry><Cd>${type}</Cd></CdOrPrtry></Tp>${more.line ?? ''}<Amt Ccy="${more.currency ?? 'EUR'}">${amount}</Amt>` +
  `<CdtDbtInd>${more.dc ?? 'CRDT'}</CdtDbtInd><Dt><Dt>${more.date ?? '2026-03-02'}</Dt></Dt></Bal>`;

async function ends(content: string) {
  const events = await parse(statement(content));
  return {
    opening: ofType(events, 'statement')[0]?.opening,
    closing: ofType(events, 'end')[0]?.closing,
    messages: messages(events),
  };
}

describe('the number of a CAMT statement', () => {
  it.each([
    ['<Id>A</Id><ElctrncSeqNb>7</ElctrncSeqNb><LglSeqNb>70</LglSeqNb>', '7'],
    ['<Id>A</Id><LglSeqNb>70</LglSeqNb>', '70'],
    ['<Id>A</Id>', 'A'],
  ])(
    'is its electronic sequence number, else its legal sequence number, else its id: %s',
    async (content, number) => {
      const [found] = ofType(await parse(statement(content)), 'statement');
      expect(found?.identity.number).toBe(number);
    },
  );
});

describe('a CAMT message', () => {
  it.each([
    ['camt.053', 'BkToCstmrStmt', 'Stmt', 'final'],
    ['camt.052', 'BkToCstmrAcctRpt', 'Rpt', 'interim'],
    ['camt.054', 'BkToCstmrDbtCdtNtfctn', 'Ntfctn', 'interim'],
    ['camt.052 of version 01', 'BkToCstmrAcctRptV01', 'Rpt', 'interim'],
  ])(
    'of the type %s has final or interim statements as the type requires',
    async (_, message, name, kind) => {
      const events = await parse(statement(ntry(), { message, name }));
      expect(events.map(({ type }) => type)).toEqual(['statement', 'entry', 'end']);
      expect(events).toMatchObject([{ kind }, {}, {}]);
    },
  );

  it.each(['02', '03', '04', '05', '06', '07', '08', '09', '10', '11', '12', '13'])(
    'of version %s is read, with and without prefixes',
    async (version) => {
      const namespace = `urn:iso:std:iso:20022:tech:xsd:camt.053.001.${version}`;
      const plain = statement(ntry()).replace('<Document>', `<Document xmlns="${namespace}">`);
      const prefixed = statement(ntry())
        .replaceAll(/<(\/?)(\w+)/g, '<$1n:$2')
        .replace('<n:Document>', `<n:Document xmlns:n="${namespace}">`);
      expect(entries(await parse(plain))).toHaveLength(1);
      expect(await parse(prefixed)).toEqual(await parse(plain));
    },
  );

  it('is read by its elements, whatever its namespace is', async () => {
    const report = statement(ntry(), { message: 'BkToCstmrAcctRpt', name: 'Rpt' });
    const events = await parse(report.replace('<Document>', '<Document xmlns="…camt.053.001.02">'));
    expect(ofType(events, 'statement')).toMatchObject([{ kind: 'interim' }]);
    expect(entries(events)).toHaveLength(1);
  });

  it('may be inside an envelope', async () => {
    expect(entries(await parse(`<E><AppHdr/><Body>${statement(ntry())}</Body></E>`))).toHaveLength(1);
  });

  it.each([
    ['of another kind', '<Document><CstmrCdtTrfInitn><PmtInf/></CstmrCdtTrfInitn></Document>', '"Document"'],
    ['without a statement', '<Document><BkToCstmrStmt><GrpHdr/></BkToCstmrStmt></Document>', 'no statement'],
    [
      'with an unknown statement element',
      '<Document><BkToCstmrStmt><Statement/></BkToCstmrStmt></Document>',
      'no statement',
    ],
    ['that is empty', '', 'must contain a root element'],
    ['that is blank', ' \n\n ', 'must contain a root element'],
  ])('%s gives an issue', async (_, text, message) => {
    const events = await parse(text);
    expect(events).toMatchObject([{ type: 'issue', message: expect.stringContaining(message) }]);
  });

  it('may have statements of several accounts, each with its own line numbers', async () => {
    const stmt = (iban: string, content = '') =>
      `<Stmt><Acct><Id><IBAN>${iban}</IBAN></Id></Acct>\n${content}</Stmt>\n`;
    const events = await parse(
      `<Document>\n<BkToCstmrStmt>\n${stmt('A1', ntry())}${stmt('B2')}${stmt('C3', ntry() + ntry())}</BkToCstmrStmt></Document>`,
    );
    expect(ofType(events, 'statement').map(({ line, account }) => [line, account.iban])).toEqual([
      [3, 'A1'],
      [5, 'B2'],
      [7, 'C3'],
    ]);
    expect(ofType(events, 'end').map(({ line }) => line)).toEqual([4, 6, 8]);
    expect(entries(events).map(({ line }) => line)).toEqual([4, 8, 8]);
  });
});

describe('a CAMT statement', () => {
  it('names its account', async () => {
    const account =
      '<Acct><Id><IBAN>de89 3704 0044 0532 0130 00</IBAN></Id><Ccy>EUR</Ccy>' +
      '<Svcr><FinInstnId><BICFI>COBADEFF</BICFI><Nm>Bank</Nm></FinInstnId></Svcr></Acct>';
    expect(ofType(await parse(statement(account)), 'statement')).toMatchObject([
      { account: { iban: 'DE89370400440532013000', number: null, currency: 'EUR', bank: 'COBADEFF' } },
    ]);
  });

  it.each([
    ['of its account', `<Acct><Ccy>EUR</Ccy></Acct>${bal('OPBD', '1', { currency: 'USD' })}${ntry()}`, 'EUR'],
    ['of its balances', bal('OPBD', '1', { currency: 'USD' }) + ntry(), 'USD'],
    ['of its first entry', ntry() + ntry({ amount: '<Amt Ccy="USD">1</Amt>' }), 'EUR'],
    ['null when the file has no currency', '', null],
  ])('has the currency %s', async (_, content, currency) => {
    expect(ofType(await parse(statement(content)), 'statement')).toMatchObject([{ account: { currency } }]);
  });

  it('without entries has its balances', async () => {
    expect(await ends(bal('OPBD', '5') + bal('CLBD', '7.50', { dc: 'DBIT' }))).toEqual({
      opening: { amount: 5000n, date: '2026-03-02' },
      closing: { amount: -7500n, date: '2026-03-02' },
      messages: [],
    });
  });

  it.each([
    ['is OPBD', bal('PRCD', '1') + bal('OPBD', '2') + bal('PRCD', '3'), 2000n],
    ['is PRCD, if there is no OPBD', bal('ITBD', '1') + bal('PRCD', '2'), 2000n],
    ['is never ITBD or OPAV', bal('ITBD', '1') + bal('OPAV', '2'), undefined],
    ['is the earliest', bal('OPBD', '1', { date: '2026-03-03' }) + bal('OPBD', '2'), 2000n],
  ])('has an opening balance that %s', async (_, content, amount) => {
    expect((await ends(content)).opening?.amount).toBe(amount);
  });

  it.each([
    ['is CLBD', bal('CLBD', '1') + bal('CLAV', '2') + bal('ITBD', '3'), 1000n],
    ['is the latest', bal('CLBD', '1', { date: '2026-03-03' }) + bal('CLBD', '2'), 1000n],
    ['may follow the entries', ntry() + bal('CLBD', '1'), 1000n],
  ])('has a closing balance that %s', async (_, content, amount) => {
    expect(await ends(content)).toMatchObject({ closing: { amount }, messages: [] });
  });

  const [line, noLine] = ['true', 'false'].map(
    (it) => `<CdtLine><Incl>${it}</Incl><Amt Ccy="EUR">5000</Amt></CdtLine>`,
  ) as [string, string];

  it.each([
    [
      'twice, has those without the credit line',
      bal('OPBD', '5100', { line }) + bal('OPBD', '100') + bal('CLBD', '90') + bal('CLBD', '5090', { line }),
      [100_000n, 90_000n],
    ],
    [
      'twice, in the other order, has those without the credit line',
      bal('OPBD', '100', { line: noLine }) +
        bal('OPBD', '5100', { line }) +
        bal('CLBD', '5090', { line }) +
        bal('CLBD', '90', { line: noLine }),
      [100_000n, 90_000n],
    ],
    [
      'with the credit line alone, has them',
      bal('OPBD', '5100', { line }) + bal('CLBD', '5090', { line }),
      [5_100_000n, 5_090_000n],
    ],
    [
      'of which one kind has both ends, has that kind',
      bal('OPBD', '5100', { line }) + bal('CLBD', '5090', { line }) + bal('CLBD', '90'),
      [5_100_000n, 5_090_000n],
    ],
    [
      'of which each kind has one end, has those without the credit line',
      bal('OPBD', '100') + bal('CLBD', '5090', { line }),
      [100_000n, undefined],
    ],
  ])('with balances %s', async (_, content, expected) => {
    const { opening, closing, messages } = await ends(content + ntry());
    expect([[opening?.amount, closing?.amount], messages]).toEqual([expected, []]);
  });

  it.each([
    ['a comma', bal('CLBD', '7,50'), null, '"7,50"'],
    ['no direction', bal('CLBD', '7', { dc: '' }), null, 'CRDT and DBIT'],
    ['another currency', bal('OPBD', '1') + bal('CLBD', '7', { currency: 'SEK' }), null, 'in SEK'],
    ['31 November', bal('CLBD', '7', { date: '2026-11-31' }), { amount: 7000n, date: null }, '"2026-11-31"'],
  ])('with %s in its closing balance has a warning, and its entries', async (_, content, closing, found) => {
    const events = await parse(statement(content + ntry()));
    expect(events.map(({ type }) => type)).toEqual(['statement', 'warning', 'entry', 'end']);
    expect(ofType(events, 'end')).toMatchObject([{ closing }]);
    expect(messages(events)).toEqual([expect.stringContaining(found)]);
  });

  it('whose opening balance follows its entries has a warning', async () => {
    const events = await parse(statement(ntry() + bal('OPBD', '1')));
    expect(events.map(({ type }) => type)).toEqual(['statement', 'entry', 'warning', 'end']);
  });
});
