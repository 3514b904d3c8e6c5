import { readdirSync, readFileSync } from 'node:fs';
import type fc from 'fast-check';
import { expect } from 'vitest';
import { parseBai2 } from '../../packages/statements/src/bai2/parse.ts';
import { parseCamt } from '../../packages/statements/src/camt/parse.ts';
import { parseCfonb120 } from '../../packages/statements/src/cfonb120/parse.ts';
import { parseCoda } from '../../packages/statements/src/coda/parse.ts';
import { createCsvParser } from '../../packages/statements/src/csv/parse.ts';
import type { StatementFormat } from '../../packages/statements/src/formats.ts';
import { parseMt940 } from '../../packages/statements/src/mt940/parse.ts';
import { parseNorma43 } from '../../packages/statements/src/norma43/parse.ts';
import { parseOfx } from '../../packages/statements/src/ofx/parse.ts';
import type { StatementEvent, StatementParser } from '../../packages/statements/src/statement.ts';
import { loadProfiles } from '../../src/intake/load-profiles.ts';
import { renderedBai2 } from './bai2/render.ts';
import { renderedCamt } from './camt/render.ts';
import { balance, movement } from './cfonb120/records.ts';
import { renderedCfonb120 } from './cfonb120/render.ts';
import { movement as codaMovement, header, oldBalance } from './coda/records.ts';
import { renderedCoda } from './coda/render.ts';
import { renderedCsv } from './csv/render.ts';
import { renderedMt940 } from './mt940/render.ts';
import { renderedNorma43 } from './norma43/render.ts';
import { renderedOfx } from './ofx/render.ts';
import { testProfile } from './profiles/profile.fixture.ts';
import type { File, Rendered } from './rendered.ts';
import { countOf, entriesOf } from './statement-events.ts';

/** A format, as the tests of all formats use it. */
interface FormatRow {
  name: StatementFormat;
  parse: StatementParser;
  /** Own samples. */
  samples: readonly File[];
  /** Files that were made of random movements. */
  rendered: fc.Arbitrary<Rendered>;
  /** Parts of the syntax. Damaged files and random texts have more of them. */
  marks: readonly string[];
  /** The beginning of a file, cut where a parser waits for different things to come. */
  beginnings: readonly string[];
  /** Which one of several errors is found first depends on how the text is split. */
  errorDependsOnSplit?: true;
  /** Checks what is special in the events of any text. */
  checkAny?(text: string, events: readonly StatementEvent[]): void;
  /** Checks what is special in the events of a damaged file. */
  checkDamaged?(text: string, events: readonly StatementEvent[]): void;
  /** The last entry of a file that is cut off can have a shorter text. */
  cutsText?: true;
  /** Checks that the events of a file say that it was cut off. Absent if a part of such a file can be a whole file. */
  checkCut?(text: string, events: readonly StatementEvent[], whole: readonly StatementEvent[]): void;
  /** Pieces that are repeated behind each of these beginnings, and how many events of these types they give. */
  endless?: {
    beginnings: readonly string[];
    pieces: readonly string[];
    counts: Partial<Record<StatementEvent['type'], number>>;
  };
}

function samplesIn(folder: string, ends: RegExp): { name: string; text: string }[] {
  const path = new URL(`../samples/${folder}/`, import.meta.url);
  const names = readdirSync(path).filter((name) => ends.test(name));
  return names.map((name) => ({ name, text: readFileSync(new URL(name, path), 'utf8') }));
}

const CFONB_BALANCE = balance('01', 100_000);
const CFONB_MOVEMENT = movement();

const reported = (events: readonly StatementEvent[]) => countOf(events, 'issue') + countOf(events, 'warning');

/** An amount, and the type after it, or a reference or nothing after two fraction digits. */
const AMOUNT =
  /61:\d{6,10} *[RE]?[CD][A-Z]? *(?=[\d.,])(\d*)(?:[,.](\d*))?(?: *[A-Z]|(?<=[.,]\d\d) *(?:\/\/|$))/;

/** Reads :61: in another way: the number after C or D, in thousandths; null if it is not a plain one. */
function amountAt(lines: readonly string[], line: number): bigint | null {
  const text = lines[line - 1] ?? '';
  const [, units, fraction = ''] = AMOUNT.exec(text) ?? AMOUNT.exec(text + (lines[line] ?? '')) ?? [];
  if (units === undefined || /[1-9]/.test(fraction.slice(3))) return null;
  return BigInt(`${units}${fraction.slice(0, 3).padEnd(3, '0')}`);
}

