import fc from 'fast-check';
import { movement } from './valid-movements.ts';

/** A movement as the table should hold it. */
export interface Stored {
  dc: string;
  code: string | null;
  amount: string;
  balance: string | null;
  description: string | null;
  date_issue: string;
  opponent_id: string | null;
  opponent_iban: string | null;
  name: string | null;
  /** null: an id that the importer makes. */
  unique_id: string | null;
}

/** One line of a file, without its line end, and the expected result. */
export type Line = { bytes: Buffer } & ({ is: 'good'; stored: Stored } | { is: 'bad' } | { is: 'blank' });

/** Placeholders for ids that are known only when the file is sent: of the account, and of another customer's account. */
export const ACCOUNT = '@account@';
export const FOREIGN = '@foreign@';

/** Prints only the beginning of a line, which may be megabytes long. */
export const shown = <T extends Line>(it: T): T =>
  Object.assign(it, {
    [fc.toStringMethod]: () =>
      `${it.is} ${it.bytes.length} bytes: ${it.bytes.toString('latin1').slice(0, 500)}`,
  });

type Written = Record<string, unknown>;

const good = movement.map(({ amount, balance, ...it }) => {
  const written: Written = {
    account_id: ACCOUNT,
    ...it,
    amount: amount.written,
    balance: balance?.written ?? balance,
  };
  const stored: Stored = {
    dc: it.dc,
    code: it.code ?? null,
    amount: amount.stored,
    balance: balance?.stored ?? null,
    description: it.description ?? null,
    date_issue: it.date_issue,
    opponent_id: it.opponent_id ?? null,
    opponent_iban: it.opponent_iban ?? null,
    name: it.name ?? null,
    unique_id: it.unique_id == null || it.unique_id.trim() === '' ? null : it.unique_id,
  };
  return { written, stored };
});

/** Different ways to write the same JSON. */
const writing = fc.constantFrom<(it: Written) => string>(
  (it) => JSON.stringify(it),
  (it) => ` \t${JSON.stringify(it)} \r`,
  (it) => JSON.stringify(it, null, 1).replaceAll('\n', '\r'),
  (it) =>
    JSON.stringify(it).replace(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    ),
  (it) => JSON.stringify(Object.fromEntries(Object.entries(it).reverse())),
  // If a member is given twice, the last one counts.
  (it) => JSON.stringify(it).replace('{', '{"dc":"Neither","amount":7,'),
  (it) => JSON.stringify(it).replace(`"${ACCOUNT}"`, ACCOUNT),
);

export const goodLine: fc.Arbitrary<Line> = fc
  .tuple(good, writing)
  .map(([{ written, stored }, write]) => ({ is: 'good', bytes: Buffer.from(write(written)), stored }));

/** Each of these makes a valid movement invalid. */
const wrongMembers: Written[] = [
  { account_id: undefined },
  { account_id: FOREIGN },
  { account_id: '999999999' },
  { account_id: -1 },
  { account_id: 1.5 },
  { account_id: [ACCOUNT] },
  { account_id: { $ne: null } },
  { account_id: '9'.repeat(30) },
  { dc: 'debit' },
  { dc: null },
  { amount: undefined },
  { amount: 12.5 },
  { amount: '12,3' },
  { amount: '1e5' },
  { amount: 'NaN' },
  { amount: '' },
  { amount: '１' },
  { amount: '1'.repeat(19) },
  { amount: '1.005' },
  { amount: ' 1' },
  { balance: '' },
  { balance: true },
  { date_issue: '2026-02-30' },
  { date_issue: '0000-00-00' },
  { date_issue: '2026-1-5' },
  { date_issue: 20260115 },
  { code: 'x'.repeat(65) },
  { description: '🙂'.repeat(4_001) },
  { description: '\ud83d' },
  { name: 7 },
  { unique_id: ['a'] },
  { unique_id: 'x'.repeat(256) },
  { unknown: null },
  { constructor: 1 },
  { Amount: '1.00' },
];

const bytesThatAreNoJson = [
  '{',
  '}',
  '{}{}',
  '{"account_id":',
  'undefined',
  'NaN',
  "{'a':1}",
  '[1,]',
  '\u0000',
  '{"a":"\u0000"}',
  '\uFEFF{}',
  '//',
  ...['null', '1', '"text"', '[]', '{}', 'true', '[{}]', '{"__proto__":{}}', '1e400'],
].map((it) => Buffer.from(it));

const brokenUtf8 = [[0xff], [0xc3], [0xf0, 0x9f, 0x99], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xfe, 0xff, 0x00]];

const whole = good.map(({ written }) => Buffer.from(JSON.stringify(written)));

const badBytes: fc.Arbitrary<Buffer> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(good, fc.constantFrom(...wrongMembers))
      .map(([{ written }, wrong]) => Buffer.from(JSON.stringify({ ...written, ...wrong }))),
  },
  { weight: 2, arbitrary: fc.constantFrom(...bytesThatAreNoJson) },
  { weight: 1, arbitrary: whole.map((bytes) => Buffer.from(`\uFEFF${bytes}`)) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(whole, fc.nat())
      .map(([bytes, at]) => bytes.subarray(0, 1 + (at % (bytes.length - 1)))),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(good, fc.constantFrom(...brokenUtf8)).map(([{ written }, broken]) => {
      // In a text, so that only the UTF-8 is wrong.
      const [before = '', after = ''] = JSON.stringify({ ...written, name: '@broken@' }).split('@broken@');
      return Buffer.concat([Buffer.from(before), Buffer.from(broken), Buffer.from(after)]);
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(66_000, 66_000, 66_000, 1_100_000, 3_000_000)
      .chain((length) =>
        fc.constantFrom(
          Buffer.alloc(length, 'x'),
          Buffer.from(JSON.stringify({ description: 'ğ🙂'.repeat(length / 6) })),
          Buffer.alloc(length, '[['),
        ),
      ),
  },
);

const badLine = badBytes.map((bytes): Line => ({ is: 'bad', bytes }));
const blankLine = fc
  .constantFrom('', ' ', '\t \r', '\r')
  .map((it): Line => ({ is: 'blank', bytes: Buffer.from(it) }));

export const line = fc
  .oneof(
    { weight: 5, arbitrary: goodLine },
    { weight: 3, arbitrary: badLine },
    { weight: 1, arbitrary: blankLine },
  )
  .map(shown);
