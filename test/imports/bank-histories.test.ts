import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCompleteness } from '../../src/imports/find-statements.ts';
import { ACCOUNT_IBAN } from '../support/day-statement.ts';
import { useService } from '../support/service.ts';
import { createStatementCustomer } from './statement-files.ts';

/**
 * Generates banks: days with equal payments, references of several kinds, statements that are cut, doubled, lost, and in any order, and
 * reports of days that are not over. What is stored must be exactly what the bank has booked; or the import, or the chain of
 * statements, says what is missing.
 */

const HISTORIES = 150;
const SEED = 20_261_231;

const service = useService({ roles: ['api'] });

interface Entry {
  amount: number;
  reference: string;
}

interface File {
  kind: 'final' | 'interim';
  day: number;
  opening: number;
  entries: Entry[];
}

const two = (number: number) => String(number).padStart(2, '0');
const money = (amount: number) => `${Math.abs(amount)},00`;
const mark = (amount: number) => (amount < 0 ? 'D' : 'C');

function render({ kind, day, opening, entries }: File): string {
  const date = `2603${two(day + 1)}`;
  const closing = entries.reduce((sum, { amount }) => sum + amount, opening);
  const balance = (tag: string, amount: number) => `:${tag}:${mark(amount)}${date}TRY${money(amount)}`;
  return [
    ':20:X',
    `:25:${ACCOUNT_IBAN}`,
    ':28C:1/1',
    kind === 'final' ? balance('60F', opening) : ':34F:TRY0,',
    ...entries.map(
      ({ amount, reference }) =>
        `:61:${date}${mark(amount)}${money(amount)}NTRFNONREF${reference && `//${reference}`}`,
    ),
    ...(kind === 'final' ? [balance('62F', closing)] : []),
    '-',
    '',
  ].join('\r\n');
}

/** How a bank names its entries: each by a name of its own, not at all, or from 1 in each day. */
const REFERENCES = ['own', 'none', 'by day'] as const;

const history = fc.record({
  references: fc.constantFrom(...REFERENCES),
  days: fc.array(
    fc.record({
      amounts: fc.array(fc.constantFrom(-45, -45, 10, 20), { minLength: 1, maxLength: 5 }),
      /** Where the day is cut into two statements; 0: it is not. */
      cut: fc.nat(4),
      /** So many of its first entries come in a report before; 0: there is none. */
      reported: fc.nat(4),
      fate: fc.constantFrom('once', 'once', 'once', 'twice', 'lost'),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  order: fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
});

type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

/** The files of a bank in the order in which they come, and what it has booked. */
function filesOf({ references, days, order }: History) {
  const files: File[] = [];
  const booked: { day: number; amount: number }[] = [];
  let balance = 10_000;
  let count = 0;
  for (const [day, { amounts, cut, reported, fate }] of days.entries()) {
    const entries = amounts.map((amount, index): Entry => {
      count += 1;
      const reference = { own: `R${count}`, none: '', 'by day': `${index + 1}` }[references];
      return { amount, reference };
    });
    booked.push(...amounts.map((amount) => ({ day, amount })));
    if (reported > 0) files.push({ kind: 'interim', day, opening: 0, entries: entries.slice(0, reported) });
    for (const part of [entries.slice(0, cut), entries.slice(cut)]) {
      const file: File = { kind: 'final', day, opening: balance, entries: part };
      balance += part.reduce((sum, { amount }) => sum + amount, 0);
      if (part.length === 0 || fate === 'lost') continue;
      files.push(file);
      if (fate === 'twice') files.push(file);
    }
  }
  const ordered = files
    .map((file, index) => [order[index % order.length] ?? 0, file] as const)
    .toSorted(([one], [other]) => one - other)
    .map(([, file]) => file);
  return { files: ordered, booked };
}

const keyOf = (day: number, amount: number) => `2026-03-${two(day + 1)} ${amount}`;

function countBy(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

async function check(it: History): Promise<void> {
  const { files, booked } = filesOf(it);
  const customer = await createStatementCustomer(service);
  let assumed = 0;
  for (const file of files) assumed += (await customer.importFile(render(file))).assumed_duplicates;
  const movements = await customer.movements();
  const stored = countBy(
    movements.map(
      ({ date_issue, dc, amount }) => `${date_issue} ${dc === 'Debit' ? -Number(amount) : Number(amount)}`,
    ),
  );
  const bank = countBy(booked.map(({ day, amount }) => keyOf(day, amount)));
  // Nothing is stored that the bank has not booked, and nothing twice.
  for (const [key, count] of stored) expect(count, key).toBeLessThanOrEqual(bank.get(key) ?? 0);

  const came = countBy(
    it.days.flatMap(({ fate }, day) =>
      fate === 'lost'
        ? []
        : booked.filter((entry) => entry.day === day).map(({ amount }) => keyOf(day, amount)),
    ),
  );
  // What has come is stored, or the import has said that it took it for something else.
  const dropped = [...came].reduce(
    (sum, [key, count]) => sum + Math.max(0, count - (stored.get(key) ?? 0)),
    0,
  );
  expect(dropped).toBeLessThanOrEqual(assumed);

  const { periods } = await readCompleteness(service.runtime.database, customer.accountId);
  expect(periods.filter(({ status }) => status === 'contradiction')).toEqual([]);
  const whole = it.days.map(({ fate }, day) => ({ day, isLost: fate === 'lost' }));
  const first = whole.findIndex(({ isLost }) => !isLost);
  const last = whole.findLastIndex(({ isLost }) => !isLost);
  const missing = booked
    .filter(({ day }) => day > first && day < last && it.days[day]?.fate === 'lost')
    .reduce((sum, { amount }) => sum + amount * 100, 0);
  const gaps = periods.filter(({ status }) => status === 'gap');
  expect(gaps.reduce((sum, { difference }) => sum + Number(difference), 0)).toBe(missing);
}

describe('the files of a bank', () => {
  it(`give what it has booked, or say what is missing, in ${HISTORIES} histories`, async () => {
    await fc.assert(fc.asyncProperty(history, check), { numRuns: HISTORIES, seed: SEED });
  }, 240_000);
});
