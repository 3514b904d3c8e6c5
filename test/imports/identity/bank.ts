import fc from 'fast-check';
import type { ReceivedStatement, Statement, StatementRow } from '../../../src/imports/identity/statement.ts';
import { fingerprintOf } from './books.ts';

/** A bank in memory: what it has booked, and the files that it and its customer send, in any cut, order and repetition. */

/** A row knows which booking it is. */
export interface BankRow extends StatementRow {
  booking: number;
}

export interface BankFile extends ReceivedStatement {
  rows: BankRow[];
  from: string;
  to: string;
}

export interface BankHistory {
  bookings: { day: string; amount: bigint }[];
  /** In the order in which they come. */
  files: BankFile[];
  /** The final statements of the days: together, all that was booked. */
  finals: BankFile[];
}

const DAY = 86_400_000;
const dayOf = (day: number) => new Date(Date.UTC(2025, 0, 1) + day * DAY).toISOString().slice(0, 10);
const OPENING = 100_000n;

/** Amounts that come back to the same balance often. */
const amounts = fc.array(fc.constantFrom(-1_000n, -1_000n, 1_000n, -500n, 700n), { maxLength: 5 });

const cut = fc.record({
  kind: fc.constantFrom(
    'day',
    'day',
    'day',
    'parts',
    'week',
    'csv',
    'interim',
    'report',
    'json',
  ) as fc.Arbitrary<'day' | 'parts' | 'week' | 'csv' | 'interim' | 'report' | 'json'>,
  /** The first day, and how many. */
  at: fc.nat(),
  length: fc.nat(6),
  isReversed: fc.boolean(),
  balances: fc.constantFrom('right', 'constant', 'none') as fc.Arbitrary<'right' | 'constant' | 'none'>,
  times: fc.constantFrom(1, 1, 1, 2),
});

export const bankHistories = (days: number) =>
  fc
    .record({
      days: fc.array(amounts, { minLength: 1, maxLength: days }),
      references: fc.constantFrom('own', 'none', 'by day'),
      numbers: fc.constantFrom('series', 'constant', 'none'),
      /** Each day comes in a statement of its own, in one or two parts. */
      parts: fc.array(fc.nat(3), { minLength: days, maxLength: days }),
      cuts: fc.array(cut, { maxLength: 8 }),
      order: fc.array(fc.nat(), { minLength: 1, maxLength: 40 }),
      isOrdered: fc.boolean(),
    })
    .map(toHistory);

interface Plan {
  days: bigint[][];
  references: string;
  numbers: string;
  parts: number[];
  cuts: (typeof cut extends fc.Arbitrary<infer T> ? T : never)[];
  order: number[];
  isOrdered: boolean;
}

