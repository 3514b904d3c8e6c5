import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { entriesOf } from '../statement-events.ts';
import { inAccount, read } from './records.ts';

const PAGE = readFileSync(new URL('../../../docs/formats/bai2.md', import.meta.url), 'utf8');
const SECTION = PAGE.split('## What banks write into the text')[1]?.split('## Type codes')[0] ?? '';
const labelsIn = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, label = '']) => label);

/** The rows of the table on the page of the format. */
const BANKS = SECTION.split('\n')
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, bank = '', paid = '', wasPaid = '', endToEnd = '']) => ({
    bank,
    parties: {
      195: labelsIn(paid),
      495: labelsIn(wasPaid === 'the same' ? paid : wasPaid),
    },
    isBefore: paid.startsWith('the text before'),
    endToEnd: labelsIn(endToEnd),
  }));
/** Labels that only end the value before them. */
const ENDINGS = `
  ABA, ADDR, AMT/CUR, BBI, BI, B/O BANK, BNF ADDRESS, BNF BK, CABA, CBIC, CHG, CHKN, CO ENTRY DESCR,
  CREF, DABA, DATE, DBIC, DESC DATE, EED, ENDT, FED ID, FED REF, FR, FX, IDNM, IMAD, IND ID, IND ID
  NO, IND NAME, INDN, MRN SEQ, OB, OB3, OBI, OMAD, ORG ADDRESS, ORG BNK, ORIG BK, OTHER REFERENCE,
  PAID TO, PMT DET, PY, REC FI, REC FROM, REC GFP, REC ID, REF, RELATED REF, REMARK, REMI, SEC, SENDER
  BNK, SENDER ID, SEQ, SERVICE REF, SND BANK, SND BK, SNDBNK, SNDR REF, SRF, STTLMTDATE, TIME, TRACE,
  TRID, TRN, UETR, VIA, WIRE TYPE`
  .split(',')
  .map((label) => label.trim().replace(/\s+/, ' '));
const SIGNS = [':', '=', ':=', '#', ' : ', '#:'];

const readText = async (text: string, code = '195') =>
  entriesOf(await read(inAccount(`16,${code},100,,REF,,${text}`)))[0];

const parties = BANKS.flatMap(({ bank, parties: labels, isBefore }) =>
  Object.entries(labels)
    .filter(([, [name]]) => name !== undefined)
    .map(([code, [name = '', ...others]]) => ({ bank, code, name, others, isBefore })),
);

