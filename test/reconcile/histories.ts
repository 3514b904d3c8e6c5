import fc from 'fast-check';
import type { ReceivedStatement, StatementRow } from '../../packages/reconcile/src/statement.ts';
import { createDice, fingerprintOf, HABITS } from './habits.ts';

/**
 * Histories of a bank in memory: what it has booked, and the files that it and its customer send, in any cut, order and repetition. A
 * variant says what a bank may do.
 */

/** A row knows which booking it is. */
export interface BankRow extends StatementRow {
  booking: number;
}

export interface BankStatement extends ReceivedStatement {
  rows: BankRow[];
}

export interface BankHistory {
  bookings: { day: string; amount: bigint }[];
  /** Each file has one statement or several. In the order in which they come. */
  files: BankStatement[][];
  /** The final statements of the days. Together, they have all that was booked. */
  finals: BankStatement[];
  /** The statement that brings the last bookings of a day; null: none does. By default: the final statement with rows of that day. */
  due?: { day: string; statement: BankStatement | null }[];
  /** Another format has entries under another day, so that only the amount says what is the same. */
  isMoved: boolean;
  /** Details and their batch are one booking, so that only the sum of a day can be compared. */
  isBatched: boolean;
}

type References = 'own' | 'none' | 'by day' | 'constant' | 'some' | 'reissued';

export interface Variant {
  /** The share of the histories of a run that are of this variant. */
  weight: number;
  /** A day is cut into as many statements. Those without rows do not come. */
  parts: number;
  /** Other formats list a day in another order than MT940. */
  isReordered?: boolean;
  references?: readonly References[];
  numbers?: readonly ('series' | 'constant' | 'none')[];
  /** The statements of a day come in one file. */
  isPacked?: boolean;
  /** CAMT has an entry under a day that is up to three days later than in MT940. */
  isMoved?: boolean;
  /** Some bookings are batches. MT940, CSV, and JSON list them, and some files of CAMT list their details. */
  isBatched?: boolean;
}

/** What banks do, and how often it is tried over HTTP. */
export const VARIANTS = {
  plain: { weight: 4, parts: 2 },
  'three parts': { weight: 2, parts: 3 },
  'four parts': { weight: 1, parts: 4 },
  'another order': { weight: 2, parts: 2, isReordered: true },
  'three parts, another order': { weight: 2, parts: 3, isReordered: true },
  'constant references': { weight: 2, parts: 3, references: ['constant'] },
  'some references': { weight: 1, parts: 2, references: ['some'] },
  'reissued references': { weight: 1, parts: 2, references: ['reissued'] },
  packed: { weight: 1, parts: 3, isPacked: true },
  batches: { weight: 2, parts: 2, isBatched: true },
  'moved days': { weight: 1, parts: 1, isMoved: true, references: ['own'] },
} as const satisfies Record<string, Variant>;

const DAY = 86_400_000;
const dayOf = (day: number) => new Date(Date.UTC(2025, 0, 1) + day * DAY).toISOString().slice(0, 10);
const OPENING = 100_000n;

/** Amounts that come back to the same balance often. */
const amounts = fc.array(fc.constantFrom(-1_000n, -1_000n, 1_000n, -500n, 700n), { maxLength: 5 });

const CUTS = ['day', 'day', 'day', 'parts', 'week', 'csv', 'interim', 'report', 'json'] as const;

const cut = fc.record({
  kind: fc.constantFrom(...CUTS),
  /** The first day, and how many. */
  at: fc.nat(),
  length: fc.nat(6),
  isReversed: fc.boolean(),
  balances: fc.constantFrom('right' as const, 'constant' as const, 'none' as const),
  times: fc.constantFrom(1, 1, 1, 2),
});

type Cut = typeof cut extends fc.Arbitrary<infer T> ? T : never;

interface Plan {
  days: bigint[][];
  references: References;
  numbers: 'series' | 'constant' | 'none';
  /** After how many rows each day is cut. */
  cutsOfDays: number[][];
  /** The order in which another format lists the rows of a day. */
  shuffles: number[];
  cuts: Cut[];
  order: number[];
  isOrdered: boolean;
}

/** The names of all variants, and of what only some banks do. */
export const NAMES = [...Object.keys(VARIANTS), ...Object.keys(HABITS)] as (
  | keyof typeof VARIANTS
  | keyof typeof HABITS
)[];