/** A line that begins an entry. An envelope can stand before its :61:, unless the line begins with a hyphen. */
const ENTRY_LINE = /^(?!-)(?:[^\w\s:]{1,3}4:|[^\w\s:]{0,3}1:[A-Z]\d\d[A-Z0-9]{8}(?:(?!4::).)*4:)?:61:/;

const MT940 = {
  parse: parseMt940,
  cutsText: true,
  marks: [
    ...[':20:', ':25:', ':60F:', ':61:', ':62F:', ':86:', ':34F:', ':NS:', ':', '-', '-\n', '{1:', '{4:'],
    ...['261131', '1131', 'C', 'RD', '12,34', 'NTRF', 'NONREF', '//', '166?20', '/REMI/', 'SVWZ+'],
    ...['\n', '\r', ' ', ',', '.', '\0'],
  ],
  /** An issue belongs to a statement. */
  checkAny(_, events) {
    let isOpen = false;
    for (const { type } of events) {
      if (type === 'issue') expect(isOpen).toBe(true);
      isOpen = type === 'statement' || (isOpen && type !== 'end');
    }
  },
  /** Each :61: gives an entry or an issue, and no other amount than the one that stands there. */
  checkDamaged(text, events) {
    const lines = text.split(/\r\n|[\r\n]/);
    const begun = lines.filter((line) => ENTRY_LINE.test(line)).length;
    // A tag that was cut in two behind its first colon is read too.
    const cutInTwo = lines.filter((line, at) => line.startsWith('61:') && lines[at - 1] === ':').length;
    const found = countOf(events, 'entry') + countOf(events, 'issue');
    expect(found).toBeGreaterThanOrEqual(begun);
    expect(found).toBeLessThanOrEqual(begun + cutInTwo);
    for (const { line, amount } of entriesOf(events)) expect(amount).toBe(amountAt(lines, line));
  },
} satisfies Partial<FormatRow>;

const CODA_HEADER = `${header()}\n`;
const CODA_BALANCE = `${oldBalance(0n)}\n`;
const BAI2_TRANSACTION = '01,A,B,260302,0600,1,,,2/\n02,A,B,1,260301,,,2/\n03,17,,,,,/\n16,195,1';

const NORMA43_HEADER = '11987600070000123456260301260331200000000001000978';
const NORMA43_MOVEMENT = `${NORMA43_HEADER}\n22    0007260302260302020012000000000050000000000`;

