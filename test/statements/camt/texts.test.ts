import { describe, expect, it } from 'vitest';
import { entries, messages, ntry, ofType, parse, statement } from './events.ts';

const read = async (details: string, more = '') =>
  entries(await parse(statement(ntry({ details: `<TxDtls>${details}</TxDtls>`, more }))));

const ustrd = (...texts: string[]) => texts.map((it) => `<Ustrd>${it}</Ustrd>`).join('');
const remittance = (content: string) => `<RmtInf>${content}</RmtInf>`;

/** Where a detail may have a text. */
const PLACES: readonly (readonly [path: string, content: (text: string) => string])[] = [
  ['RmtInf/Ustrd', (it) => remittance(ustrd(it))],
  ['RmtInf/Strd/AddtlRmtInf', (it) => remittance(`<Strd><AddtlRmtInf>${it}</AddtlRmtInf></Strd>`)],
  [
    'RmtInf/Strd/CdtrRefInf/Ref',
    (it) => remittance(`<Strd><CdtrRefInf><Ref>${it}</Ref></CdtrRefInf></Strd>`),
  ],
  ['RmtInf/Strd/RfrdDocInf/Nb', (it) => remittance(`<Strd><RfrdDocInf><Nb>${it}</Nb></RfrdDocInf></Strd>`)],
  ['RtrInf/Rsn/Cd', (it) => `<RtrInf><Rsn><Cd>${it}</Cd></Rsn></RtrInf>`],
  ['RtrInf/Rsn/Prtry', (it) => `<RtrInf><Rsn><Prtry>${it}</Prtry></Rsn></RtrInf>`],
  ['RtrInf/AddtlInf', (it) => `<RtrInf><AddtlInf>${it}</AddtlInf></RtrInf>`],
  ['CardTx/POI/SysNm', (it) => `<CardTx><POI><SysNm>${it}</SysNm></POI></CardTx>`],
  ['CardTx/POI/Id/ShrtNm', (it) => `<CardTx><POI><Id><ShrtNm>${it}</ShrtNm></Id></POI></CardTx>`],
  ['RltdPties/TradgPty', (it) => `<RltdPties><TradgPty><Pty><Nm>${it}</Nm></Pty></TradgPty></RltdPties>`],
  ['Refs/ChqNb', (it) => `<Refs><ChqNb>${it}</ChqNb></Refs>`],
  [
    'RltdPties/CdtrAcct/Tp',
    (it) => `<RltdPties><CdtrAcct><Tp><Prtry>${it}</Prtry></Tp></CdtrAcct></RltdPties>`,
  ],
  ['AddtlTxInf', (it) => `<AddtlTxInf>${it}</AddtlTxInf>`],
];

describe('the description of an entry of CAMT', () => {
  it.each(PLACES)('has the text of %s, alone and beside another', async (path, content) => {
    expect(await read(content('INV-7'))).toMatchObject([{ description: 'INV-7' }]);
    const beside = path === 'RmtInf/Ustrd' ? '<AddtlTxInf>Rent</AddtlTxInf>' : remittance(ustrd('Rent'));
    const [entry] = await read(beside + content('INV-7'));
    expect(entry?.description?.split(' ').sort()).toEqual(['INV-7', 'Rent']);
  });

  it.each(PLACES.filter(([path]) => path !== 'RmtInf/Strd/AddtlRmtInf'))(
    'has the text of %s once if it is part of the words before',
    async (path, content) => {
      const before = path === 'RmtInf/Ustrd' ? '' : remittance(ustrd('Rent, inv 7 (May)'));
      const [entry] = await read(before + content('INV-7'));
      expect(entry?.description).toBe(before === '' ? 'INV-7' : 'Rent, inv 7 (May)');
    },
  );

  it('has a number that is part of another number', async () => {
    const number = '<Strd><RfrdDocInf><Nb>81</Nb></RfrdDocInf></Strd>';
    expect(await read(remittance(ustrd('Invoice 815') + number))).toMatchObject([
      { description: 'Invoice 815 81' },
    ]);
  });

  it('has the text of AddtlNtryInf', async () => {
    expect(await read(remittance(ustrd('Rent')), '<AddtlNtryInf>Transfer</AddtlNtryInf>')).toMatchObject([
      { description: 'Rent Transfer' },
    ]);
  });

  it('has the card acceptor as the name if there is no other', async () => {
    const acceptor = '<CardTx><POI><SysNm>BAKERY</SysNm></POI></CardTx>';
    expect(await read(acceptor)).toMatchObject([{ name: 'BAKERY' }]);
    expect(await read(`<RltdPties><Dbtr><Nm>Ada</Nm></Dbtr></RltdPties>${acceptor}`)).toMatchObject([
      { name: 'Ada', description: 'BAKERY' },
    ]);
  });

  it.each([34, 35, 36, 139, 140, 141])(
    'joins two Ustrd of which the first has %i characters',
    async (width) => {
      const first = `${'abcd '.repeat(28).slice(0, width - 1)}x`;
      const isCut = width === 35 || width === 140;
      expect(await read(remittance(ustrd(first, 'yz')))).toMatchObject([
        { description: `${first}${isCut ? '' : ' '}yz` },
      ]);
      expect(await read(remittance(ustrd(first, ' yz')))).toMatchObject([{ description: `${first} yz` }]);
      expect(await read(remittance(ustrd(`${first.slice(0, -1)} `, 'yz')))).toMatchObject([
        { description: `${first.slice(0, -1).trim()} yz` },
      ]);
    },
  );

  it('has the characters of HTML entities', async () => {
    expect(await read(remittance(ustrd('Caf&eacute;&nbsp;M&uuml;ller &amp; S')))).toMatchObject([
      { description: 'Café Müller & S' },
    ]);
  });
});

