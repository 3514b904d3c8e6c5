import { expect, it } from 'vitest';
import type { Profile } from '../../../packages/statements/src/profile.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { createXlsxParser } from '../../../packages/statements/src/xlsx/parse.ts';
import { READ_SETTINGS } from '../../../src/intake/advice.ts';
import { collect, entriesOf, show } from '../profiles/events.ts';
import { testProfile } from '../profiles/profile.fixture.ts';
import { inBytes, sheetXml, type TestCell, workbook } from './workbook.fixture.ts';

/** Workbooks of several sheets. */

const HEADING = ['Date', 'Amount', 'Text', 'Balance'];
const month = (number: number, ...rows: TestCell[][]): TestCell[][] => [
  HEADING,
  [`02.0${number}.2026`, -number, `Text ${number}`, ''],
  ...rows,
];

/** Makes a workbook. A sheet may also be XML of its own. */
function sheetsOf(sheets: Record<string, TestCell[][] | string>): Uint8Array {
  const names = Object.keys(sheets);
  const parts = Object.values(sheets).map((rows, at): [string, string] => [
    `xl/worksheets/s${at}.xml`,
    typeof rows === 'string' ? rows : sheetXml(rows),
  ]);
  return workbook({
    parts: {
      'xl/workbook.xml': `<workbook xmlns:r="x"><sheets>${names.map((name, at) => `<sheet name="${name}" r:id="r${at}"/>`).join('')}</sheets></workbook>`,
      'xl/_rels/workbook.xml.rels': `<Relationships>${names.map((_, at) => `<Relationship Id="r${at}" Target="worksheets/s${at}.xml"/>`).join('')}</Relationships>`,
      'xl/worksheets/sheet1.xml': null,
      ...Object.fromEntries(parts),
    },
  });
}

async function read(file: Uint8Array, profiles: readonly Profile[] = [testProfile()]) {
  const events = await collect(createXlsxParser(profiles, READ_SETTINGS)(inBytes(file)));
  return {
    entries: entriesOf(events).map((it) => `${it.line}: ${show(it)}`),
    messages: events.flatMap((it) => ('message' in it ? [`${it.line} ${it.type}: ${it.message}`] : [])),
    statements: events.filter(({ type }) => type === 'statement' || type === 'end').map(shape),
  };
}

const shape = ({ type }: StatementEvent) => type;

it('a sheet for each month is a statement each, and their lines go on', async () => {
  expect(await read(sheetsOf({ Ocak: month(1), Şubat: month(2), Mart: month(3) }))).toEqual({
    entries: [
      '2: 2026-01-02 Debit 1.00 | Text 1',
      '4: 2026-02-02 Debit 2.00 | Text 2',
      '6: 2026-03-02 Debit 3.00 | Text 3',
    ],
    messages: [],
    statements: ['statement', 'end', 'statement', 'end', 'statement', 'end'],
  });
});

it('a cover is passed over, an empty sheet too, and other tables are named', async () => {
  const cards = [
    ['Card', 'Spent', 'Shop'],
    ['1', '2', '3'],
  ];
  const file = sheetsOf({
    Cover: [['My bank'], ['Account of 2026']],
    Cards: cards,
    May: month(5),
    Empty: [],
    Notes: [['Note']],
  });
  expect(await read(file)).toMatchObject({
    entries: ['2: 2026-05-02 Debit 5.00 | Text 5'],
    messages: ['2 warning: The sheets "Cards", "Notes" have no heading of a profile: not read.'],
  });
});

it('a message names the sheet and its row', async () => {
  const file = sheetsOf({ May: month(5), June: month(6, ['x', -1, 'Text', '']) });
  const { messages } = await read(file);
  expect(messages).toEqual([expect.stringMatching(/^5 issue: sheet "June", row 3: "x" is not a date/)]);
});

it('a sheet that breaks off does not hold up the next one', async () => {
  const broken = sheetXml(month(5)).replace('</sheetData>', '<row></c>');
  const { entries, messages } = await read(sheetsOf({ May: broken, June: month(6) }));
  expect(entries).toEqual([
    '2: 2026-05-02 Debit 5.00 | Text 5',
    expect.stringContaining('2026-06-02 Debit 6.00 | Text 6'),
  ]);
  expect(messages).toEqual([expect.stringContaining('breaks off after line 2: the file has broken XML')]);
});

it('without a known heading in any sheet, the sheets are explained together', async () => {
  const unknown = [
    ['When', 'What', 'How much'],
    ['1', '2', '3'],
  ];
  const profiles = [testProfile(), { ...testProfile(), name: 'other' }];
  const { entries, messages } = await read(sheetsOf({ Cover: [['Bank']], One: unknown }), profiles);
  expect([entries, messages]).toEqual([[], [expect.stringContaining('"When", "What", "How much"')]]);
});

it('sheets that refer to one part are read once, and a file has at most 250 sheets', async () => {
  const twice = workbook({
    rows: month(5),
    parts: {
      'xl/workbook.xml':
        '<workbook xmlns:r="x"><sheets><sheet name="A" r:id="rId1"/><sheet name="B" r:id="rId1"/></sheets></workbook>',
    },
  });
  expect((await read(twice)).entries).toEqual(['2: 2026-05-02 Debit 5.00 | Text 5']);
  const many = Object.fromEntries(Array.from({ length: 251 }, (_, at) => [`S${at}`, month(5)]));
  expect((await read(sheetsOf(many))).messages).toEqual(['1 issue: the file has more than 250 sheets']);
});

it('all sheets together may not unpack to more than a packed file', async () => {
  const limits = { ...READ_SETTINGS.limits, unpackedBytes: 2_000 };
  const parse = createXlsxParser([testProfile()], { ...READ_SETTINGS, limits });
  const months = Object.fromEntries([1, 2, 3, 4, 5, 6, 7, 8].map((it) => [`M${it}`, month(it)]));
  expect(await collect(parse(inBytes(sheetsOf(months))))).toMatchObject([
    { type: 'issue', message: expect.stringContaining('when unpacked') },
  ]);
});
