import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChainStatement, findPeriods, summarisePeriods } from '../../packages/reconcile/src/periods.ts';
import { findPeriodsOf } from '../../src/books/periods/find-periods.ts';
import { chainStatement } from './chain-statement.ts';

const DAY = 86_400_000;
const SEED = 20_261_231;
const dateOf = (day: number) => new Date(Date.UTC(2024, 0, 1) + day * DAY).toISOString().slice(0, 10);

let ids = 0;
const statement = (
  days: number | [from: number, to: number],
  opening: number,
  closing: number,
  fields: Partial<ChainStatement> = {},
): ChainStatement => {
  const [from, to] = typeof days === 'number' ? [days, days] : days;
  ids += 1;
  return chainStatement({
    id: String(ids),
    from: dateOf(from),
    to: dateOf(to),
    opening: BigInt(opening),
    closing: BigInt(closing),
    ...fields,
  });
};
const told = (statements: readonly ChainStatement[]) =>
  findPeriods(statements).map(({ status, from, to, difference }) => [status, from, to, Number(difference)]);

describe('the statements of an account', () => {
  it('are complete when each begins with the closing balance of another, in whatever order they came', () => {
    const chain = [
      statement(0, 0, 50),
      statement(1, 50, 20),
      statement([2, 6], 20, 20),
      statement(9, 20, 70),
    ];
    expect(told(chain)).toEqual([['complete', '2024-01-01', '2024-01-10', 0]]);
    expect(told(chain.toReversed())).toEqual(told(chain));
    expect(summarisePeriods(findPeriods(chain))).toBe('complete');
    expect(summarisePeriods([])).toBe('unknown');
  });

  it('have no gap when a longer statement contains two days that shorter ones cover one by one', () => {
    const shorter = [
      statement(1, 50, 20, { entries: 26, credits: 10n, debits: 40n }),
      statement(2, 20, 30, { entries: 4, credits: 10n }),
      statement(2, 20, 60, { entries: 54, credits: 70n, debits: 30n }),
    ];
    const longer = statement([1, 2], 50, 80, { entries: 94, credits: 100n, debits: 70n });
    const chain = [statement(0, 0, 50), ...shorter, longer];
    expect(told(chain).map(([status]) => status)).not.toContain('gap');
  });

  it('do not contradict each other when one of two days ends, by chance, with the balance between the days', () => {
    const chain = [
      statement(0, 0, 50),
      statement(1, 50, 80, { entries: 35, credits: 66n, debits: 36n }),
      statement(2, 80, 86, { entries: 13, credits: 19n, debits: 13n }),
      statement([1, 2], 50, 80, { entries: 62, credits: 102n, debits: 72n }),
      statement([1, 2], 50, 77, { entries: 64, credits: 103n, debits: 76n }),
      statement(3, 77, 70, { entries: 50 }),
    ];
    expect(findPeriods(chain).filter(({ status }) => status === 'contradiction')).toEqual([]);
  });

  it('do not follow a statement of two days that has entries of theirs and ends, by chance, with their opening balance', () => {
    const ofTwoDays = statement([2, 3], 88, 94, { entries: 44, credits: 67n, debits: 61n });
    const repeated = new Set(['1']);
    const shared = { beginsWithin: true, repeated };
    const chain = [
      statement(1, 50, 88, { entries: 70, credits: 118n, debits: 80n }),
      statement([1, 2], 50, 94, { entries: 88, credits: 146n, debits: 102n }),
      { ...ofTwoDays, repeated },
      statement(3, 94, 91, { entries: 18, credits: 26n, debits: 29n, ...shared }),
      statement(3, 94, 93, { entries: 27, credits: 38n, debits: 39n, ...shared }),
    ];
    expect(findPeriods(chain).filter(({ status }) => status === 'contradiction')).toEqual([]);
  });

  it('have a gap where a statement is missing, with the sum that was booked in it', () => {
    const chain = [statement(0, 0, 50), statement(3, 70, 20)];
    expect(told(chain)).toEqual([
      ['complete', '2024-01-01', '2024-01-01', 0],
      ['gap', '2024-01-02', '2024-01-03', 20],
      ['complete', '2024-01-04', '2024-01-04', 0],
    ]);
    expect(told([...chain, statement([1, 2], 50, 70)])).toEqual([
      ['complete', '2024-01-01', '2024-01-04', 0],
    ]);
  });

  it('have a gap within a day', () => {
    expect(told([statement(0, 0, 50), statement(0, 70, 20)])[1]).toEqual([
      'gap',
      '2024-01-01',
      '2024-01-01',
      20,
    ]);
  });

  it('may be several for one day, in any order', () => {
    const day = [statement(0, 0, 50), statement(0, 50, -10), statement(0, -10, 90)];
    for (const order of [day, day.toReversed(), [day[1], day[0], day[2]] as ChainStatement[]]) {
      expect(told(order)).toEqual([['complete', '2024-01-01', '2024-01-01', 0]]);
    }
  });

  it('give the same periods when a statement of the week is added to those of its days', () => {
    const days = [statement(0, 0, 50), statement(2, 50, 20), statement(4, 20, 90)];
    expect(told([...days, statement([0, 6], 0, 90)]).map(([status]) => status)).toEqual(['complete']);
  });

  it('may cover a day that is not over, and come again with more entries', () => {
    const early = [statement(1, 50, 70), statement([0, 1], 0, 70, { entries: 2 })];
    const whole = [statement(0, 0, 50), statement(1, 50, 90, { entries: 2 })];
    expect(told([...early, ...whole])).toEqual([['complete', '2024-01-01', '2024-01-02', 0]]);
  });

  it('may cover a day that is not over and whose entries so far cancel out', () => {
    const days = [
      statement(0, 202, 186, { entries: 34 }),
      statement(1, 186, 186, { entries: 26 }),
      statement([0, 1], 202, 182, { entries: 66 }),
      statement([1, 2], 186, 192, { entries: 48 }),
      statement(2, 182, 184, { entries: 21 }),
    ];
    expect(told(days)).toEqual([
      ['complete', '2024-01-01', '2024-01-03', 0],
      ['overlap', '2024-01-02', '2024-01-02', 0],
    ]);
    expect(findPeriods(days)[0]).toMatchObject({ opening: 202n, closing: 184n });
  });

  it('continue with the nearer statement when a balance returns to an earlier value', () => {
    const onTheSameDay = [statement(3, 35, 10, { entries: 2 }), statement(3, 10, -35)];
    expect(told([statement(0, 100, 55), statement(1, 55, 10), ...onTheSameDay])).toEqual([
      ['complete', '2024-01-01', '2024-01-02', 0],
      ['gap', '2024-01-03', '2024-01-03', 25],
      ['complete', '2024-01-04', '2024-01-04', 0],
    ]);
    const first = [statement(0, 1_000, 955), statement(0, 955, 985, { entries: 2 })];
    expect(told([...first, statement(3, 955, 820, { entries: 3 })])).toEqual([
      ['complete', '2024-01-01', '2024-01-01', 0],
      ['gap', '2024-01-02', '2024-01-03', -30],
      ['complete', '2024-01-04', '2024-01-04', 0],
    ]);
  });

  it('contradict each other when one day ends with two balances', () => {
    const chain = [statement(0, 0, 50), statement(1, 50, 70), statement(1, 50, 75)];
    expect(told(chain)).toContainEqual(['contradiction', '2024-01-02', '2024-01-02', 5]);
    expect(summarisePeriods(findPeriods(chain))).toBe('contradictory');
  });

  it('contradict each other when they begin with the same balance, end with two, and neither contains the other', () => {
    const sums = (credits: bigint, debits: bigint) => ({ credits, debits });
    const day = statement(0, 0, 50, { ...sums(50n, 0n), entries: 3 });
    const [less, other] = [statement(0, 0, 40, sums(40n, 0n)), statement(0, 0, 30, sums(40n, 10n))];
    expect(told([day, less]).map(([status]) => status)).toEqual(['complete']);
    expect(told([day, other])).toContainEqual(['contradiction', '2024-01-01', '2024-01-01', -20]);
    const days = statement([0, 1], 0, 45, { ...sums(60n, 15n), entries: 4 });
    expect(told([day, days]).map(([status]) => status)).toEqual(['complete']);
    const otherDays = statement([0, 1], 0, 30, { ...sums(40n, 10n), entries: 2 });
    expect(told([day, otherDays])).toContainEqual(['contradiction', '2024-01-01', '2024-01-01', 20]);
  });

  it('are checked in a time that hardly depends on how they are linked', () => {
    const many = Array.from({ length: 20_000 }, (_, day) => day);
    const none = { entries: 0 };
    expect(told(many.map((day) => statement(day, 7, 7, none)))).toHaveLength(1);
    expect(told(many.map((day) => statement(day, 10 * day, 10 * day + 5)))).toHaveLength(39_999);
    expect(told(many.map((day) => statement([day, day + 300], 10 * day, 10 * day + 5)))).toHaveLength(20_000);
  });

  it('give the same periods when they are so many that a thread checks them', async () => {
    const many = Array.from({ length: 3_000 }, (_, day) =>
      statement(day, 10 * day, 10 * day + (day % 3 === 0 ? 5 : 10)),
    );
    expect(findPeriods(many)).toHaveLength(2_001);
    expect(await findPeriodsOf('1', many)).toEqual(findPeriods(many));
  });

  it('contradict themselves when their entries do not lead to their closing balance', () => {
    expect(told([statement(0, 0, 50, { difference: 3n })])).toContainEqual([
      'contradiction',
      '2024-01-01',
      '2024-01-01',
      3,
    ]);
  });

  it('have a gap of zero where a number is missing, if the bank numbers its statements', () => {
    const numbered = (numbers: number[]) =>
      numbers.map((number) => statement(number, 5, 5, { place: number }));
    expect(told(numbered([1, 2, 3, 4, 6, 7]))).toContainEqual(['gap', '2024-01-06', '2024-01-06', 0]);
    // A new year, and numbers that mean something else.
    expect(told([...numbered([1, 2, 3, 4, 5]), statement(9, 5, 5, { place: 1 })])).toHaveLength(1);
    expect(told(numbered([10, 20, 30, 40, 70]))).toHaveLength(1);
  });
});