describe('the amount of an entry of CAMT', () => {
  const amount = (text: string, dc: string) =>
    parse(statement(ntry({ amount: `<Amt Ccy="EUR">${text}</Amt>`, dc: `<CdtDbtInd>${dc}</CdtDbtInd>` })));

  it.each([
    ['33.9999999999995', 34_000n],
    ['100.0000000000005', 100_000n],
    ['0.30000000000000004', 300n],
    ['19.989999999999998', 19_990n],
  ])('is rounded, with a warning, if it is a binary fraction: %s', async (text, found) => {
    const events = await amount(text, 'DBIT');
    expect(entries(events)).toMatchObject([{ amount: found }]);
    expect(messages(events)).toEqual([expect.stringContaining(`"${text}" is read as`)]);
  });

  it.each(['33.123456789', '33.9999', '1e3', '33.99999'])('is not rounded otherwise: %s', async (text) => {
    expect(ofType(await amount(text, 'DBIT'), 'issue')).toHaveLength(1);
  });

  it.each([
    ['-50.00', 'DBIT', 'Debit', 'is read as a debit'],
    ['-50.00', 'CRDT', 'Credit', 'is read as a credit'],
    ['\u221250.00', 'CRDT', 'Credit', 'is read as a credit'],
  ])(
    'may have a minus sign, which leaves the direction to the balances, with a warning: %s and %s',
    async (text, code, dc, warning) => {
      const events = await amount(text, code);
      expect(entries(events)).toMatchObject([{ amount: 50_000n, dc, details: { isReversal: true } }]);
      expect(messages(events)).toEqual([expect.stringContaining(warning)]);
    },
  );
});

describe('the balances of a page of a CAMT statement', () => {
  const balance = (code: string, amount: number) =>
    `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">${amount}</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-03-02</Dt></Dt></Bal>`;
  const read = async (balances: [string, number][], message = {}) => {
    const events = await parse(statement(balances.map((it) => balance(...it)).join('') + ntry(), message));
    const amountOf = (it: { amount: bigint } | null | undefined) => (it ? Number(it.amount) / 1_000 : null);
    return [amountOf(ofType(events, 'statement')[0]?.opening), amountOf(ofType(events, 'end')[0]?.closing)];
  };

  it.each<[string, [string, number][], (number | null)[]]>([
    [
      'the first page',
      [
        ['PRCD', 100],
        ['ITBD', 90],
      ],
      [100, 90],
    ],
    [
      'a page in between',
      [
        ['ITBD', 90],
        ['ITBD', 70],
      ],
      [90, 70],
    ],
    [
      'the last page',
      [
        ['ITBD', 70],
        ['CLBD', 40],
      ],
      [70, 40],
    ],
    [
      'a statement on one page',
      [
        ['OPBD', 100],
        ['ITBD', 90],
        ['CLBD', 40],
      ],
      [100, 40],
    ],
    ['an interim balance alone', [['ITBD', 90]], [null, null]],
  ])('are its interim balances where it has no others: %s', async (_, balances, found) => {
    expect(await read(balances)).toEqual(found);
  });

  it('are not the interim balance of a report of the day', async () => {
    const report = { message: 'BkToCstmrAcctRpt', name: 'Rpt' };
    expect(
      await read(
        [
          ['OPBD', 100],
          ['ITBD', 90],
        ],
        report,
      ),
    ).toEqual([100, null]);
  });

  it('may have a minus sign', async () => {
    expect(
      await read([
        ['OPBD', -100],
        ['CLBD', -40],
      ]),
    ).toEqual([-100, -40]);
  });
});
