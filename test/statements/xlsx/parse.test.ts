import { describe, expect, it } from 'vitest';
import type { Profile } from '../../../packages/statements/src/profile.ts';
import { looksLikeXlsx } from '../../../packages/statements/src/shared/unpack.ts';
import { createXlsxParser } from '../../../packages/statements/src/xlsx/parse.ts';
import { READ_SETTINGS } from '../../../src/intake/advice.ts';
import { loadProfiles } from '../../../src/intake/load-profiles.ts';
import { collect, entriesOf, show } from '../profiles/events.ts';
import { testProfile } from '../profiles/profile.fixture.ts';
import { inBytes, sheetXml, type TestCell, workbook } from './workbook.fixture.ts';

const PROFILES = loadProfiles(undefined);
const HEADING = ['Date', 'Amount', 'Text', 'Balance'];

const parse = (bytes: Uint8Array, profiles: readonly Profile[] = [testProfile()]) =>
  collect(createXlsxParser(profiles, READ_SETTINGS)(inBytes(bytes)));

const read = async (bytes: Uint8Array, profiles?: readonly Profile[]) =>
  entriesOf(await parse(bytes, profiles)).map(show);

const readRows = (...rows: TestCell[][]) => read(workbook({ rows: [HEADING, ...rows] }));

describe('an XLSX file', () => {
  const AKBANK = workbook({
    rows: [
      ['Ad Soyad/Unvan', 'ÖRNEK LTD'],
      ['IBAN', 'TR33 0006 1005 1978 6457 8413 26'],
      [],
      ['Tarih', 'Saat', 'Tutar', 'Bakiye', 'Borç/Alacak', 'Açıklama', 'Fiş/Dekont No'],
      ['27.01.2026', '10:21', -17.5, 983, 'B', { shared: 0 }, { shared: 1 }],
      [46048, '08:36', '1.000,50', 1000.5, 'A', 'GELEN EFT', 1000],
    ],
    shared: ['MARKET & ŞARKÜTERİ', '1001'],
  });

  it('finds its profile by the heading of the sheet', async () => {
    const events = await parse(AKBANK, PROFILES);
    expect(events[0]).toMatchObject({
      type: 'statement',
      line: 4,
      account: { iban: 'TR330006100519786457841326', bank: 'Akbank' },
    });
    expect(entriesOf(events).map(show)).toEqual([
      '2026-01-27 Debit 17.50 = 983.00 | MARKET & ŞARKÜTERİ | 1001',
      '2026-01-26 Credit 1000.50 = 1000.50 | GELEN EFT | 1000',
    ]);
    expect(events.at(-1)?.type).toBe('end');
  });

  it('of BBVA is read, with an empty first column and a heading that occurs twice', async () => {
    const heading = [
      'F.Valor',
      'Fecha',
      'Concepto',
      'Movimiento',
      'Importe',
      'Divisa',
      'Disponible',
      'Divisa',
    ];
    const rows = [
      ['', 'Últimos movimientos'],
      [],
      ['', ...heading],
      ['', 46048, 46049, 'Quiosco', 'Pago', -6.93, 'EUR', 100.5, 'EUR'],
    ];
    expect(await read(workbook({ rows }), PROFILES)).toEqual([
      '2026-01-27 Debit 6.93 = 100.50 | EUR | Quiosco Pago',
    ]);
  });

  it('is read with a named profile', async () => {
    const akbank = PROFILES.filter(({ name }) => name === 'akbank');
    expect(await read(AKBANK, akbank)).toHaveLength(2);
  });

  it('is read with the variant of a profile that fits, whatever its delimiter is', async () => {
    const heading = ['Datum', 'Betrag'];
    const columns = { date: 'Datum', amount: 'Betrag' };
    const profile = testProfile({ variants: [{ delimiter: [',', ';'], heading, columns }] });
    const other = {
      ...testProfile({ heading: ['Day', 'Sum'], columns: { date: 'Day', amount: 'Sum' } }),
      name: 'b',
    };
    const file = workbook({ rows: [heading, ['01.02.2026', 5]] });
    expect(await read(file, [profile])).toEqual(['2026-02-01 Credit 5.00']);
    expect(await read(file, [other, profile])).toEqual(['2026-02-01 Credit 5.00']);
  });

  it('may have rows without cells at the end, as a status that is empty', async () => {
    const heading = ['Date', 'Amount', 'State'];
    const status = { column: 'State', pending: ['pending'] };
    const profile = testProfile({ heading, columns: { date: 'Date', amount: 'Amount', status } });
    const file = workbook({ rows: [heading, ['01.02.2026', 5], ['02.02.2026', 6, 'pending']] });
    expect(await read(file, [profile])).toEqual([
      '2026-02-01 Credit 5.00',
      '2026-02-02 Credit 6.00 | pending',
    ]);
  });

  it('that fits no profile gives an issue with its headings', async () => {
    expect(await parse(workbook({ rows: [['a', 'b']] }), PROFILES)).toEqual([
      {
        type: 'issue',
        line: 1,
        path: 'file',
        message:
          'The headings of the file fit no profile: "a", "b". docs/formats/csv.md says how to write a profile',
      },
    ]);
  });

  it('is recognised by its first bytes', () => {
    expect(looksLikeXlsx(AKBANK.subarray(0, 64))).toBe(true);
    expect(looksLikeXlsx(Buffer.from('Tarih;Saat;Tutar'))).toBe(false);
    expect(looksLikeXlsx(new Uint8Array())).toBe(false);
  });
});

