import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { BenchEntry, FileAccount } from '../../bench/statement-entries.ts';
import { type FileDay, renderDays, renderWorkbookOf, type TextFormat } from '../../bench/statement-files.ts';
import { formatAmount } from '../../packages/statements/src/amounts.ts';
import { readCompleteness } from '../../src/books/find-statements.ts';
import { createAccount, importDone } from '../support/movements.ts';
import { useOwnService } from '../support/service.ts';

/**
 * Generates banks: two accounts in two currencies, days with equal payments, references of several kinds, numbers that begin again with
 * the year, statements in all formats and in pages, that are cut, doubled, lost, and in any order, beside reports of days that are not
 * over. What is stored must be exactly what the bank has booked, or an import, or the chain of statements, says what may differ.
 */

/** `npm run test:faults` tries 50. */
const HISTORIES = Number(process.env.BANK_HISTORIES ?? 12);
const SEED = Number(process.env.SEED ?? 20_261_231);

/** Two banks beside the bank of the built-in profile: one lists the newest row first, the other has whole amounts at the end of rows without a balance. */
const PROFILES = {
  newest: {
    ...{ decimalSign: '.', dateFormats: ['MM/DD/YYYY'] },
    columns: { date: 'Posted', description: 'Memo', debit: 'Paid', credit: 'Received', balance: 'Left' },
  },
  whole: {
    ...{ decimalSign: ',', dateFormats: ['DD.MM.YYYY'] },
    columns: { date: 'Tag', description: 'Zweck', amount: 'Betrag' },
  },
};
const profilesDir = mkdtempSync(join(tmpdir(), 'bank-profiles-'));
for (const [name, { columns, ...rest }] of Object.entries(PROFILES))
  writeFileSync(
    join(profilesDir, `${name}.json`),
    JSON.stringify({
      ...{ bank: name, source: 'this test', delimiter: ';', heading: Object.values(columns), columns },
      ...rest,
    }),
  );
afterAll(() => rmSync(profilesDir, { recursive: true }));

const service = useOwnService({
  because: 'it has profiles',
  roles: ['api', 'importer'],
  config: { profilesDir },
});

const ACCOUNTS: FileAccount[] = [
  { iban: 'TR330006100519786457841326', currency: 'TRY' },
  { iban: 'DE89370400440532013000', currency: 'EUR' },
];
const OPENING = 10_000_000n;
const dayOf = (day: number) => new Date(Date.UTC(2025, 11, 30) + day * 86_400_000).toISOString().slice(0, 10);

/** Their statements have both balances, so that they make a chain. */
const CHAINED = ['mt940', 'mt940', 'camt', 'bai2'] as const;
const FORMATS = [...CHAINED, 'ofx', 'csv', 'newest', 'whole', 'xlsx'] as const;
type Format = (typeof FORMATS)[number] | 'mt942' | 'camt.052' | 'json';

/** How a bank names its entries: each by a name of its own, not at all, or from 1 in each day. */
const REFERENCES = ['own', 'none', 'by day'] as const;

