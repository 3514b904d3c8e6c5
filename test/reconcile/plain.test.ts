import { describe, expect, it } from 'vitest';
import { type BenchDay, makeDays } from '../../bench/statement-entries.ts';
import { type FileFormat, renderDays } from '../../bench/statement-files.ts';
import {
  findKnownEntries,
  findStatementPeriods,
  relateStatements,
  type Statement,
} from '../../packages/reconcile/src/index.ts';
import { type Entry as ReadEntry, readStatements } from '../../packages/statements/src/index.ts';

const ACCOUNT = { iban: 'TR320010009999901234567890', currency: 'TRY' };
const DAYS = [...makeDays(50, 5)];

/** The statements of a file with these days, as @ledgerbell/statements reads them. */
async function read(format: FileFormat, days: readonly BenchDay[]) {
  const statements = [];
  for await (const it of readStatements(Buffer.from(renderDays(format, days, ACCOUNT)))) statements.push(it);
  return statements;
}

const withIds = (statements: readonly Statement<ReadEntry>[]) => {
  let count = 0;
  return statements.map((it) => ({
    ...it,
    entries: it.entries.map((entry) => {
      count += 1;
      return { ...entry, id: `id-${count}` };
    }),
  }));
};

const plain = (
  rows: [date: string, amount: string][],
  { opening, ...rest }: Partial<Omit<Statement, 'opening'>> & { opening?: string } = {},
): Statement => {
  const sum = rows.reduce((total, [, amount]) => total + Number(amount), Number(opening ?? 0));
  return {
    format: 'mt940',
    kind: 'final',
    ...(opening !== undefined && { opening: { amount: opening }, closing: { amount: sum.toFixed(2) } }),
    entries: rows.map(([date, amount]) => ({ date, amount })),
    ...rest,
  };
};

describe('relateStatements', () => {
  it('finds the entries that a MT940 and a CAMT have in common', async () => {
    const [month] = await read('csv', DAYS);
    const [later] = await read('camt', DAYS.slice(4, 5));
    if (month === undefined || later === undefined) throw new Error('no statement');
    const { kind, isAssumed, pairs } = relateStatements(month, later);
    expect({ kind, isAssumed }).toEqual({ kind: 'common', isAssumed: false });
    expect(pairs.map(({ one, other }) => [month.entries[one]?.amount, one - other])).toEqual(
      later.entries.map(({ amount }) => [amount, 20]),
    );
  });

  it('says that one statement follows another', async () => {
    const [one, other] = await read('mt940', DAYS);
    if (one === undefined || other === undefined) throw new Error('no statement');
    expect(relateStatements(one, other)).toMatchObject({ kind: 'apart', isNext: true, pairs: [] });
    expect(relateStatements(other, one)).toMatchObject({ isNext: false });
  });

  it('takes statements of other days as apart, without proof', () => {
    const one = plain([['2026-01-02', '5.00']]);
    const other = plain([['2026-02-02', '7.00']]);
    expect(relateStatements(one, other)).toMatchObject({ kind: 'apart', isAssumed: true });
  });

  it('finds a contradiction', () => {
    const one = plain([['2026-01-02', '5.00']], { opening: '10.00' });
    const other = plain([['2026-01-02', '7.00']], { opening: '10.00' });
    expect(relateStatements(one, other).kind).toBe('contradict');
  });
});