describe('a sheet of an XLSX file', () => {
  it.each<[string, TestCell[], string[]]>([
    [
      'numbers as floats',
      [46049, { xml: '<c r="B2"><v>1067.9799999999999</v></c>' }, 'a', -0.1],
      ['2026-01-27 Credit 1067.98 = -0.10 | a'],
    ],
    ['a time behind the day', [46049.6, 1, 'a', ''], ['2026-01-27 Credit 1.00 | a']],
    [
      'a cell without a reference',
      [46049, { xml: '<c><v>2</v></c>' }, 'a', ''],
      ['2026-01-27 Credit 2.00 | a'],
    ],
    [
      'a formula with a text',
      [46049, 1, { xml: '<c r="C2" t="str"><f>A1</f><v>b</v></c>' }, ''],
      ['2026-01-27 Credit 1.00 | b'],
    ],
    [
      'a cell far to the right',
      [46049, 1, 'a', '', { xml: '<c r="XFD2"><v>1</v></c>' }],
      ['2026-01-27 Credit 1.00 | a'],
    ],
  ])('is read with %s', async (_, cells, expected) => {
    expect(await readRows(cells)).toEqual(expected);
  });

  it('is read with days that are counted from 1904', async () => {
    expect(await read(workbook({ rows: [HEADING, [44587, 1, 'a', '']], date1904: true }))).toEqual([
      '2026-01-27 Credit 1.00 | a',
    ]);
  });

  it('has texts joined from their pieces, without their phonetic reading', async () => {
    const shared = '<sst><si><r><t>a</t></r><r><t> b</t></r><rPh><t>x</t></rPh></si></sst>';
    const bytes = workbook({
      rows: [HEADING, [46049, 1, { shared: 0 }, '']],
      parts: { 'xl/sharedStrings.xml': shared },
    });
    expect(await read(bytes)).toEqual(['2026-01-27 Credit 1.00 | a b']);
  });

  it('is read with prefixed element names and from another path', async () => {
    const xml = sheetXml([HEADING, [46049, 1, 'a', '']]).replaceAll(
      /<(\/?)(row|c|v|is|t|sheetData)\b/g,
      '<$1x:$2',
    );
    const bytes = workbook({
      parts: {
        'xl/worksheets/sheet1.xml': null,
        'xl/sheets/first.xml': xml,
        'xl/_rels/workbook.xml.rels':
          '<Relationships><Relationship Id="rId1" Target="/xl/sheets/first.xml"/></Relationships>',
      },
    });
    expect(await read(bytes)).toEqual(['2026-01-27 Credit 1.00 | a']);
  });

  it('that is broken in the middle keeps the rows before, and warns from which line it is not read', async () => {
    const xml = sheetXml([HEADING, [46049, 1, 'a', ''], [46049, 2, 'b', '']]);
    const events = await parse(
      workbook({ parts: { 'xl/worksheets/sheet1.xml': xml.slice(0, xml.lastIndexOf('<row')) } }),
    );
    expect(entriesOf(events).map(show)).toEqual(['2026-01-27 Credit 1.00 | a']);
    expect(events).toContainEqual({
      type: 'warning',
      line: 2,
      message: 'the file breaks off after line 2: the file has broken XML',
    });
    expect(events.at(-1)?.type).toBe('end');
  });
});
