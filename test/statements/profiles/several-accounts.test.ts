import { expect, it } from 'vitest';
import { createCsvParser } from '../../../packages/statements/src/csv/parse.ts';
import { parseProfile } from '../../../packages/statements/src/parse-profile.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { createXlsxParser } from '../../../packages/statements/src/xlsx/parse.ts';
import { READ_SETTINGS } from '../../../src/intake/advice.ts';
import { inBytes, workbook } from '../xlsx/workbook.fixture.ts';

/** Tables with the rows of several accounts: in one table, or in one below the other. */

const BASE = {
  bank: 'My Bank',
  source: 'its manual',
  delimiter: ';',
  decimalSign: ',',
  dateFormats: ['DD.MM.YYYY'],
};

const OF_ROWS = parseProfile('rows', {
  ...BASE,
  heading: ['Account', 'Day', 'Text', 'Amount', 'Currency'],
  columns: { date: 'Day', description: 'Text', amount: 'Amount' },
  account: { number: { column: 'Account' }, currency: { column: 'Currency' } },
});

const OF_TABLES = parseProfile('tables', {
  ...BASE,
  heading: ['Day', 'Text', 'Amount'],
  columns: { date: 'Day', description: 'Text', amount: 'Amount' },
  account: { number: { label: 'Account' }, currency: { value: 'EUR' } },
  openingBalance: { label: 'Old balance' },
  closingBalance: { label: 'New balance' },
});

async function* inParts(text: string): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += 1_000) yield text.slice(at, at + 1_000);
}

async function eventsOf(events: AsyncIterable<StatementEvent[]>): Promise<StatementEvent[]> {
  const all: StatementEvent[] = [];
  for await (const some of events) all.push(...some);
  return all;
}

/** Each statement as its account, and the texts of its entries; issues as their lines. */
function summarize(events: readonly StatementEvent[]) {
  const statements: { account: string; texts: string[]; closing: unknown }[] = [];
  const issues: [number, string][] = [];
  for (const event of events) {
    const last = statements.at(-1);
    if (event.type === 'statement') {
      const { number, currency } = event.account;
      statements.push({ account: `${number} ${currency}`, texts: [], closing: null });
    }
    if (event.type === 'entry') last?.texts.push(event.entry.description ?? '');
    if (event.type === 'end' && last !== undefined) last.closing = event.closing?.amount ?? null;
    if (event.type === 'issue') issues.push([event.line, event.message]);
  }
  return { statements, issues };
}

const parse = async (profile: typeof OF_ROWS, rows: readonly string[]) =>
  summarize(await eventsOf(createCsvParser(profile)(inParts([...rows, ''].join('\r\n')))));

const HEADING = 'Account;Day;Text;Amount;Currency';

it('rows of accounts that alternate are one statement for each account', async () => {
  const { statements, issues } = await parse(OF_ROWS, [
    HEADING,
    '111;01.03.2026;a;1,00;EUR',
    '222;01.03.2026;b;1,00;EUR',
    '111;01.03.2026;c;1,00;EUR',
    // A row that names no account belongs to that of the row before.
    ';02.03.2026;d;1,00;',
    '222;02.03.2026;e;1,00;EUR',
    ';02.03.2026;f;1,00;',
    // Another currency under the same number is another account.
    '111;02.03.2026;g;1,00;USD',
    '111;03.03.2026;h;1,00;EUR',
  ]);
  expect(issues).toEqual([]);
  expect(statements.map(({ account, texts }) => [account, texts.join('')])).toEqual([
    ['111 EUR', 'acdh'],
    ['222 EUR', 'bef'],
    ['111 USD', 'g'],
  ]);
});

it('the same holds for the rows of a sheet', async () => {
  const rows = [
    HEADING.split(';'),
    ...['111', '222', '111'].map((it, at) => [it, '01.03.2026', `r${at}`, '1,00', 'EUR']),
  ];
  const parser = createXlsxParser([OF_ROWS], READ_SETTINGS);
  const events = await eventsOf(parser(inBytes(workbook({ rows }))));
  expect(summarize(events).statements.map(({ account, texts }) => [account, texts.join(' ')])).toEqual([
    ['111 EUR', 'r0 r2'],
    ['222 EUR', 'r1'],
  ]);
});

it('a file has at most a thousand accounts, and says so', async () => {
  const rows = Array.from({ length: 4_000 }, (_, at) => `${10_000 + (at % 1_001)};01.03.2026;t;1,00;EUR`);
  const { statements, issues } = await parse(OF_ROWS, [HEADING, ...rows]);
  expect(statements).toHaveLength(1_000);
  expect(statements.reduce((sum, { texts }) => sum + texts.length, 0) + issues.length).toBe(4_000);
  expect(issues[0]).toEqual([1_002, 'the file has more than 1000 accounts: send it in parts']);
});

const OF_CURRENCIES = parseProfile('currencies', {
  ...BASE,
  heading: ['Day', 'Text', 'Amount', 'Currency'],
  columns: { date: 'Day', description: 'Text', amount: 'Amount', currency: 'Currency' },
  account: { currency: { column: 'Currency' } },
});

