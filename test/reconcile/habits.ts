import { createHash } from 'node:crypto';
import type { Statement } from '../../packages/reconcile/src/statement.ts';
import type { BankHistory, BankRow, BankStatement } from './histories.ts';

/**
 * Histories of what only some banks do: they book late, send lumps, or use positions as references. Each habit makes a history from a seed,
 * and an equal seed makes an equal history.
 */

type Habit = (dice: Dice, days: number) => BankHistory;

/** Random choices that follow from a seed. */
interface Dice {
  /** A whole number from 0, below a limit. */
  below(limit: number): number;
  oneOf<T>(items: readonly T[]): T;
  /** True once in so many times. */
  once(times: number): boolean;
  shuffled<T>(items: readonly T[]): T[];
}

/** Mulberry32. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    oneOf: (items) => items[below(items.length)] as never,
    once: (times) => below(times) === 0,
    shuffled(items) {
      const left = [...items];
      return items.map(() => left.splice(below(left.length), 1)[0] as never);
    },
  };
}

const DAY = 86_400_000;
const OPENING = 100_000n;
const dayOf = (day: number) => new Date(Date.UTC(2025, 0, 1) + day * DAY).toISOString().slice(0, 10);
const numberOfDay = (day: string) => (Date.parse(day) - Date.UTC(2025, 0, 1)) / DAY;

const AMOUNTS = [-1_000n, -1_000n, -4_200n, -800n, -10_000n, 2_500n, 7_000n, 1_000n];
const TEXTS = ['rent', 'café', 'wages'];

interface Booking {
  amounts?: readonly bigint[];
  texts?: readonly string[];
  /** The most bookings of a day. */
  most?: number;
  hasIds?: boolean;
}

/** Books at least two rows. */
function book(
  dice: Dice,
  days: number,
  { amounts = AMOUNTS, texts = TEXTS, most = 4, hasIds = false }: Booking = {},
): BankRow[] {
  const ofDays = Array.from({ length: days }, (_, day) => (day === 0 ? 2 : 0) + dice.below(most + 1));
  const rows = ofDays.flatMap((count, day) =>
    Array.from({ length: count }, () => ({ day, amount: dice.oneOf(amounts), text: dice.oneOf(texts) })),
  );
  return withBalances(
    rows.map(({ day, amount, text }, booking) => ({
      booking,
      day: dayOf(day),
      amount,
      balance: null,
      reference: hasIds ? `R${1_000 + booking}` : null,
      text,
    })),
  );
}

function withBalances(rows: readonly BankRow[], opening = OPENING): BankRow[] {
  let balance = opening;
  return rows.map((row) => {
    balance += row.amount;
    return { ...row, balance };
  });
}

const withoutBalances = (rows: readonly BankRow[]): BankRow[] =>
  rows.map((row) => ({ ...row, balance: null }));

const openingOf = ([first]: readonly BankRow[]) =>
  first === undefined || first.balance === null ? null : first.balance - first.amount;

/** A statement whose rows stand from the oldest to the newest. Its days are those of its rows, unless fields say otherwise. */
function statement(rows: readonly BankRow[], fields: Partial<BankStatement> = {}): BankStatement {
  const [first, last] = [rows[0], rows.at(-1)];
  const made = {
    ...{ kind: 'final' as const, format: 'mt940', number: null, sequence: null },
    from: first?.day ?? null,
    to: last?.day ?? null,
    opening: openingOf(rows),
    closing: last?.balance ?? null,
    rows: [...rows],
    ...fields,
  };
  return { ...made, fingerprint: fingerprintOf(made) };
}