describe('the labels of a BAI2 text', () => {
  it('are those of the table on the page of the format', () => {
    expect(BANKS).toHaveLength(9);
    expect(parties).toHaveLength(17);
    expect(ENDINGS.length).toBeGreaterThan(60);
  });

  it.each(parties)('give the counterparty: $bank, $code, $name', async ({ code, name, others, isBefore }) => {
    for (const sign of SIGNS) {
      const [id] = others;
      const named = isBefore ? `ACME LTD ${name}${sign}PAY` : `INFO ${name}${sign}ACME LTD`;
      const isSecondName = id === 'B/O';
      const text = id === undefined || isSecondName ? named : `${named} ${id}${sign}4711 REST`;
      expect(await readText(text, code)).toMatchObject({
        name: 'ACME LTD',
        opponentId: id === undefined || isSecondName ? null : '4711',
        opponentIban: null,
        description: text,
      });
    }
  });

  it.each(BANKS.flatMap(({ bank, endToEnd }) => endToEnd.map((label) => [bank, label] as const)))(
    'give the end-to-end id: %s, %s',
    async (_, label) => {
      for (const sign of SIGNS)
        expect((await readText(`INFO ${label}${sign}E2E 17 TRN:5`))?.details).toEqual({
          endToEndId: 'E2E 17',
        });
    },
  );

  it.each(['B/O', 'BO1', 'ORIG', ...ENDINGS])('end the value before them: %s', async (label) => {
    expect((await readText(`BNF:ACME LTD ${label}:OTHER`, '495'))?.name).toBe('ACME LTD');
    expect((await readText(`BNF:ACME LTD,${label.toLowerCase()}=OTHER`, '495'))?.name).toBe('ACME LTD');
  });

  it.each<[string, string, string, object]>([
    [
      'the payer of a debit is the owner',
      '495',
      'ORIG:OWN LTD ID:17 ORG:OWN LTD DBNM:OWN BO1:OWN BO:1 DACT:2',
      {},
    ],
    [
      'the payee of a credit is the owner',
      '195',
      'BNF:OWN LTD ID:17 CRNM:OWN BNF NAME:OWN BNF ID:1 CACT:2',
      {},
    ],
    ['the receiver of an ACH entry is the owner', '165', 'IND NAME:OWN LTD IND ID:17', {}],
    ['a bank is no party', '195', 'SND BK:FIRST BANK ID:0002', {}],
    ['a word that ends like a label is none', '195', 'MYORG:ACME LTD XBNF=ACME', {}],
    ['a label without a sign is a word', '195', 'ORIG ACME LTD', {}],
    ['DES without a company is no ACH entry', '195', 'ACME DES:PAY', {}],
    [
      'an account number before the name',
      '195',
      'ORG:/00817-5 ACME LTD',
      { name: 'ACME LTD', opponentId: '00817-5' },
    ],
    ['digits before the name', '195', 'ORG:81380 ACME LTD', { name: 'ACME LTD', opponentId: '81380' }],
    ['a short number is a part of the name', '195', 'ORG:81 ACME LTD', { name: '81 ACME LTD' }],
    [
      'an IBAN before the name',
      '195',
      'ORG:DE89370400440532013000 ACME LTD',
      { name: 'ACME LTD', opponentIban: 'DE89370400440532013000' },
    ],
    [
      'an IBAN as the id',
      '495',
      'CRNM:ACME LTD CACT:DE89370400440532013000',
      { name: 'ACME LTD', opponentIban: 'DE89370400440532013000' },
    ],
    [
      'a name in numbered lines',
      '195',
      'ORG:/00817 1/ACME LTD 2/MAIN ST 3/US',
      { name: 'ACME LTD', opponentId: '00817' },
    ],
    ['a name after a slash', '195', 'ORG:/ACME LTD', { name: 'ACME LTD' }],
    [
      'an account after a slash',
      '195',
      'ORIGINATOR:ACME LTD AC/4711 ADDR:X',
      { name: 'ACME LTD', opponentId: '4711' },
    ],
    ['the first of several values', '195', 'ORG:ACME LTD ORG:OTHER', { name: 'ACME LTD' }],
    ['an empty value before another', '195', 'ORG: ORIG:ACME LTD', { name: 'ACME LTD' }],
    ['small letters', '195', 'Orig Co Name:Acme Ltd Orig ID:4711', { name: 'Acme Ltd', opponentId: '4711' }],
    [
      'blanks between the words of a label',
      '165',
      'ORIG  CO  NAME:ACME LTD   ORIG ID:4711',
      { name: 'ACME LTD', opponentId: '4711' },
    ],
    [
      'a label that a record cuts',
      '165',
      'ORIG CO\n88,NAME:ACME LTD\n88,ORIG ID:4711',
      { name: 'ACME LTD', opponentId: '4711' },
    ],
  ])('are read with care: %s', async (_, code, text, expected) => {
    expect(await readText(text, code)).toMatchObject({
      name: null,
      opponentId: null,
      opponentIban: null,
      ...expected,
    });
  });

  it.each(labelsOfReturns())('give no counterparty of a payment that comes back: %s', async (code) => {
    const text =
      'ORG:ACME LTD BNF:ACME LTD BNF ID:17 DACT:DE89370400440532013000 ORIG CO NAME:ACME LTD EREF:E-17';
    expect(await readText(text, code)).toMatchObject({
      name: null,
      opponentId: null,
      opponentIban: null,
      details: { endToEndId: 'E-17' },
    });
  });

  it.each(['NOTPROVIDED', '0000000000', 'O/B FIRST BANK', '', 'X'.repeat(36)])(
    'give no end-to-end id that is none: "%s"',
    async (value) => {
      expect((await readText(`EREF:${value} TRN:5`))?.details).toBeUndefined();
    },
  );
});

function labelsOfReturns(): string[] {
  const [, codes = ''] = /payments that come back \(([\d, ]+)\)/.exec(SECTION) ?? [];
  return codes.split(', ');
}