it('rows of several currencies without an account number are one statement for each currency', async () => {
  const { statements, issues } = await parse(OF_CURRENCIES, [
    'Day;Text;Amount;Currency',
    // A row before the first currency is not of that currency.
    '01.03.2026;z;1,00;',
    '01.03.2026;a;1,00;EUR',
    '01.03.2026;b;1,00;USD',
    '02.03.2026;c;1,00;eur',
    '02.03.2026;d;wrong;USD',
    // A row without a currency belongs to that of the row before.
    '02.03.2026;e;1,00;',
    '03.03.2026;f;1,00;EUR',
    '03.03.2026;g;1,00;TL',
    'Day;Text;Amount;Currency',
    '04.03.2026;h;1,00;USD',
    '04.03.2026;i;1,00;€',
  ]);
  expect(statements.map(({ account, texts }) => [account, texts.join('')])).toEqual([
    ['null null', 'z'],
    ['null EUR', 'acf'],
    ['null USD', 'beh'],
    ['null TRY', 'g'],
  ]);
  expect(issues).toEqual([
    [6, expect.stringMatching(/^"wrong" is not an amount/)],
    [12, expect.stringMatching(/^"€" is not a currency/)],
  ]);
});

it('currencies under the number above a table are accounts of their own, and keep it when another table follows', async () => {
  const profile = parseProfile('labels', {
    ...BASE,
    heading: ['Day', 'Text', 'Amount', 'Currency'],
    columns: { date: 'Day', description: 'Text', amount: 'Amount', currency: 'Currency' },
    account: { number: { label: 'Account' }, currency: { column: 'Currency' } },
    openingBalance: { label: 'Old balance' },
    closingBalance: { label: 'New balance' },
  });
  const rows = (account: string, texts: string) => [
    `Account;${account};;`,
    'Old balance;1,00;;',
    'Day;Text;Amount;Currency',
    ...[...texts].map((text, at) => `0${at + 1}.03.2026;${text};1,00;${at % 2 === 0 ? 'EUR' : 'USD'}`),
    'New balance;9,00;;',
  ];
  const { statements, issues } = await parse(profile, [...rows('111', 'abcd'), ...rows('222', 'efg')]);
  expect(issues).toEqual([]);
  expect(statements.map(({ account, texts }) => [account, texts.join('')])).toEqual([
    ['111 EUR', 'ac'],
    ['222 EUR', 'eg'],
    ['111 USD', 'bd'],
    ['222 USD', 'f'],
  ]);
  expect(statements.map(({ closing }) => closing)).toEqual([9_000n, null, null, null]);
});

const TABLE = 'Day;Text;Amount';
const table = (account: string | null, text: string, [from, to]: [string, string]) => [
  ...(account === null ? ['Some title;;'] : [`Account;${account};`]),
  `New balance;${to};`,
  '',
  TABLE,
  `01.03.2026;${text};1,00`,
  '',
  `Old balance;${from};`,
];

it('tables below each other are statements of the accounts that they name', async () => {
  const rows = [...table('111', 'a', ['9,00', '10,00']), '', ...table('222', 'b', ['49,00', '50,00'])];
  const { statements, issues } = await parse(OF_TABLES, rows);
  expect(issues).toEqual([]);
  expect(statements).toMatchObject([
    { account: '111 EUR', texts: ['a'], closing: 1_000n * 10n },
    { account: '222 EUR', texts: ['b'], closing: 1_000n * 50n },
  ]);
});

it('tables below each other keep their accounts where the order of the dates is known only later', async () => {
  const profile = parseProfile('tables', {
    ...BASE,
    dateFormats: ['DD/MM/YYYY', 'MM/DD/YYYY'],
    heading: ['Day', 'Text', 'Amount'],
    columns: { date: 'Day', description: 'Text', amount: 'Amount' },
    account: { number: { label: 'Account' }, currency: { value: 'EUR' } },
  });
  const { statements, issues } = await parse(profile, [
    ...['Account;111;', TABLE, '01/02/2026;a;1,00'],
    ...['Account;222;', TABLE, '02/02/2026;b;1,00', '13/02/2026;c;1,00'],
  ]);
  expect(issues).toEqual([]);
  expect(statements).toMatchObject([
    { account: '111 EUR', texts: ['a'] },
    { account: '222 EUR', texts: ['b', 'c'] },
  ]);
});

it('a further table with balances of its own and without an account is rejected', async () => {
  const rows = [...table('111', 'a', ['9,00', '10,00']), '', ...table(null, 'b', ['49,00', '50,00'])];
  const { statements, issues } = await parse(OF_TABLES, rows);
  expect(statements).toMatchObject([{ account: '111 EUR', texts: ['a'], closing: 1_000n * 10n }]);
  expect(issues).toEqual([
    [
      13,
      expect.stringMatching(/^belongs to another table, from line 12 on, .*: send it as a file of its own$/),
    ],
  ]);
});

it('a heading that is repeated on each page is no other table', async () => {
  const rows = [
    ...table('111', 'a', ['9,00', '10,00']).slice(0, 5),
    TABLE,
    '02.03.2026;b;2,00',
    'Page 2',
    TABLE,
    '03.03.2026;c;3,00',
  ];
  const { statements, issues } = await parse(OF_TABLES, rows);
  expect(issues).toEqual([]);
  expect(statements).toMatchObject([{ account: '111 EUR', texts: ['a', 'b', 'c'] }]);
});

it('currencies of a table without account numbers are bounded too, and no row is lost', async () => {
  const code = (at: number) =>
    [at / 676, at / 26, at].map((it) => String.fromCharCode(65 + (Math.floor(it) % 26))).join('');
  const rows = Array.from({ length: 3_000 }, (_, at) => `01.03.2026;t;1,00;${code(at % 1_500)}`);
  const { statements, issues } = await parse(OF_CURRENCIES, ['Day;Text;Amount;Currency', ...rows]);
  expect(statements).toHaveLength(1_000);
  expect(statements.reduce((sum, { texts }) => sum + texts.length, 0) + issues.length).toBe(3_000);
});