/** The header and the sums, as the importer makes it. */
export function fingerprintOf({ rows, ...header }: Statement): string {
  const sum = (isWanted: (amount: bigint) => boolean) =>
    rows.reduce((total, { amount }) => (isWanted(amount) ? total + amount : total), 0n);
  const sums = [sum((it) => it > 0n), sum((it) => it < 0n)];
  const { kind, format, number, sequence, from, to } = header;
  const names = [kind, format, number, sequence, from, to];
  const content = [...names, ...[header.opening, header.closing, ...sums].map(String), rows.length];
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

/** A table with the balance beside each row, often the newest row first. */
const table = (dice: Dice, rows: readonly BankRow[]): BankStatement =>
  statement(rows, {
    format: 'csv',
    rows: (dice.once(3) ? rows : rows.toReversed()).map((row) => ({ ...row, reference: null })),
  });

/** A table without balances. */
const bareTable = (rows: readonly BankRow[], fields: Partial<BankStatement> = {}): BankStatement =>
  statement(rows, { format: 'csv', opening: null, closing: null, rows: withoutBalances(rows), ...fields });

const between = (rows: readonly BankRow[], from: string, to: string) =>
  rows.filter(({ day }) => from <= day && day <= to);

const daysOf = (rows: readonly BankRow[]) => [...new Set(rows.map(({ day }) => day))];

const ofDay = (rows: readonly BankRow[], day: string) => between(rows, day, day);

/** Days from the first to the last, in parts of one day to seven. */
function periodsOf(dice: Dice, days: number): { from: string; to: string }[] {
  const periods = [];
  for (let from = 0; from < days; ) {
    const to = Math.min(days - 1, from + dice.below(7));
    periods.push({ from: dayOf(from), to: dayOf(to) });
    from = to + 1;
  }
  return periods;
}

const bookingsOf = (rows: readonly BankRow[]) => rows.map(({ day, amount }) => ({ day, amount }));

/** Some files come twice. One history in three has them in any order. */
function send(dice: Dice, files: readonly BankStatement[][]): BankStatement[][] {
  const sent = files
    .map((file) => file.filter(({ rows }) => rows.length > 0))
    .filter((file) => file.length > 0)
    .flatMap((file) => (dice.once(5) ? [file, file] : [file]));
  return dice.once(3) ? dice.shuffled(sent) : sent;
}

/** The same, each statement in a file of its own. */
const sendAlone = (dice: Dice, statements: readonly BankStatement[]) =>
  send(
    dice,
    statements.map((it) => [it]),
  );

const history = (fields: Pick<BankHistory, 'bookings' | 'files' | 'finals'> & Partial<BankHistory>) => ({
  isMoved: false,
  isBatched: false,
  ...fields,
});

/** Books an entry on an earlier day, mostly as its last one. */
function bookLate(dice: Dice, rows: readonly BankRow[]): { late: BankRow; after: BankRow[] } {
  const { day } = dice.oneOf(rows);
  const places = [...rows.keys()].filter((at) => rows[at]?.day === day);
  const at = dice.once(4) ? dice.oneOf(places) : (places.at(-1) ?? 0) + 1;
  const late: BankRow = {
    booking: rows.length,
    day,
    amount: dice.oneOf([-500n, -300n, -1_000n]),
    balance: null,
    reference: rows[0]?.reference == null ? null : 'R999',
    text: dice.oneOf(['charge', 'charge', 'rent']),
  };
  return { late, after: withBalances([...rows.slice(0, at), late, ...rows.slice(at)]) };
}

/** The bank books an entry on a day of an earlier statement, and issues that statement and those after it again. */
const lateBooking: Habit = (dice, days) => {
  const rows = book(dice, days, { hasIds: dice.once(3) });
  const { late, after } = bookLate(dice, rows);
  const periods = periodsOf(dice, days);
  const inserted = periods.findIndex(({ to }) => late.day <= to);
  const issued = inserted + dice.below(periods.length - inserted);
  const format = dice.oneOf(['mt940', 'mt940', 'camt']);
  const numbers = dice.oneOf(['series', 'constant', 'none'] as const);
  const issue = (of: readonly BankRow[], from: number, end: number) =>
    periods.slice(from, end).map((period, index) =>
      statement(between(of, period.from, period.to), {
        ...period,
        format,
        number: { series: String(from + index + 1), constant: '1', none: null }[numbers],
      }),
    );
  const alone = (statements: readonly BankStatement[]) => statements.map((it) => [it]);
  const first = issue(rows, 0, issued + 1);
  const again = issue(after, inserted, issued + 1);
  const later = issue(after, issued + 1, periods.length);
  return history({
    bookings: bookingsOf(after),
    files: send(dice, [...alone(first), ...(dice.once(3) ? [again] : alone(again)), ...alone(later)]),
    finals: [...first.slice(0, inserted), ...again, ...later].filter((it) => it.rows.length > 0),
  });
};

/** The bank books an entry on an earlier day, and tables of days before and after have other balances. */
const lateBookingInTable: Habit = (dice, days) => {
  const rows = book(dice, days);
  const { late, after } = bookLate(dice, rows);
  const all = daysOf(rows);
  const last = Math.max(all.indexOf(late.day), dice.below(all.length));
  const from = dice.below(last + 1);
  const first = table(dice, between(rows, all[0] as string, all[last] as string));
  const again = table(dice, between(after, all[from] as string, all.at(-1) as string));
  return history({
    bookings: bookingsOf(after),
    files: send(dice, [[first], [again]]),
    finals: [],
    due: all.map((day, at) => ({
      day,
      statement: at >= from ? again : day === late.day ? null : first,
    })),
  });
};

/** The table has the entries of a weekend, or of an evening, under a later day than MT940. The balances are the same. */
const otherDayInTable: Habit = (dice, days) => {
  const rows = book(dice, days);
  const isWeekend = dice.once(2);
  const late = new Map(daysOf(rows).map((day) => [day, dice.below(4)]));
  const moved = rows.map((row) => {
    const number = numberOfDay(row.day);
    const after = ofDay(rows, row.day).filter(({ booking }) => booking > row.booking).length;
    const days = isWeekend ? [0, 0, 0, 0, 0, 2, 1][number % 7] : after < (late.get(row.day) ?? 0) - 1 ? 1 : 0;
    return { ...row, day: dayOf(number + (days ?? 0)) };
  });
  const finals = daysOf(rows).map((day, index) => statement(ofDay(rows, day), { number: `${index + 1}` }));
  const tables = Array.from({ length: 1 + dice.below(3) }, () => {
    const from = dice.below(moved.length);
    return table(dice, moved.slice(from, from + 1 + dice.below(moved.length - from)));
  });
  return history({
    bookings: bookingsOf(rows),
    files: sendAlone(dice, dice.shuffled([...finals, ...tables])),
    finals,
    isMoved: true,
  });
};

/** One format has an entry, and the other one its payments, without a word that they are one batch. */
const lumps: Habit = (dice, days) => {
  const rows = book(dice, days);
  const parted = withBalances(
    rows.flatMap((row) => {
      if (dice.once(2) || row.amount > -1_000n) return [row];
      const count = 2 + dice.below(3);
      const part = row.amount / BigInt(count + dice.below(2));
      const parts = Array.from({ length: count - 1 }, () => part);
      const rest = row.amount - parts.reduce((sum, it) => sum + it, 0n);
      return [...parts, rest].map((amount, index) => ({ ...row, amount, text: `${row.text} ${index}` }));
    }),
  );
  const [inStatements, inTables] = dice.once(3) ? [parted, rows] : [rows, parted];
  const finals = daysOf(rows).map((day, index) =>
    statement(ofDay(inStatements, day), { number: `${index + 1}` }),
  );
  const all = daysOf(rows);
  const tables = Array.from({ length: 1 + dice.below(2) }, () => {
    const from = dice.below(all.length);
    const to = from + dice.below(all.length - from);
    return table(dice, between(inTables, all[from] as string, all[to] as string));
  });
  return history({
    bookings: bookingsOf(rows),
    files: sendAlone(dice, dice.shuffled([...finals, ...tables])),
    finals,
    isBatched: true,
  });
};

/** One amount goes out and comes back, with one text, and statements of two lengths begin and end within a day. */
const outAndBack: Habit = (dice, days) => {
  const rows = book(dice, 1 + (days % 3), { amounts: [-1_000n, 1_000n], texts: ['transfer'], most: 24 });
  const cut = (length: number) =>
    Array.from({ length: Math.ceil(rows.length / length) }, (_, at) =>
      statement(rows.slice(at * length, (at + 1) * length)),
    );
  const [finals, others] = [cut(3 + dice.below(12)), cut(3 + dice.below(12))];
  const day = dice.oneOf(daysOf(rows));
  const from = dice.below(ofDay(rows, day).length);
  const tables = dice.once(2)
    ? [table(dice, ofDay(rows, day).slice(0, from + 1)), table(dice, ofDay(rows, day))]
    : [];
  return history({
    bookings: bookingsOf(rows),
    files: sendAlone(dice, [...finals, ...others, ...tables]),
    finals: [],
    due: finals.flatMap((it) => daysOf(it.rows).map((of) => ({ day: of, statement: it }))),
  });
};

/** The file counts its rows, and later rows are put in front. */
const positions: Habit = (dice, days) => {
  const rows = book(dice, days);
  const isTable = dice.once(2);
  const number = (of: readonly BankRow[]) =>
    of.toReversed().map((row, index) => ({ ...row, reference: `${index + 1}` }));
  const files = daysOf(rows).map((day) => {
    const whole = ofDay(rows, day);
    const noon = whole.slice(0, dice.below(whole.length + 1));
    const make = (of: readonly BankRow[], isOver: boolean) =>
      isTable
        ? bareTable(of, { rows: withoutBalances(number(of)) })
        : isOver
          ? statement(of, { rows: number(of).reverse() })
          : statement(of, {
              ...{ kind: 'interim', format: 'mt942', opening: null, closing: null },
              rows: withoutBalances(number(of)),
            });
    return [make(noon, false), make(whole, true)] as const;
  });
  return history({
    bookings: bookingsOf(rows),
    files: sendAlone(dice, files.flat()),
    finals: files.map(([, whole]) => whole),
  });
};

/** A letter of a table is broken, or the table is cut within a letter. */
const brokenLetters: Habit = (dice, days) => {
  const texts = ['Müller', 'Möbel', 'Kahve dünyası', 'rent', 'Çarşı'];
  const rows = book(dice, days, { texts });
  const all = daysOf(rows);
  const finals = all.map((day) => bareTable(ofDay(rows, day)));
  const broken = Array.from({ length: 1 + dice.below(3) }, () => {
    const whole = ofDay(rows, dice.oneOf(all));
    const cut = whole.slice(0, 1 + dice.below(whole.length));
    const at = dice.once(2) ? cut.length - 1 : dice.below(cut.length);
    const breakLetter = (text: string) => {
      const letters = [...text.matchAll(/[^ -~]/g)].map(({ index }) => index);
      if (letters.length === 0) return text;
      const index = dice.oneOf(letters);
      const rest = at === cut.length - 1 && dice.once(2) ? '' : text.slice(index + 1);
      return `${text.slice(0, index)}\uFFFD${rest}`;
    };
    return bareTable(cut.map((row, index) => (index === at ? { ...row, text: breakLetter(row.text) } : row)));
  });
  return history({
    bookings: bookingsOf(rows),
    files: sendAlone(dice, dice.shuffled([...finals, ...broken])),
    finals,
  });
};

/**
 * Reports of each day so far, without balances, and its final statement. Half of the reports do not come.
 * @param reportedOf the rows that the report has of a day.
 */
function reportDays(
  dice: Dice,
  rows: readonly BankRow[],
  reportedOf: (whole: readonly BankRow[]) => BankRow[],
) {
  const format = dice.oneOf(['camt', 'mt940', 'ofx']);
  const bare = (of: readonly BankRow[]) => ({ opening: null, closing: null, rows: withoutBalances(of) });
  const days = daysOf(rows).map((day) => {
    const whole = ofDay(rows, day);
    const early = reportedOf(whole);
    return [
      statement(early, { ...bare(early), format: format === 'mt940' ? 'mt942' : format, kind: 'interim' }),
      statement(whole, { format, ...(format === 'ofx' && bare(whole)) }),
    ] as const;
  });
  const sent = days.flatMap(([early, whole]) => (dice.once(2) ? [whole] : [early, whole]));
  return { files: sendAlone(dice, sent), finals: days.map(([, whole]) => whole) };
}

/** The final amount of a card payment has the id of the reserved one. */
const changedAmount: Habit = (dice, days) => {
  const rows = book(dice, days, { hasIds: true });
  const reserve = (whole: readonly BankRow[]) => {
    const changed = dice.oneOf(whole).booking;
    return whole.map((row) => (row.booking === changed ? { ...row, amount: row.amount - 550n } : row));
  };
  return history({
    bookings: bookingsOf(rows),
    ...reportDays(dice, rows, reserve),
    isBatched: true,
  });
};

/** A payment and its charge have one id, and the report of the day so far has only the payment. */
const sharedId: Habit = (dice, days) => {
  const rows = withBalances(
    book(dice, days, { hasIds: true }).flatMap((row) => {
      const charge = {
        ...row,
        booking: row.booking + 10_000,
        amount: -150n,
        text: dice.oneOf(['charge', row.text]),
      };
      return dice.once(3) ? [row, charge] : [row];
    }),
  );
  const leaveOutCharges = (whole: readonly BankRow[]) => whole.filter(({ booking }) => booking < 10_000);
  return history({ bookings: bookingsOf(rows), ...reportDays(dice, rows, leaveOutCharges) });
};

/** Each day goes out and comes back, and all statements have one number. */
const repeatedHeader: Habit = (dice, days) => {
  const halves = book(dice, days, { amounts: [-1_000n, -1_000n, 1_000n, -500n], most: 3 });
  const rows = withBalances(
    daysOf(halves).flatMap((day) => {
      const out = ofDay(halves, day);
      return [
        ...out,
        ...out.toReversed().map((row) => ({ ...row, booking: row.booking + 10_000, amount: -row.amount })),
      ];
    }),
  );
  const all = daysOf(rows);
  const fields = { number: '1', sequence: '1' };
  const cut = (of: readonly BankRow[]) => {
    const at = dice.below(of.length);
    return [of.slice(0, at), of.slice(at)].filter((it) => it.length > 0).map((it) => statement(it, fields));
  };
  const finals = all.flatMap((day) =>
    dice.once(2) ? cut(ofDay(rows, day)) : [statement(ofDay(rows, day), fields)],
  );
  const tables = dice.once(2) ? [table(dice, ofDay(rows, dice.oneOf(all)))] : [];
  return history({
    bookings: bookingsOf(rows),
    files: sendAlone(dice, [...finals, ...tables]),
    finals,
  });
};

/** Each report gives its rows new ids, so that the id of a row is that of its neighbour in another report. */
const shiftingIds: Habit = (dice, days) => {
  const rows = book(dice, days);
  const all = daysOf(rows);
  const finals = all.map((day) => statement(ofDay(rows, day)));
  const reports = Array.from({ length: 1 + dice.below(3) }, () => {
    const from = dice.below(all.length);
    const of = between(rows, all[from] as string, all[from + dice.below(all.length - from)] as string);
    const named = of.map((row, index) => ({ ...row, balance: null, reference: `A${10_000 + index}` }));
    return statement(of, { kind: 'interim', format: 'camt', opening: null, closing: null, rows: named });
  });
  return history({
    bookings: bookingsOf(rows),
    files: sendAlone(dice, dice.shuffled([...finals, ...reports])),
    finals,
  });
};

/** A later file has the same ids under other days, and both files cover them. */
const movedIds: Habit = (dice, days) => {
  const rows = book(dice, days, { hasIds: true });
  const last = daysOf(rows).at(-1) as string;
  const moved = rows.map((row) => {
    const day = dayOf(numberOfDay(row.day) + (dice.once(4) ? 1 + dice.below(2) : 0));
    return day > last ? row : { ...row, day };
  });
  const inOrder = moved.toSorted((one, other) => (one.day < other.day ? -1 : one.day > other.day ? 1 : 0));
  const bare = { format: dice.oneOf(['ofx', 'camt']), opening: null, closing: null };
  const file = (of: readonly BankRow[]) =>
    statement(of, { ...bare, from: dayOf(0), to: last, rows: withoutBalances(of) });
  const finals = [file(rows)];
  return history({
    bookings: bookingsOf(rows),
    files: sendAlone(dice, [...finals, file(inOrder)]),
    finals,
    isMoved: true,
  });
};

export const HABITS = {
  'late bookings': lateBooking,
  'late bookings in tables': lateBookingInTable,
  'other days in tables': otherDayInTable,
  lumps,
  'out and back': outAndBack,
  'references that are positions': positions,
  'broken letters': brokenLetters,
  'changed amounts': changedAmount,
  'shared ids': sharedId,
  'repeated header': repeatedHeader,
  'shifting ids': shiftingIds,
  'moved ids': movedIds,
} as const satisfies Record<string, Habit>;