/** @param days the most days of a history. */
export function histories(name: (typeof NAMES)[number], days: number): fc.Arbitrary<BankHistory> {
  if (name in HABITS) {
    const make = HABITS[name as keyof typeof HABITS];
    return fc
      .record({ seed: fc.nat(), days: fc.integer({ min: 1, max: days }) })
      .map((it) => make(createDice(it.seed), it.days));
  }
  const variant: Variant = VARIANTS[name as keyof typeof VARIANTS];
  const plan = fc.record<Plan>({
    days: fc.array(amounts, { minLength: 1, maxLength: days }),
    references: fc.constantFrom(...(variant.references ?? (['own', 'none', 'by day'] as const))),
    numbers: fc.constantFrom(...(variant.numbers ?? (['series', 'constant', 'none'] as const))),
    cutsOfDays: fc.array(
      fc.array(fc.nat(4), { minLength: variant.parts - 1, maxLength: variant.parts - 1 }),
      {
        minLength: days,
        maxLength: days,
      },
    ),
    shuffles: fc.array(fc.nat(), { minLength: 5, maxLength: 5 }),
    cuts: fc.array(cut, { maxLength: 8 }),
    order: fc.array(fc.nat(), { minLength: 1, maxLength: 40 }),
    isOrdered: fc.boolean(),
  });
  return plan.map((it) => toHistory(variant, it));
}

