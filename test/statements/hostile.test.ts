import { describe, expect, it } from 'vitest';
import { toProfile } from '../../src/imports/load-profiles.ts';
import {
  createStatementFormats,
  STATEMENT_FORMATS,
  type StatementFormat,
} from '../../src/statements/formats.ts';
import { BANKS } from '../../src/statements/profiles/banks/banks.ts';

const formats = createStatementFormats(
  Object.entries(BANKS).map(([name, content]) => toProfile(name, content, `${name}.json`)),
);

/** The beginning of a file in each format, cut where a parser waits for different things to come. */
const BEGINNINGS: Record<Exclude<StatementFormat, 'xlsx'>, readonly string[]> = {
  mt940: [
    ':20:A\n',
    ':20:A\n:25:1/2\n:28C:1\n:60F:C260101EUR1,\n',
    ':20:A\n:25:1/2\n:61:2601010101D1,NMSC',
    ':20:A\n:25:1/2\n:61:2601010101D1,NMSCX\n:86:?20',
  ],
  mt942: [':20:A\n:34F:EUR0,\n', ':20:A\n:13D:2601011200+0100\n:61:2601010101D1,N'],
  camt: [
    '<Document><BkToCstmrStmt>',
    '<Document><BkToCstmrStmt><Stmt><Ntry><NtryDtls><TxDtls><RmtInf><Ustrd>',
    '<Document a="',
  ],
  ofx: ['OFXHEADER:100\n\n<OFX>', '<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><BANKTRANLIST><STMTTRN><MEMO>'],
  csv: ['Date;Amount\n', 'Date;Amount\n"', '"'],
  bai2: [
    '01,',
    '01,A,B,260101,1200,1,80,1,2/\n02,A,B,1,260101,,EUR,2/\n03,1,EUR,010,1,,/\n',
    '88',
    '16,495,1,,,,TEXT',
    '16,495,1,D,',
  ],
};

const FILLS = [
  ' ',
  '\t',
  '\n',
  '\r\n',
  '/',
  ',',
  ';',
  '"',
  "'",
  '<',
  '&',
  '>',
  ':',
  '?',
  '-',
  '0',
  '9',
  'A',
  'é',
  '/ ',
  ', ',
  '":"',
  '88,',
  '<A>',
  '</A>',
  '<b/>x',
  ']]>',
  '<![CDATA[x]]>',
];

/** A line is a little shorter than where parsers give up on it. */
const LINE = 60_000;
const LINES = 5;

async function* inParts(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 64 * 1024) yield bytes.subarray(at, at + 64 * 1024);
}

/** The lengths of what a file says, with how it ended. */
async function measure(text: string, format: StatementFormat): Promise<number> {
  const file = { start: Buffer.from(text.slice(0, 8 * 1024)), bytes: inParts(text) };
  let longest = 0;
  for await (const events of formats.parse(file, format, format === 'csv' ? 'n26' : null)) {
    for (const event of events) {
      for (const value of Object.values(event)) longest = Math.max(longest, String(value).length);
    }
  }
  return longest;
}

describe.each(Object.entries(BEGINNINGS))('a file of %s', (format, beginnings) => {
  // If the time grew with the square of the length, each of these files would take several seconds.
  it.each(FILLS)('a file that is filled with %j is read to its end', { timeout: 6_000 }, async (fill) => {
    for (const beginning of beginnings) {
      const [last = ''] = beginning.split('\n').slice(-1);
      const line = `${fill.repeat(LINE / fill.length)}x\n`;
      expect(await measure(beginning + (line + last).repeat(LINES), format as StatementFormat)).toBeLessThan(
        LINE,
      );
    }
  });
});

it('each format is filled, except XLSX, whose tests are beside its parser', () => {
  expect(Object.keys(BEGINNINGS).toSorted()).toEqual(
    STATEMENT_FORMATS.filter((it) => it !== 'xlsx').toSorted(),
  );
});