describe('findKnownEntries', () => {
  it('knows the entries of another format, and the position of a pending entry', async () => {
    const stored = withIds(await read('mt940', DAYS.slice(0, 6)));
    const received = await read('camt', DAYS.slice(4, 8));
    received[0]?.entries.unshift({ ...(received[0].entries[0] as ReadEntry), status: 'pending' });
    const { decisions, warnings } = findKnownEntries(stored, received);
    expect(decisions[0]?.[0]).toEqual({ outcome: 'pending' });
    const outcomes = decisions.flat().map((it) => (it.outcome === 'known' ? it.entry : it.outcome));
    const known = stored.slice(4).flatMap(({ entries }) => entries);
    expect(outcomes).toEqual(['pending', ...known, ...Array.from({ length: 10 }, () => 'new')]);
    expect(warnings).toEqual([]);
  });

  it('takes an entry of two stored statements as one booking', async () => {
    const month = withIds(await read('csv', DAYS.slice(0, 2)));
    const ids = month[0]?.entries ?? [];
    const days = (await read('mt940', DAYS.slice(0, 2))).map((it, day) => ({
      ...it,
      entries: it.entries.map((entry, at) => ({ ...entry, id: ids[day * 5 + at]?.id ?? '' })),
    }));
    const { decisions } = findKnownEntries([...month, ...days], await read('camt', DAYS.slice(0, 2)));
    expect(decisions.flat().map((it) => it.outcome === 'known' && it.isStored && it.entry.id)).toEqual(
      ids.map(({ id }) => id),
    );
  });

  it('names the earlier entry of the same file', async () => {
    const [statement] = await read('mt940', DAYS.slice(0, 1));
    if (statement === undefined) throw new Error('no statement');
    const { decisions } = findKnownEntries([], [statement, structuredClone(statement)]);
    expect(decisions[1]?.map((it) => it.outcome === 'known' && it.entry)).toEqual(statement.entries);
  });

  it('assumes nothing when it may not', () => {
    const stored = [
      { ...plain([]), entries: [{ id: '1', date: '2026-01-02', amount: '5.00', description: 'A' }] },
    ];
    const received = [plain([['2026-01-02', '5.00']], { format: 'camt' })];
    expect(findKnownEntries(stored, received).decisions).toMatchObject([[{ outcome: 'known' }]]);
    expect(findKnownEntries(stored, received, { mayAssume: false }).decisions).toEqual([
      [{ outcome: 'new', isAssumed: true }],
    ]);
  });

  it('names a wrong value, and statements of two accounts', () => {
    const right = plain([['2026-01-02', '5.00']]);
    const ask = (statement: Statement) => () => findKnownEntries([], [right, statement]);
    expect(ask(plain([['2026-01-02', '5,00']]))).toThrow(
      'received[1].entries[0].amount is "5,00": a text with up to 18 digits, and at most three after the point, is allowed, such as "-1234.50".',
    );
    expect(ask(plain([['2026-02-30', '5.00']]))).toThrow(
      'received[1].entries[0].date is "2026-02-30": a date of the calendar is allowed, YYYY-MM-DD.',
    );
    expect(ask({ ...right, entries: [{ date: '2026-01-02', amount: 5 as unknown as string }] })).toThrow(
      'received[1].entries[0].amount is 5: a text',
    );
    expect(ask(plain([['01.03.2026', '5.00']]))).toThrow('received[1].entries[0].date is "01.03.2026"');
    expect(ask({ ...right, to: 'hello' })).toThrow('received[1].to is "hello"');
    expect(ask({ ...right, kind: 'x' as 'final' })).toThrow(
      'received[1].kind is "x": "final" or "interim" is allowed.',
    );
    expect(ask({} as Statement)).toThrow('received[1].entries must be a list of entries.');
    expect(ask({ ...right, account: { iban: 'A' } })).not.toThrow();
    const numbered = ['1', '2'].map((number) => ({ ...right, account: { iban: null, number } }));
    expect(() => findStatementPeriods(numbered)).toThrow('statements[1] has the account 2, and another');
    expect(() => findKnownEntries([right as never], [])).toThrow('stored[0].entries[0].id is missing');
    const [one, other] = ['EUR', 'USD'].map((currency) => ({ ...right, currency }));
    expect(() => findKnownEntries([], [one as Statement, other as Statement])).toThrow(
      'received[1] has the currency USD, and another statement has EUR: pass the statements of one account.',
    );
  });
});

describe('findStatementPeriods', () => {
  it('finds a missing day between statements of two formats, and what was booked on it', async () => {
    const missing = DAYS[4] as BenchDay;
    const statements = [
      ...(await read('camt', DAYS.slice(5, 8))),
      ...(await read('mt940', DAYS.slice(0, 4))),
    ];
    const { status, periods, ignored } = findStatementPeriods(statements);
    expect(status).toBe('incomplete');
    expect(periods.map((it) => it.status)).toEqual(['complete', 'gap', 'complete']);
    const [, gap] = periods;
    expect(gap).toMatchObject({
      opening: missing.opening,
      closing: missing.entries.at(-1)?.balance,
      statements: [statements.at(-1), statements[0]],
    });
    expect(ignored).toEqual([]);
  });

  it('is complete with a table whose balances stand beside the rows, and with a statement of the same days', async () => {
    const statements = [...(await read('csv', DAYS.slice(0, 4))), ...(await read('mt940', DAYS.slice(2, 6)))];
    const { status, periods } = findStatementPeriods(statements);
    const days = periods.map((it) => [it.status, it.from, it.to]);
    expect({ status, days }).toEqual({
      status: 'complete',
      days: [['complete', '2010-01-01', '2010-01-06']],
    });
  });

  it('finds a statement whose entries miss its closing balance, and ignores what has no balances', () => {
    const wrong = { ...plain([['2026-01-02', '5.00']], { opening: '10.00' }), closing: { amount: '16.00' } };
    const interim = plain([['2026-01-03', '5.00']], { opening: '16.00', kind: 'interim' });
    const { status, periods, ignored } = findStatementPeriods([wrong, interim]);
    expect(status).toBe('contradictory');
    expect(periods.find((it) => it.status === 'contradiction')).toMatchObject({ difference: '1.00' });
    expect(ignored).toEqual([interim]);
  });

  it('does not trust the balances of a table of which a row was rejected', async () => {
    const [table] = await read('csv', DAYS.slice(0, 2));
    if (table === undefined) throw new Error('no statement');
    expect(findStatementPeriods([table]).status).toBe('complete');
    expect(findStatementPeriods([{ ...table, rejected: [{}] }])).toMatchObject({
      status: 'unknown',
      ignored: [{}],
    });
  });

  it('says nothing of nothing', () => {
    expect(findStatementPeriods([])).toEqual({ status: 'unknown', periods: [], ignored: [] });
  });
});