export const FORMATS: readonly FormatRow[] = [
  {
    ...MT940,
    name: 'mt940',
    samples: samplesIn('mt940', /\.(?:sta|940)$/),
    rendered: renderedMt940(false),
    beginnings: [
      ':20:A\n',
      ':20:A\n:25:1/2\n:28C:1\n:60F:C260101EUR1,\n',
      ':20:A\n:25:1/2\n:61:2601010101D1,NMSC',
      ':20:A\n:25:1/2\n:61:2601010101D1,NMSCX\n:86:?20',
    ],
    checkCut(_, events, whole) {
      expect(countOf(events, 'issue')).toBeLessThanOrEqual(1 + countOf(whole, 'issue'));
      const isComplete = events.every((event) => event.type !== 'end' || event.closing !== null);
      if (!isComplete || countOf(whole, 'warning') === 0)
        expect(countOf(events, 'warning') > 0).toBe(!isComplete);
    },
  },
  {
    ...MT940,
    name: 'mt942',
    samples: samplesIn('mt940', /\.942$/),
    rendered: renderedMt940(true),
    beginnings: [':20:A\n:34F:EUR0,\n', ':20:A\n:13D:2601011200+0100\n:61:2601010101D1,N'],
  },
  {
    name: 'camt',
    parse: parseCamt,
    samples: samplesIn('camt', /\.xml$/),
    rendered: renderedCamt,
    errorDependsOnSplit: true,
    marks: [...'<>/="\'&;x0 !?-\u0000'],
    beginnings: [
      '<Document><BkToCstmrStmt>',
      '<Document><BkToCstmrStmt><Stmt><Ntry><NtryDtls><TxDtls><RmtInf><Ustrd>',
      '<Document a="',
    ],
    checkCut: (_, events) => expect(countOf(events, 'issue')).toBeGreaterThan(0),
  },
  {
    name: 'ofx',
    parse: parseOfx,
    samples: samplesIn('ofx', /\.[oq]fx$/),
    rendered: renderedOfx,
    marks: [...'<>/&;#!?[]-0x9, \n\r\0ğ'],
    beginnings: [
      'OFXHEADER:100\n\n<OFX>',
      '<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><BANKTRANLIST><STMTTRN><MEMO>',
    ],
    checkCut: (_, events) => expect(reported(events)).toBeGreaterThan(0),
    endless: {
      beginnings: ['<OFX><STMTRS><STMTTRN><TRNAMT>'],
      pieces: ['<A', '<', '<!--', '<![CDATA[', '&', ' ', '\n', '<STMTTRN><PAYEE>', '</STMTTRN>', '1'],
      counts: { entry: 0 },
    },
  },
  {
    name: 'csv',
    parse: createCsvParser(testProfile()),
    samples: samplesIn('csv', /\.csv$/).map(({ name, text }) => {
      const profile = loadProfiles(undefined).find((it) => `${it.name}.csv` === name);
      if (profile === undefined) throw new Error(`There is no profile for ${name}.`);
      return { text, parse: createCsvParser(profile) };
    }),
    rendered: renderedCsv,
    marks: [...'1,;"\n\r. x-\u0000\'\t|'],
    beginnings: ['Date;Amount\n', 'Date;Amount\n"', '"', 'Date;Amount;Text;Balance\n01.02.2026;1,00;a;\n'],
    // A change within a date, an amount or a text can give another valid one. What is certain: nothing is thrown, each
    // event is of a row of the file, and there are no more of them than rows.
    checkDamaged: (text, events) =>
      expect(countOf(events, 'entry') + countOf(events, 'issue')).toBeLessThanOrEqual(
        text.split(/\r\n|[\r\n]/).length,
      ),
  },
  {
    name: 'bai2',
    parse: parseBai2,
    samples: samplesIn('bai2', /\.bai$/),
    rendered: renderedBai2,
    cutsText: true,
    marks: [...'01688493,/-+SVDZ \n\r\0ğ'],
    beginnings: [
      '01,',
      '01,A,B,260101,1200,1,80,1,2/\n02,A,B,1,260101,,EUR,2/\n03,1,EUR,010,1,,/\n',
      '88',
      '16,495,1,,,,TEXT',
      '16,495,1,D,',
    ],
    /** A file that has its last record is complete. */
    checkCut(text, events) {
      if (!/(?:^|\/) ?99/m.test(text)) expect(reported(events)).toBeGreaterThan(0);
    },
    endless: {
      beginnings: [BAI2_TRANSACTION, `${BAI2_TRANSACTION},,,,`],
      pieces: ['1', ',', '/', ' ', '/ ', '\n', '88,', '/88,', '/16,195', '16,195,1,D,9999,', 'x,', '\r'],
      counts: { end: 1 },
    },
  },
  {
    name: 'norma43',
    parse: parseNorma43,
    samples: samplesIn('norma43', /\.n43$/),
    rendered: renderedNorma43,
    cutsText: true,
    marks: [...'0129 \n\r\u001a\0ğ', '11', '22', '23', '2301', '24', '33', '88', NORMA43_HEADER],
    beginnings: [
      NORMA43_HEADER,
      `${NORMA43_HEADER}\n22    `,
      `${NORMA43_MOVEMENT}\n`,
      `${NORMA43_MOVEMENT}\n2301`,
      `${NORMA43_MOVEMENT}\n2401`,
      `${NORMA43_MOVEMENT}\n33`,
      '88',
    ],
    /** No entry has another amount than the one that stands in its line. */
    checkDamaged(text, events) {
      const lines = text.split(/\r\n|[\r\n]/);
      // Else it may have no line ends, and lines are counted by records.
      const first = lines.find((line) => line.replaceAll('\u001a', '').trim() !== '') ?? '';
      if (lines.length === 1 || first.length >= 160) return;
      for (const { line, amount } of entriesOf(events))
        expect(amount).toBe(10n * BigInt(lines[line - 1]?.slice(28, 42) ?? ''));
    },
    /** A file that has the record of its end is complete. */
    checkCut(text, events) {
      if (!/88\d{24}/.test(text)) expect(reported(events)).toBeGreaterThan(0);
    },
    endless: {
      beginnings: [`${NORMA43_MOVEMENT}\n23`, `${NORMA43_MOVEMENT}\n24`],
      pieces: ['1', ' ', '22', '\r', '2301', '9'],
      counts: { entry: 1, end: 1 },
    },
  },
  {
    name: 'cfonb120',
    parse: parseCfonb120,
    samples: samplesIn('cfonb120', /\.cfo$/),
    rendered: renderedCfonb120,
    cutsText: true,
    marks: [...'0129 {}AJR\n\r\u001a\0é', '01', '04', '05', '07', CFONB_BALANCE, CFONB_MOVEMENT],
    beginnings: [
      CFONB_BALANCE,
      `${CFONB_BALANCE}\n04`,
      `${CFONB_BALANCE}\n${CFONB_MOVEMENT}\n`,
      `${CFONB_BALANCE}\n${CFONB_MOVEMENT}\n05`,
      `${CFONB_BALANCE}\n${CFONB_MOVEMENT}\n07`,
      '07',
    ],
    /** No other amount than the one that stands there. */
    checkDamaged(text, events) {
      if (!/[\r\n]/.test(text.slice(0, 121))) return;
      const lines = text.split(/\r\n|[\r\n]/);
      for (const { line } of entriesOf(events)) {
        const record = lines[line - 1] ?? '';
        if (record.startsWith('04')) expect(record.slice(90, 104)).toMatch(/^\d{13}[{}A-R]$/);
      }
    },
    /** A file that ends with a new balance may be a whole one. */
    checkCut(text, events) {
      const hasLineEnds = /[\r\n]/.test(text.slice(0, 121));
      const records = hasLineEnds ? text.split(/\r\n|[\r\n]/) : (text.match(/[\s\S]{1,120}/g) ?? []);
      const last = records.findLast((it) => it.trim() !== '') ?? '';
      if (!/^07.{88}\d{13}[{}A-R]/.test(last)) expect(reported(events)).toBeGreaterThan(0);
    },
    endless: {
      beginnings: [`${CFONB_BALANCE}\n${CFONB_MOVEMENT}\n05`],
      pieces: ['1', ' ', '04', '\r', '05', '9'],
      counts: { entry: 1, end: 1 },
    },
  },
  {
    name: 'coda',
    parse: parseCoda,
    samples: samplesIn('coda', /\.cod$/),
    rendered: renderedCoda,
    cutsText: true,
    marks: [...'0123489 \n\r\0ğD', '21', '22', '23', '31', '32', '33', '0000', '0001', CODA_HEADER],
    beginnings: [
      CODA_HEADER,
      `${CODA_HEADER}${CODA_BALANCE}`,
      `${CODA_HEADER}${CODA_BALANCE}${codaMovement(5_000n)}\n`,
      `${CODA_HEADER}${CODA_BALANCE}${codaMovement(5_000n)}\n3100010000`,
      `${CODA_HEADER}${CODA_BALANCE}${codaMovement(5_000n, { code: '10107000' })}\n${codaMovement(5_000n, { detail: '0001' })}\n`,
    ],
    /** Each entry has the amount that stands in its line, of files with line ends. */
    checkDamaged(text, events) {
      const lines = text.split(/\r\n|[\r\n]/);
      if ((lines.find((line) => line !== '') ?? '').length > 128) return;
      for (const { line, amount } of entriesOf(events))
        expect(amount).toBe(BigInt((lines[line - 1] ?? '').slice(32, 47)));
    },
    checkCut: (_, events) => expect(reported(events)).toBeGreaterThan(0),
    endless: {
      beginnings: [`${CODA_HEADER}${CODA_BALANCE}${codaMovement(5_000n)}\n`],
      pieces: [
        ...[' ', '\n', '21', '2200010000', '3100010000\n', '3200010000\n', '\r', `${codaMovement(1n)}\n`],
        `${codaMovement(1n, { detail: '0001' })}\n`,
      ],
      counts: { end: 1 },
    },
  },
];
