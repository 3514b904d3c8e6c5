import { describe, expect, it } from 'vitest';
import { parseBai2 } from '../../packages/statements/src/bai2/parse.ts';
import { parseCamt } from '../../packages/statements/src/camt/parse.ts';
import { parseMt940 } from '../../packages/statements/src/mt940/parse.ts';
import { parseOfx } from '../../packages/statements/src/ofx/parse.ts';
import type { EntryDetails, StatementParser } from '../../packages/statements/src/statement.ts';
import { inAccount } from './bai2/records.ts';
import { statement as camt, ntry } from './camt/events.ts';
import { statement as mt940 } from './mt940/read.ts';
import { withFields } from './ofx/statement.ts';
import { readEvents } from './statement-events.ts';

const detailsOf = async (parse: StatementParser, text: string) =>
  (await readEvents(parse, text)).flatMap((event) => (event.type === 'entry' ? [event.entry.details] : []));

const TX_DETAILS = (content: string) => camt(ntry({ details: `<TxDtls>${content}</TxDtls>` }));
const FX = (amount: string) =>
  `<AmtDtls><InstdAmt>${amount}<CcyXchg><XchgRate>1.0837</XchgRate></CcyXchg></InstdAmt></AmtDtls>`;

describe('an entry of CAMT', () => {
  it.each<[string, string, EntryDetails | undefined]>([
    ['nothing more', camt(ntry()), undefined],
    [
      'its value date',
      camt(ntry({ more: '<ValDt><Dt>2026-03-04</Dt></ValDt>' })),
      { valueDate: '2026-03-04' },
    ],
    [
      'no value date that cannot be read',
      camt(ntry({ more: '<ValDt><Dt>2026-02-31</Dt></ValDt>' })),
      undefined,
    ],
    ['a reversal', camt(ntry({ reversal: '<RvslInd>true</RvslInd>' })), { isReversal: true }],
    ['no reversal', camt(ntry({ reversal: '<RvslInd>false</RvslInd>' })), undefined],
    [
      'the ids of the payment',
      TX_DETAILS('<Refs><EndToEndId>E-1</EndToEndId><MndtId>M-1</MndtId></Refs>'),
      { endToEndId: 'E-1', mandateReference: 'M-1' },
    ],
    [
      'no id that was not provided',
      TX_DETAILS('<Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs>'),
      undefined,
    ],
    [
      'a creditor reference',
      TX_DETAILS('<RmtInf><Strd><CdtrRefInf><Ref>RF18 5390 0754 7034</Ref></CdtrRefInf></Strd></RmtInf>'),
      { creditorReference: 'RF18539007547034' },
    ],
    [
      'no creditor reference with wrong check digits',
      TX_DETAILS('<RmtInf><Strd><CdtrRefInf><Ref>RF19539007547034</Ref></CdtrRefInf></Strd></RmtInf>'),
      undefined,
    ],
    [
      'the original amount of its detail',
      TX_DETAILS(FX('<Amt Ccy="USD">10.84</Amt>')),
      { originalAmount: 10840n, originalCurrency: 'USD', exchangeRate: '1.0837' },
    ],
    [
      'the original amount of its own',
      camt(ntry({ more: FX('<Amt Ccy="USD">10.84</Amt>') })),
      { originalAmount: 10840n, originalCurrency: 'USD', exchangeRate: '1.0837' },
    ],
    ['no original amount in its own currency', TX_DETAILS(FX('<Amt Ccy="EUR">10.00</Amt>')), undefined],
  ])('has %s in its details', async (_, text, expected) => {
    expect(await detailsOf(parseCamt, text)).toEqual([expected]);
  });

  it('that is divided gives each payment its own details, and no payment the original amount of the whole', async () => {
    const detail = (id: string) =>
      `<TxDtls><Refs><EndToEndId>${id}</EndToEndId></Refs><Amt Ccy="EUR">5.00</Amt></TxDtls>`;
    const text = camt(ntry({ more: FX('<Amt Ccy="USD">10.84</Amt>'), details: detail('A') + detail('B') }));
    const batch = { reference: null, amount: 10_000n };
    expect(await detailsOf(parseCamt, text)).toEqual([
      { endToEndId: 'A', batch },
      { endToEndId: 'B', batch },
    ]);
  });

  it('that is not divided takes no original amount from its payments', async () => {
    const detail = `<TxDtls>${FX('<Amt Ccy="USD">3.00</Amt>')}</TxDtls>`;
    expect(await detailsOf(parseCamt, camt(ntry({ details: detail + detail })))).toEqual([undefined]);
  });
});