/** Statements of a bank: one a day with movements, a page or two each, and some of whole weeks. */
const bank = fc
  .array(
    fc.record({
      amounts: fc.array(fc.integer({ min: -9_999, max: 9_999 }), { maxLength: 4 }),
      pages: fc.integer({ min: 1, max: 2 }),
    }),
    {
      minLength: 1,
      maxLength: 60,
    },
  )
  .map((days) => {
    const statements: ChainStatement[] = [];
    const balanceAfter: number[] = [];
    let balance = 1_000_000;
    let number = 0;
    for (const [day, { amounts, pages }] of days.entries()) {
      if (amounts.length > 0) number += 1;
      const cut = pages === 1 ? amounts.length : Math.ceil(amounts.length / 2);
      for (const page of [amounts.slice(0, cut), amounts.slice(cut)]) {
        const sum = page.reduce((total, it) => total + it, 0);
        if (page.length > 0) statements.push(statement(day, balance, balance + sum, { place: number }));
        balance += sum;
      }
      balanceAfter.push(balance);
    }
    return { statements, balanceAfter };
  });

describe('an account whose files come in any order', () => {
  it('is complete when all files have come, also with statements of whole weeks among them', () => {
    fc.assert(
      fc.property(bank, fc.infiniteStream(fc.nat()), ({ statements, balanceAfter }, random) => {
        fc.pre(statements.length > 0);
        const weeks = balanceAfter.flatMap((closing, day) =>
          day % 7 === 6 ? [statement([day - 6, day], balanceAfter[day - 7] ?? 1_000_000, closing)] : [],
        );
        const shuffled = [...statements, ...weeks]
          .map((it) => [random.next().value, it] as const)
          .toSorted(([one], [other]) => one - other)
          .map(([, it]) => it);
        expect(summarisePeriods(findPeriods(shuffled))).toBe('complete');
      }),
      { numRuns: 500, seed: SEED },
    );
  });

  it('has gaps of exactly the missing sums between the first and the last file that came', () => {
    fc.assert(
      fc.property(bank, fc.array(fc.nat(99), { minLength: 60, maxLength: 60 }), ({ statements }, lost) => {
        const kept = statements.filter((_, index) => (lost[index % lost.length] ?? 0) > 25);
        const [first, last] = [kept[0], kept.at(-1)];
        fc.pre(first !== undefined && last !== undefined);
        const inside = statements.slice(
          statements.indexOf(first as never),
          statements.indexOf(last as never),
        );
        const missing = inside
          .filter((it) => !kept.includes(it))
          .reduce((sum, { opening, closing }) => sum + closing - opening, 0n);
        const gaps = findPeriods(kept.toReversed()).filter(({ status }) => status === 'gap');
        expect(gaps.reduce((sum, { difference }) => sum + difference, 0n)).toBe(missing);
      }),
      { numRuns: 1_000, seed: SEED },
    );
  });
});