function toHistory(variant: Variant, plan: Plan): BankHistory {
  const { days, references, numbers, cutsOfDays, shuffles, cuts, order, isOrdered } = plan;
  const rows = bookAll(days, references);
  const before = (at: number) => rows[at - 1]?.balance ?? OPENING;
  const startOf = (day: number) => rows.filter((it) => it.day < dayOf(day)).length;
  let number = 0;
  const nameOf = () => {
    number += 1;
    return { series: String(number), constant: '1', none: null }[numbers];
  };
  const statement = (
    from: number,
    to: number,
    fields: Partial<Omit<BankStatement, 'fingerprint'>>,
  ): BankStatement[] => {
    const part = rows.slice(from, to);
    const [first, last] = [part[0], part.at(-1)];
    if (first === undefined || last === undefined) return [];
    const it = {
      kind: 'final' as const,
      format: 'mt940',
      number: null,
      sequence: null,
      from: first.day,
      to: last.day,
      opening: before(from),
      closing: last.balance,
      rows: part,
      ...fields,
    };
    return [{ ...it, fingerprint: it.kind === 'none' ? null : fingerprintOf(it) }];
  };
  // Each part has its number at once: the files of one bank number what it has booked.
  const partsOf = (day: number): BankStatement[] => {
    const [from, to] = [startOf(day), startOf(day + 1)];
    const ends = [...(cutsOfDays[day] ?? []).map((it) => Math.min(from + it, to)), to].sort((a, b) => a - b);
    return ends.flatMap((end, index) => {
      const begin = ends[index - 1] ?? from;
      return end > begin ? statement(begin, end, { number: nameOf() }) : [];
    });
  };
  const daily = days.map((_, day) => partsOf(day));

  /** As another format says it: other texts, other references, perhaps another order and other days. */
  const inCamt = (from: number, to: number, isDetailed: boolean): BankRow[] => {
    const ofCamt = rows.slice(from, to).map((row) => ({
      ...row,
      text: `${row.text} AG`,
      reference:
        row.reference && (references === 'constant' || variant.isMoved ? row.reference : `C${row.reference}`),
    }));
    const ordered = variant.isReordered ? reorder(ofCamt, shuffles, before(from)) : ofCamt;
    const onDays = variant.isMoved ? ordered.map((row) => moved(row, shuffles)) : ordered;
    return variant.isBatched && isDetailed ? onDays.flatMap(detailsOf) : onDays;
  };
  const sliceOf = (at: number, length: number) => {
    const first = at % (rows.length + 1);
    return [first, Math.min(rows.length, first + 1 + length)] as const;
  };
  const makeCut = ({ kind, at, length, isReversed, balances }: Cut): BankStatement[] => {
    const day = at % days.length;
    const [from, to] = [startOf(day), startOf(day + 1 + (kind === 'week' ? length : 0))];
    const [first, end] = sliceOf(at, length);
    const some = Math.min(to, from + 1 + length);
    switch (kind) {
      case 'day':
        return statement(from, to, { format: 'camt', rows: inCamt(from, to, isReversed) });
      case 'parts':
        return daily[day] ?? [];
      case 'week':
        return statement(from, to, { format: 'camt', number: `W${at}`, rows: inCamt(from, to, isReversed) });
      case 'csv':
        return statement(first, end, csvOf(rows.slice(first, end), before(first), isReversed));
      case 'interim': {
        const sent = rows.slice(from, some).map((row) => ({ ...row, balance: null }));
        return statement(from, some, {
          ...{ kind: 'interim', format: 'mt942', opening: null, closing: null },
          rows: sent,
        });
      }
      case 'report': {
        const sent = rows.slice(from, some);
        const isDetailed = variant.isBatched && isReversed;
        return statement(from, some, {
          ...{ kind: 'interim', format: 'camt' },
          rows: isDetailed ? sent.flatMap(detailsOf) : sent,
        });
      }
      case 'json': {
        const sent = rows.slice(first, end).map((row) => ({
          ...row,
          reference: null,
          text: `json ${row.booking}`,
          balance: { right: row.balance, constant: OPENING, none: null }[balances],
        }));
        return statement(first, end, {
          ...{ kind: 'none', format: 'json', opening: null, closing: null, from: null, to: null },
          rows: sent,
        });
      }
    }
  };

  const alone = (statements: readonly BankStatement[]) => statements.map((it) => [it]);
  const files = [
    ...daily.flatMap((parts) => (variant.isPacked && parts.length > 0 ? [parts] : alone(parts))),
    ...cuts.flatMap((it) => {
      const made = alone(makeCut(it));
      const sent = references === 'reissued' ? made.map((file, index) => reissue(file, it.at + index)) : made;
      return Array.from({ length: it.times }, () => sent).flat();
    }),
  ].filter((file) => file.length > 0);
  return {
    bookings: rows.map(({ day, amount }) => ({ day, amount })),
    files: isOrdered
      ? files.toSorted((one, other) => compare(lastDay(one), lastDay(other)))
      : mix(files, order),
    finals: daily.flat(),
    isMoved: variant.isMoved ?? false,
    isBatched: variant.isBatched ?? false,
  };
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

const lastDay = (file: readonly BankStatement[]) => file.at(-1)?.rows.at(-1)?.day ?? '';

function mix<T>(files: readonly T[], order: readonly number[]): T[] {
  const keyed = files.map((file, index) => [order[index % order.length] ?? 0, file] as const);
  return keyed.toSorted(([one], [other]) => one - other).map(([, file]) => file);
}

function bookAll(days: readonly bigint[][], references: References): BankRow[] {
  const rows: BankRow[] = [];
  let balance = OPENING;
  for (const [day, ofDay] of days.entries()) {
    for (const [index, amount] of ofDay.entries()) {
      balance += amount;
      const booking = rows.length;
      const reference = {
        own: `R${booking}`,
        none: null,
        'by day': `${index + 1}`,
        constant: 'POS',
        some: booking % 3 === 0 ? null : `R${booking}`,
        reissued: `R${booking}`,
      }[references];
      rows.push({ booking, day: dayOf(day), amount, balance, reference, text: `text ${booking % 3}` });
    }
  }
  return rows;
}

/** Lists the rows of each day in another order, with the balances that follow from that order. */
function reorder(rows: readonly BankRow[], shuffles: readonly number[], opening: bigint): BankRow[] {
  let balance = opening;
  const days = [...new Set(rows.map(({ day }) => day))];
  return days
    .flatMap((day) =>
      mix(
        rows.filter((row) => row.day === day),
        shuffles,
      ),
    )
    .map((row) => {
      balance += row.amount;
      return { ...row, balance };
    });
}

/** Some entries have a later day, so that their balances no longer follow each other day by day. */
function moved(row: BankRow, shuffles: readonly number[]): BankRow {
  const days = (shuffles[row.booking % shuffles.length] ?? 0) % 4;
  return { ...row, day: new Date(Date.parse(row.day) + days * DAY).toISOString().slice(0, 10) };
}

/** Every second booking is a batch of two payments. */
function detailsOf(row: BankRow): BankRow[] {
  const { booking, amount, balance, reference, text } = row;
  if (booking % 2 === 0) return [row];
  const first = amount < 0n ? -300n : 300n;
  return [first, amount - first].map((part, index) => ({
    ...row,
    amount: part,
    balance: balance === null || index === 1 ? balance : balance - amount + first,
    reference: reference && `${reference}/${index}`,
    text: `${text} ${index}`,
    batch: { reference, total: amount },
  }));
}

/** The bank gives new references whenever a file is made. */
const reissue = (file: readonly BankStatement[], at: number): BankStatement[] =>
  file.map((it) => ({
    ...it,
    rows: it.rows.map((row) => ({ ...row, reference: row.reference && `${row.reference}-${at}` })),
  }));

/** The balances of a CSV file stand beside its rows. A file whose order nothing says has none before and after. */
function csvOf(rows: readonly BankRow[], opening: bigint, isReversed: boolean): Partial<BankStatement> {
  const plain = (isReversed ? rows.toReversed() : rows).map((row) => ({ ...row, reference: null }));
  const isOneDay = plain.every(({ day }) => day === plain[0]?.day);
  const canBeReversed = isOneDay && plain.length === 2 && plain[0]?.amount === -(plain[1]?.amount ?? 0n);
  const ends = canBeReversed
    ? { opening: null, closing: null }
    : { opening, closing: rows.at(-1)?.balance ?? null };
  return { format: 'csv', rows: plain, ...ends };
}