function toHistory({ days, references, numbers, parts, cuts, order, isOrdered }: Plan): BankHistory {
  const rows: BankRow[] = [];
  let balance = OPENING;
  for (const [day, ofDay] of days.entries()) {
    for (const [index, amount] of ofDay.entries()) {
      balance += amount;
      const booking = rows.length;
      const reference = { own: `R${booking}`, none: null, 'by day': `${index + 1}` }[references] ?? null;
      rows.push({ booking, day: dayOf(day), amount, balance, reference, text: `text ${booking % 3}` });
    }
  }
  const before = (at: number) => rows[at - 1]?.balance ?? OPENING;
  const startOf = (day: number) => rows.filter((it) => it.day < dayOf(day)).length;
  let number = 0;
  const statement = (from: number, to: number, fields: Partial<BankFile>): BankFile[] => {
    const part = rows.slice(from, to);
    if (part.length === 0) return [];
    const [first, last] = [part[0] as BankRow, part.at(-1) as BankRow];
    const it: Statement & Pick<BankFile, 'rows' | 'from' | 'to'> = {
      kind: 'final',
      format: 'mt940',
      number: null,
      sequence: null,
      from: first.day,
      to: last.day,
      opening: before(from),
      closing: last.balance,
      ...fields,
      rows: fields.rows ?? part,
    };
    return [{ ...it, fingerprint: it.kind === 'none' ? null : fingerprintOf(withoutBookings(it)) }];
  };
  const nameOf = () => {
    number += 1;
    return { series: String(number), constant: '1', none: null }[numbers] ?? null;
  };
  const daily = days.flatMap((ofDay, day) => {
    const [from, to] = [startOf(day), startOf(day) + ofDay.length];
    const middle = Math.min(to, from + (parts[day] ?? 0));
    // Each part has its number at once: the files of one bank number what it has booked.
    return [
      ...(middle > from ? statement(from, middle, { number: nameOf() }) : []),
      ...(to > middle ? statement(middle, to, { number: nameOf() }) : []),
    ];
  });
  const others = cuts.flatMap(({ kind, at, length, isReversed, balances, times }) => {
    const day = at % days.length;
    const [from, to] = [startOf(day), startOf(day + 1 + (kind === 'week' ? length : 0))];
    const files = (() => {
      switch (kind) {
        case 'day':
          return statement(from, to, { format: 'camt', rows: withTexts(rows.slice(from, to)) });
        case 'parts':
          return daily.filter((it) => it.to === dayOf(day));
        case 'week':
          return statement(from, to, {
            format: 'camt',
            number: `W${at}`,
            rows: withTexts(rows.slice(from, to)),
          });
        case 'csv': {
          const first = at % (rows.length + 1);
          return csvOf(
            statement(first, first + 1 + length, { format: 'csv', text: undefined } as object),
            isReversed,
          );
        }
        case 'interim':
          return statement(from, Math.min(to, from + 1 + length), {
            ...{ kind: 'interim', format: 'mt942', opening: null, closing: null },
            rows: rows.slice(from, Math.min(to, from + 1 + length)).map((row) => ({ ...row, balance: null })),
          });
        case 'report':
          return statement(from, Math.min(to, from + 1 + length), { kind: 'interim', format: 'camt' });
        case 'json': {
          const first = at % (rows.length + 1);
          const sent = rows.slice(first, first + 1 + length).map((row) => ({
            ...row,
            reference: null,
            text: `json ${row.booking}`,
            balance: { right: row.balance, constant: OPENING, none: null }[balances],
          }));
          return statement(first, first + 1 + length, {
            ...{ kind: 'none', format: 'json', opening: null, closing: null },
            rows: sent,
          });
        }
      }
    })();
    return Array.from({ length: times }, () => files).flat();
  });
  const files = [...daily, ...others];
  const key = (index: number) => order[index % order.length] ?? 0;
  const sorted = isOrdered
    ? files.toSorted((one, other) => (one.to < other.to ? -1 : one.to > other.to ? 1 : 0))
    : files
        .map((file, index) => [key(index), file] as const)
        .toSorted(([one], [other]) => one - other)
        .map(([, file]) => file);
  return { bookings: rows.map(({ day, amount }) => ({ day, amount })), files: sorted, finals: daily };
}

/** Another format has other texts, and no reference that the first one has. */
const withTexts = (rows: BankRow[]): BankRow[] =>
  rows.map((row) => ({ ...row, text: `${row.text} AG`, reference: row.reference && `C${row.reference}` }));

/** The balances of a CSV file stand beside its rows. One whose order nothing says has none before and after. */
const csvOf = (files: BankFile[], isReversed: boolean): BankFile[] =>
  files.map((file) => {
    const rows = isReversed ? file.rows.toReversed() : file.rows;
    const plain = rows.map((row) => ({ ...row, reference: null }));
    const isOneDay = plain.every(({ day }) => day === plain[0]?.day);
    const returns =
      isOneDay && plain.length > 1 && plain.length === 2 && plain[0]?.amount === -(plain[1]?.amount ?? 0n);
    const ends = returns ? { opening: null, closing: null } : {};
    return { ...file, ...ends, rows: plain };
  });

/** What the importer knows. */
const withoutBookings = (it: Statement): Statement => ({
  ...it,
  rows: it.rows.map(({ day, amount, balance, reference, text }) => ({
    day,
    amount,
    balance,
    reference,
    text,
  })),
});
