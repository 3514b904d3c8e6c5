import { expect, it } from 'vitest';
import { type Profile, parseProfile, readStatements } from '../../../packages/statements/src/index.ts';
import { testProfile } from '../profiles/profile.fixture.ts';

/** Pages of HTML that banks name .xls. */

async function read(html: string | Buffer, profiles: readonly Profile[] = [testProfile()]) {
  const statements = [];
  for await (const it of readStatements(Buffer.from(html as string), { profiles })) statements.push(it);
  return statements.map(({ format, account, entries, rejected, warnings }) => ({
    format,
    iban: account.iban,
    entries: entries.map(
      ({ date, amount, balance, description }) => `${date} ${amount} ${balance} ${description}`,
    ),
    messages: [...rejected, ...warnings].map(({ message }) => message),
  }));
}

const row = (...cells: string[]) => `<tr>${cells.map((it) => `<td>${it}</td>`).join('')}</tr>`;
const HEADING = row('Date', 'Amount', 'Text', 'Balance');
const table = (...rows: string[]) => `<table>${HEADING}${rows.join('')}</table>`;

it('a table is read by the profile whose heading it has', async () => {
  const page = `<html><head><style>td { color: red }</style><script>alert("02.03.2026")</script></head><body>
    <h1>Account</h1><p>IBAN: TR33 0006 1005 1978 6457 8413 26</p>${table(
      row('02.03.2026', '-1.234,50', 'Rent &amp; <b>water</b><br>March', '8.765,50&nbsp;'),
      row('03.03.2026', '5,00', '&Ouml;zg&uuml;r&nbsp;&lt;x&gt;', '8.770,50'),
    )}<p>Printed by the bank</p></body></html>`;
  const profile = testProfile({ account: { number: { label: 'IBAN' } } });
  expect(await read(page, [profile])).toEqual([
    {
      format: 'xlsx',
      iban: 'TR330006100519786457841326',
      entries: ['2026-03-02 -1234.50 8765.50 Rent & water March', '2026-03-03 5.00 8770.50 Özgür <x>'],
      messages: [],
    },
  ]);
});

it.each([
  [
    'without end tags',
    `<TABLE><TR><TH>Date<TH>Amount<TH>Text<TH>Balance<TR><TD>02.03.2026<TD>-1,00<TD>Tea<TD>9,00</TABLE>`,
  ],
  [
    'within a table for the layout',
    `<table><tr><td>Bank</td><td>${table(row('02.03.2026', '-1,00', 'Tea', '9,00'))}</td></tr></table>`,
  ],
  [
    'after a comment and a document type',
    `<!-- made by a bank -->\n<!DOCTYPE html>${table(row('02.03.2026', '-1,00', 'Tea', '9,00'))}`,
  ],
  [
    'as XHTML',
    `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">${table(row('02.03.2026', '-1,00', 'Tea', '9,00'))}</html>`,
  ],
  [
    'below a title of four columns',
    `<table><tr><td colspan="4">Movements</td></tr>${HEADING}${row('02.03.2026', '-1,00', 'Tea', '9,00')}</table>`,
  ],
])('a table is read %s', async (_, page) => {
  expect(await read(page)).toMatchObject([{ entries: ['2026-03-02 -1.00 9.00 Tea'], messages: [] }]);
});

it('the letters are those of the encoding that the page names', async () => {
  const page = `<html><head><meta http-equiv="Content-Type" content="text/html; charset=windows-1254"></head>${table(row('02.03.2026', '-1,00', 'K\u00fdra \u00de\u00fdk', ''))}</html>`;
  expect(await read(Buffer.from(page, 'latin1'))).toMatchObject([
    { entries: ['2026-03-02 -1.00 null Kıra Şık'] },
  ]);
});

it('a page without a table, and one with other headings, say what they are', async () => {
  await expect(read('<html><body><form>Password</form></body></html>')).rejects.toThrow(
    /^The file is a web page \(HTML\) without a table: /,
  );
  const other = `<table>${row('When', 'How much', 'What')}${row('1', '2', '3')}</table>`;
  await expect(read(other, [testProfile(), { ...testProfile(), name: 'b' }])).rejects.toThrow(
    '"When", "How much", "What"',
  );
});

it.each([
  ['tables within tables', '<table><tr><td>'.repeat(50_000)],
  ['cells', `<table><tr>${'<td>'.repeat(300_000)}`],
  ['columns of a cell', `<table>${'<tr><td colspan=999>x'.repeat(5_000)}`],
  ['open tags', '<div <b '.repeat(50_000)],
  ['a text without an end', `<table><tr><td>${'x'.repeat(2_000_000)}`],
  ['entities', `<table><tr><td>${'&amp;&#x1F600;&nbsp'.repeat(50_000)}`],
  ['comments', '<!--'.repeat(100_000)],
  ['scripts', '<script>'.repeat(100_000)],
])('a page of %s is read or refused in a moment', async (_, content) => {
  const page = `<html>${content}${table(row('02.03.2026', '-1,00', 'Tea', '9,00'))}`;
  const outcome = await read(page).catch((error: Error) => error.message);
  expect(outcome).toBeDefined();
});

it('a profile of an Indian bank reads its page', async () => {
  const profile = parseProfile('own', {
    ...{
      bank: 'Own',
      source: 'test',
      country: 'IN',
      delimiter: ',',
      decimalSign: '.',
      dateFormats: ['DD/MM/YYYY'],
    },
    heading: ['Value Date', 'Remarks', 'Withdrawal', 'Deposit', 'Balance'],
    columns: {
      date: 'Value Date',
      description: 'Remarks',
      debit: 'Withdrawal',
      credit: 'Deposit',
      balance: 'Balance',
    },
  });
  const page = `<table>${row('Value Date', 'Remarks', 'Withdrawal', 'Deposit', 'Balance')}${row('02/03/2026', 'NEFT', '', '12,34,567.00', '13,34,567.00 Cr')}</table>`;
  expect(await read(page, [profile])).toMatchObject([{ entries: ['2026-03-02 1234567.00 1334567.00 NEFT'] }]);
});