describe('an entry of MT940', () => {
  const LINE = ':61:2611051106C10,00NTRFNONREF//B1';
  it.each<[string, string[], EntryDetails]>([
    ['its value date', [LINE], { valueDate: '2026-11-05' }],
    [
      'the reversal of a debit',
      [':61:2611051106RD10,00NTRFX'],
      { valueDate: '2026-11-05', isReversal: true },
    ],
    [
      'the reversal of a credit',
      [':61:2611051106RC10,00NTRFX'],
      { valueDate: '2026-11-05', isReversal: true },
    ],
    [
      'the SEPA tags of sub-fields',
      [LINE, ':86:166?00GUTSCHRIFT?20EREF+E-1?21MREF+M-1?22KREF+RF18539007547034?23SVWZ+Miete?32Ada'],
      {
        valueDate: '2026-11-05',
        endToEndId: 'E-1',
        mandateReference: 'M-1',
        creditorReference: 'RF18539007547034',
      },
    ],
    [
      'the SEPA tags of free text',
      [LINE, ':86:EREF+E-1 SVWZ+RF18539007547034'],
      { valueDate: '2026-11-05', endToEndId: 'E-1', creditorReference: 'RF18539007547034' },
    ],
    [
      'no id that was not provided',
      [LINE, ':86:166?00GUTSCHRIFT?20EREF+NOTPROVIDED?21SVWZ+Miete'],
      { valueDate: '2026-11-05' },
    ],
    [
      'the tags of Dutch banks',
      [LINE, ':86:/TRTP/SEPA/IBAN/NL91ABNA0417164300/NAME/Ada/MARF/M-1/REMI/Huur/EREF/E-1'],
      { valueDate: '2026-11-05', endToEndId: 'E-1', mandateReference: 'M-1' },
    ],
  ])('has %s in its details', async (_, lines, expected) => {
    expect(await detailsOf(parseMt940, mt940(...lines))).toEqual([expected]);
  });
});

describe('an entry of OFX', () => {
  it.each<[string, string, EntryDetails | undefined]>([
    ['nothing more', '', undefined],
    ['its value date', '<DTAVAIL>20260303', { valueDate: '2026-03-03' }],
    [
      'its original currency and rate',
      '<ORIGCURRENCY><CURRATE>34.5<CURSYM>USD</ORIGCURRENCY>',
      { originalCurrency: 'USD', exchangeRate: '34.5' },
    ],
  ])('has %s in its details', async (_, fields, expected) => {
    expect(await detailsOf(parseOfx, withFields(fields))).toEqual([expected]);
  });
});

describe('an entry of BAI2', () => {
  it.each<[string, string, EntryDetails | undefined]>([
    ['nothing more', '16,165,1000,Z,B1,C1,TEXT/', undefined],
    ['its value date', '16,165,1000,V,260303,0900,B1,C1,TEXT/', { valueDate: '2026-03-03' }],
    ['no value date when the field is empty', '16,165,1000,V,,,B1,C1,TEXT/', undefined],
    ['no availability of its parts', '16,165,1000,S,100,200,700,B1,C1,TEXT/', undefined],
  ])('has %s in its details', async (_, record, expected) => {
    expect(await detailsOf(parseBai2, inAccount(record))).toEqual([expected]);
  });
});
