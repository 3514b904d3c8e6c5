import { describe, expect, it } from 'vitest';
import {
  createCutter,
  createFixedLineReader,
  describeColumn,
  type FixedLine,
  type RecordTable,
} from '../../packages/statements/src/shared/fixed-columns.ts';

const TABLE = {
  name: 'the movement (22)',
  columns: {
    code: { name: 'code', from: 1, to: 2, is: 'digits' },
    day: { name: 'day', from: 3, to: 8, is: 'date', order: 'YYMMDD' },
    otherDay: { name: 'other day', from: 9, to: 14, is: 'date', order: 'DDMMYY' },
    amount: { name: 'amount', from: 15, to: 20, is: 'amount', decimals: 2 },
    text: { name: 'text', from: 21, to: 28, is: 'text' },
    raw: { name: 'raw text', from: 21, to: 28, is: 'raw' },
  },
} as const satisfies RecordTable;
const cut = createCutter(TABLE);
const LINE = '22260302310399001250 Ana B  ';
const lineOf = (text: string, line = 7): FixedLine => ({ line, text, isLong: false, isUnended: false });

describe('a line of fixed columns', () => {
  it('is cut by its table', () => {
    expect(cut(LINE)).toEqual({
      code: '22',
      day: '2026-03-02',
      otherDay: '1999-03-31',
      amount: 12_500n,
      text: 'Ana B',
      raw: ' Ana B  ',
    });
  });

  it('may be shorter: its texts are empty, and all else is missing', () => {
    expect(cut('2226')).toEqual({ code: '22', day: null, otherDay: null, amount: null, text: '', raw: '' });
  });

  it.each([
    ['a letter', '00A250'],
    ['a blank', ' 01250'],
    ['a sign', '-01250'],
    ['a point', '012.50'],
    ['digits of another script', '00125٠'],
  ])('has no amount with %s', (_, amount) => {
    expect(cut(`${LINE.slice(0, 14)}${amount}`).amount).toBeNull();
  });

  it.each([0, 1, 2, 3] as const)('has amounts of %i decimals', (decimals) => {
    const table = {
      name: 'a record',
      columns: {
        short: { name: 'a', from: 1, to: 12, is: 'amount', decimals },
        long: { name: 'b', from: 1, to: 15, is: 'amount', decimals },
      },
    } as const satisfies RecordTable;
    const thousandths = 10n ** BigInt(3 - decimals);
    expect(createCutter(table)('999999999999999')).toEqual({
      short: 999_999_999_999n * thousandths,
      long: 999_999_999_999_999n * thousandths,
    });
  });

  it('has no amount that is too large to be stored', () => {
    const column = { name: 'a', from: 1, to: 20, is: 'amount', decimals: 0 } as const;
    expect(createCutter({ name: 'a record', columns: { column } })('9'.repeat(20)).column).toBeNull();
  });

  it('has no day that the calendar does not have', () => {
    expect(cut(LINE.replace('260302', '260230')).day).toBeNull();
    expect(cut(LINE.replace('260302', '261302')).day).toBeNull();
  });

  it.each([
    [
      'amount',
      LINE.replace('001250', '00125X'),
      'The amount of the movement (22) is "00125X", columns 15 to 20 of line 7. It must be 6 digits.',
    ],
    [
      'day',
      LINE.replace('260302', '260230'),
      'The day of the movement (22) is "260230", columns 3 to 8 of line 7. It must be a date of the calendar, YYMMDD.',
    ],
    [
      'amount',
      LINE.slice(0, 18),
      'The line ends before the end of the amount of the movement (22), columns 15 to 20 of line 7.',
    ],
  ])('says of %s in %j what is wrong', (key, text, message) => {
    expect(describeColumn(TABLE, key, lineOf(text))).toBe(message);
  });
});

function read(text: string, length: number, size = text.length): FixedLine[] {
  const reader = createFixedLineReader(length);
  const lines: FixedLine[] = [];
  for (let at = 0; at < text.length; at += size) lines.push(...reader.read(text.slice(at, at + size)));
  return [...lines, ...reader.end()];
}
const shown = (lines: readonly FixedLine[]) =>
  lines.map((it) => `${it.line} ${it.text}${it.isLong ? ' long' : ''}${it.isUnended ? ' unended' : ''}`);

describe.each([1, 2, 3, 5, 1_000])('lines of four characters that come in parts of %i', (size) => {
  it.each([
    ['CRLF', '1abc\r\n2def\r\n', ['1 1abc', '2 2def']],
    ['LF, and no last line end', '1abc\n2def', ['1 1abc', '2 2def unended']],
    ['CR', '1abc\r2def\r', ['1 1abc', '2 2def']],
    ['blank lines', '\n1abc\n\n  \n2def\n', ['2 1abc', '5 2def']],
    ['blanks that are missing or too many', '1a\n2b    \n3c\n', ['1 1a', '2 2b  ', '3 3c']],
    ['blanks too many in the first line', '1abc   \n2b\n', ['1 1abc', '2 2b']],
    ['blanks too many in the first line, and more text', '1abc x\n2b\n', ['1 1abc long', '2 2b']],
    ['a first line that is too long', '1abcd\n2def\n', ['1 1abc long', '2 2def']],
    ['a line that is too long', '1abc\n2defg\n3\n', ['1 1abc', '2 2def long', '3 3']],
    ['no line ends', '1abc2def3ghi', ['1 1abc', '2 2def', '3 3ghi unended']],
    ['no line ends but a last one', '1abc2def\r\n', ['1 1abc', '2 2def']],
    ['no line ends, and a broken last record', '1abc2d', ['1 1abc', '2 2d unended']],
    ['the character 26 at the end', '1abc\r\n\u001a', ['1 1abc']],
    ['a byte order mark', '\uFEFF1abc\n2\n', ['1 1abc', '2 2']],
  ])('are split with %s', (_, text, expected) => {
    expect(shown(read(text, 4, size))).toEqual(expected);
  });
});

it('a line of 80 MB is one line, and is not kept', () => {
  const reader = createFixedLineReader(80);
  reader.read(`${'1'.repeat(80)}\n22`);
  for (let at = 0; at < 80; at += 1) expect(reader.read('x'.repeat(1024 * 1024))).toEqual([]);
  expect(reader.read('\n')).toEqual([
    { line: 2, text: `22${'x'.repeat(78)}`, isLong: true, isUnended: false },
  ]);
});