const account = fc.record({
  references: fc.constantFrom(...REFERENCES),
  isChained: fc.boolean(),
  days: fc.array(
    fc.record({
      amounts: fc.array(fc.constantFrom(-45_000n, -45_000n, 10_000n, 20_000n), {
        minLength: 1,
        maxLength: 4,
      }),
      format: fc.nat(),
      /** Where the day is cut into two statements, or into the pages of one; 0: it is not. */
      part: fc.nat(3),
      arePages: fc.boolean(),
      fate: fc.constantFrom('once', 'once', 'once', 'twice', 'lost'),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  others: fc.array(
    fc.record({
      kind: fc.constantFrom('days', 'report', 'json', 'cut', 'cut'),
      format: fc.nat(),
      at: fc.nat(),
      length: fc.nat(3),
    }),
    { maxLength: 4 },
  ),
});

type AccountHistory = typeof account extends fc.Arbitrary<infer T> ? T : never;

const history = fc.record({
  accounts: fc.tuple(account, account),
  order: fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
});

type Booking = BenchEntry & { index: number };

interface File {
  account: number;
  format: Format;
  content: string | Uint8Array;
  isCut: boolean;
  /** Its entries. A file that is cut counts as none. */
  bookings: readonly Booking[];
}

function bookingsOf({ references, days }: AccountHistory): Booking[][] {
  let balance = OPENING;
  let count = 0;
  return days.map(({ amounts }, day) =>
    amounts.map((amount, index): Booking => {
      balance += amount;
      count += 1;
      return {
        index: count,
        date: dayOf(day),
        isCredit: amount > 0n,
        amount: formatAmount(amount < 0n ? -amount : amount, null),
        balance: formatAmount(balance, null),
        reference: { own: `R${1_000 + count}`, none: '', 'by day': `${index + 1}` }[references],
        text: `POS ${count % 3}`,
        name: 'ADA',
        iban: 'TR960006200000000000000001',
      };
    }),
  );
}

const signed = ({ isCredit, amount }: BenchEntry) => `${isCredit ? '' : '-'}${amount}`;

function renderTable(format: 'newest' | 'whole', entries: readonly BenchEntry[]): string {
  const rows =
    format === 'newest'
      ? entries.toReversed().map(({ date, text, isCredit, amount, balance }) => {
          const [year, month, day] = date.split('-');
          return [
            `${month}/${day}/${year}`,
            text,
            isCredit ? '' : amount,
            isCredit ? amount : '',
            balance,
          ].join(';');
        })
      : entries.map((it) =>
          [it.date.split('-').reverse().join('.'), it.text, signed(it).slice(0, -3)].join(';'),
        );
  return `${Object.values(PROFILES[format].columns).join(';')}\n${rows.join('\n')}\n`;
}

const renderJson = (entries: readonly BenchEntry[], accountId: string): string =>
  JSON.stringify({
    transactions: entries.map(({ date, isCredit, amount, balance, text }) => ({
      account_id: accountId,
      dc: isCredit ? 'Credit' : 'Debit',
      amount,
      balance,
      description: text,
      date_issue: date,
    })),
  });

function render(format: Format, days: readonly FileDay[], to: FileAccount, accountId: string) {
  const entries = days.flatMap((day) => day.entries);
  switch (format) {
    case 'json':
      return renderJson(entries, accountId);
    case 'newest':
    case 'whole':
      return renderTable(format, entries);
    case 'xlsx':
      return renderWorkbookOf(days, to);
    default:
      return renderDays(format satisfies TextFormat | 'mt942' | 'camt.052', days, to);
  }
}

/** The files of an account, and what its bank has booked. */
function filesOf(it: AccountHistory, index: number, accountId: string) {
  const booked = bookingsOf(it);
  const account = ACCOUNTS[index] as FileAccount;
  const formats = it.isChained ? CHAINED : FORMATS;
  const formatOf = (number: number): Format => formats[number % formats.length] ?? 'mt940';
  const all = booked.flat();
  const before = (entry: Booking | undefined) =>
    all[(entry?.index ?? 1) - 2]?.balance ?? formatAmount(OPENING, null);
  const toDay = (entries: readonly Booking[], fields: Partial<FileDay> = {}): FileDay => ({
    date: entries[0]?.date ?? '',
    opening: before(entries[0]),
    entries: [...entries],
    ...fields,
  });
  const file = (format: Format, days: readonly FileDay[]): File => ({
    account: index,
    format,
    content: render(format, days, account, accountId),
    isCut: false,
    bookings: days.flatMap((day) => day.entries as Booking[]),
  });
  const files: File[] = [];
  let number = 300;
  let year = '2025';
  for (const [day, { format, part, arePages, fate }] of it.days.entries()) {
    const entries = booked[day] ?? [];
    const parts = [entries.slice(0, part), entries.slice(part)].filter((rows) => rows.length > 0);
    const nextNumber = () => {
      const itsYear = dayOf(day).slice(0, 4);
      number = itsYear === year ? number + 1 : 1;
      year = itsYear;
      return `${number}`;
    };
    const ofDay =
      arePages && formatOf(format) === 'mt940' && parts.length === 2
        ? [
            file(
              'mt940',
              ((own) =>
                parts.map((rows, page) =>
                  toDay(rows, { number: own, page: page + 1, isLastPage: page === 1 }),
                ))(nextNumber()),
            ),
          ]
        : parts.map((rows) => file(formatOf(format), [toDay(rows, { number: nextNumber() })]));
    if (fate !== 'lost') files.push(...ofDay);
    if (fate === 'twice') files.push(...ofDay);
  }
  for (const { kind, format, at, length } of it.others) {
    const first = at % booked.length;
    const days = booked.slice(first, first + 1 + length);
    const start = at % all.length;
    switch (kind) {
      case 'days':
        // Statements without their own days cover the whole file.
        files.push(
          file(
            formatOf(format),
            days.map((rows) => toDay(rows)),
          ),
        );
        break;
      case 'report':
        files.push(
          file(format % 2 === 0 ? 'mt942' : 'camt.052', [toDay(days[0]?.slice(0, 1 + length) ?? [])]),
        );
        break;
      case 'json':
        files.push(file('json', [toDay(all.slice(start, start + 1 + length))]));
        break;
      case 'cut': {
        const whole = file(
          formatOf(format),
          days.map((rows) => toDay(rows)),
        );
        if (typeof whole.content !== 'string') break;
        // The last cell of a table, or up to a third of another file.
        const most = whole.format === 'whole' || whole.format === 'newest' ? 12 : whole.content.length / 3;
        const end = whole.content.length - 2 - (at % Math.ceil(most));
        files.push({ ...whole, content: whole.content.slice(0, end), isCut: true, bookings: [] }, whole);
      }
    }
  }
  return { files, booked };
}

const keyOf = (it: { date: string; isCredit: boolean; amount: string }) =>
  `${it.date} ${it.isCredit ? 'Credit' : 'Debit'} ${it.amount}`;

function countBy(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

async function createCustomer() {
  const { api_key: key } = await service.customer();
  const get = async (path: string) => (await service.call('GET', path, { key })).body;
  const ids: string[] = [];
  for (const it of ACCOUNTS) ids.push((await createAccount(service, key, it)).id);
  return {
    ids,
    get,
    async send({ account: index, format, content }: File) {
      const isTable = ['newest', 'whole', 'csv', 'xlsx'].includes(format);
      const { status, body } = await service.call(
        'POST',
        `/v1/imports${isTable ? `?account_id=${ids[index]}` : ''}`,
        {
          key,
          body: content as string,
          type: format === 'json' ? 'application/json' : 'application/octet-stream',
        },
      );
      // A file that is cut within its heading has no format.
      if (status !== 202) return { isRefused: true, body, duplicates: [] };
      const ended = await importDone(service, key, body.import.id);
      const isReported = ended.status === 'failed' || ended.rejected + ended.warnings > 0;
      const { duplicates } = await get(`/v1/imports/${ended.id}/duplicates`);
      return {
        isRefused: isReported,
        body: ended,
        duplicates: duplicates as { reason: string; transaction_id: number }[],
      };
    },
  };
}

/** The number of days and amounts, and the number of them that are uncertain. */
let groups = 0;
let uncertain = 0;

interface Listed {
  id: number;
  date_issue: string;
  dc: string;
  amount: string;
}

async function check({ accounts, order }: { accounts: AccountHistory[]; order: number[] }): Promise<void> {
  const customer = await createCustomer();
  const banks = accounts.map((it, index) => filesOf(it, index, customer.ids[index] ?? ''));
  const files = banks
    .flatMap((bank) => bank.files)
    .map((file, index) => [order[index % order.length] ?? 0, file] as const)
    .toSorted(([one], [other]) => one - other)
    .map(([, file]) => file);
  /** Movements with an assumption, and those with a conflict. */
  const assumed = new Set<number>();
  const conflicting = new Set<number>();
  /** Cut files that say so, by account. */
  const reported = [0, 0];
  for (const file of files) {
    const { isRefused, body, duplicates } = await customer.send(file);
    if (!file.isCut) expect(body, file.format).toMatchObject({ status: 'done', rejected: 0 });
    if (file.isCut && isRefused) reported[file.account] = (reported[file.account] ?? 0) + 1;
    for (const { reason, transaction_id } of duplicates) {
      if (reason.startsWith('assumed')) assumed.add(transaction_id);
      if (reason === 'conflict') conflicting.add(transaction_id);
    }
  }
  for (const [index, { booked }] of banks.entries()) {
    const id = customer.ids[index] ?? '';
    const { transactions } = await customer.get(`/v1/accounts/${id}/transactions?starts=2025-01-01`);
    const listed: Listed[] = transactions;
    const listedKey = ({ date_issue, dc, amount }: Listed) => `${date_issue} ${dc} ${amount}`;
    const stored = countBy(listed.map(listedKey));
    const bank = countBy(booked.flat().map(keyOf));
    const came = countBy(
      [
        ...new Map(
          files
            .filter((it) => it.account === index)
            .flatMap((it) => it.bookings.map((one) => [one.index, keyOf(one)])),
        ).values(),
      ].map(String),
    );
    const isUncertain = (key: string) =>
      listed.some(
        (it) =>
          (assumed.has(it.id) && listedKey(it) === key) ||
          (conflicting.has(it.id) && key.startsWith(it.date_issue)),
      );
    const of = (counts: Map<string, number>, key: string) => counts.get(key) ?? 0;
    const keys = [...new Set([...stored.keys(), ...bank.keys()])];
    groups += keys.length;
    uncertain += keys.filter(isUncertain).length;
    const wrong = keys.filter(
      (key) => (of(stored, key) > of(bank, key) || of(stored, key) < of(came, key)) && !isUncertain(key),
    );
    // A row at which a file was cut off may differ from the bank's row, if the import reports it.
    expect(wrong.length, wrong.join(', ')).toBeLessThanOrEqual(reported[index] ?? 0);
    await checkChain(accounts[index] as AccountHistory, booked, id);
  }
}

/** The gaps in the chain of statements must equal the lost bookings. */
async function checkChain(
  { isChained, days, others }: AccountHistory,
  booked: readonly Booking[][],
  accountId: string,
): Promise<void> {
  const { periods } = await readCompleteness(service.runtime.database, accountId);
  if (!isChained || others.some(({ kind }) => kind !== 'report')) return;
  expect(periods.filter(({ status }) => status === 'contradiction')).toEqual([]);
  const hasCome = (day: number) => days[day]?.fate !== 'lost';
  const came = days.map((_, day) => day).filter(hasCome);
  const missing = booked.filter(
    (_, day) => day > (came[0] ?? 0) && day < (came.at(-1) ?? 0) && !hasCome(day),
  );
  const gaps = periods.filter(({ status }) => status === 'gap');
  expect(gaps.reduce((sum, { difference }) => sum + Number(difference), 0)).toBe(
    missing.flat().reduce((sum, it) => sum + Math.round(1000 * Number(signed(it))), 0),
  );
}

describe("a bank's files", () => {
  it(
    `have all bookings stored once, or reported as uncertain, in ${HISTORIES} histories`,
    async () => {
      await fc.assert(fc.asyncProperty(history, check), { numRuns: HISTORIES, seed: SEED });
      // Most keys must be certain, or the histories would prove nothing.
      expect(uncertain / groups).toBeLessThan(0.4);
    },
    HISTORIES * 15_000,
  );
});
