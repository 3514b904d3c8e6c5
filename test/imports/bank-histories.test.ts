import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readCompleteness } from '../../src/imports/find-statements.ts';
import { balanceAfter, type Entry, renderCamt, renderMt940 } from '../durability/load/statements.ts';
import { ACCOUNT_IBAN } from '../support/day-statement.ts';
import { useService } from '../support/service.ts';
import { createStatementCustomer } from './statement-files.ts';

/**
 * Generates banks: days with equal payments, references of several kinds, statements that are cut, doubled, lost, and in any order, and
 * reports of days that are not over. What is stored must be exactly what the bank has booked; or the import, or the chain of
 * statements, says what is missing.
 */

const HISTORIES = Number(process.env.HISTORIES ?? 100);
const SEED = 20_261_231;

const service = useService({ roles: ['api'] });

interface File {
  isFinal: boolean;
  opening: number;
  entries: Entry[];
}

const dayOf = (day: number) => new Date(Date.UTC(2025, 11, 30) + day * 86_400_000).toISOString().slice(0, 10);

const FORMATS = ['mt940', 'camt'] as const;

/** Renders a file as MT940 or CAMT; a report of the day so far is CAMT. */
function render(
  { isFinal, opening, entries }: File,
  number: number,
  format: (typeof FORMATS)[number],
): string {
  const date = entries[0]?.date ?? '';
  const statement = { number: `S${number}`, iban: ACCOUNT_IBAN, opening, openedOn: date, entries };
  return isFinal && format === 'mt940' ? renderMt940(statement) : renderCamt(statement, isFinal);
}

/** How a bank names its entries: each by a name of its own, not at all, or from 1 in each day. */
const REFERENCES = ['own', 'none', 'by day'] as const;

const history = fc.record({
  references: fc.constantFrom(...REFERENCES),
  days: fc.array(
    fc.record({
      amounts: fc.array(fc.constantFrom(-4_500, -4_500, 1_000, 2_000), { minLength: 1, maxLength: 5 }),
      /** Where the day is cut into two statements; 0: it is not. */
      cut: fc.nat(4),
      /** So many of its first entries come in a report before; 0: there is none. */
      reported: fc.nat(4),
      fate: fc.constantFrom('once', 'once', 'once', 'twice', 'lost'),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  formats: fc.array(fc.constantFrom(...FORMATS), { minLength: 7, maxLength: 7 }),
  order: fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
});

type History = typeof history extends fc.Arbitrary<infer T> ? T : never;

/** The files of a bank in the order in which they come, and what it has booked. */
function filesOf({ references, days, order }: History) {
  const files: File[] = [];
  const booked: Entry[][] = [];
  let opening = 1_000_000;
  let count = 0;
  for (const [day, { amounts, cut, reported, fate }] of days.entries()) {
    const entries = amounts.map((amount, index): Entry => {
      count += 1;
      const reference = { own: `R${count}`, none: '', 'by day': `${index + 1}` }[references];
      const dc = amount < 0 ? 'Debit' : 'Credit';
      return { date: dayOf(day), dc, amount: Math.abs(amount), reference, description: 'POS' };
    });
    booked.push(entries);
    if (reported > 0) files.push({ isFinal: false, opening, entries: entries.slice(0, reported) });
    for (const part of [entries.slice(0, cut), entries.slice(cut)]) {
      if (part.length === 0) continue;
      const file: File = { isFinal: true, opening, entries: part };
      opening = balanceAfter(opening, part);
      if (fate !== 'lost') files.push(file);
      if (fate === 'twice') files.push(file);
    }
  }
  const ordered = files
    .map((file, index) => [order[index % order.length] ?? 0, file] as const)
    .toSorted(([one], [other]) => one - other)
    .map(([, file]) => file);
  return { files: ordered, booked };
}

const keyOf = ({ date, dc, amount }: Entry) => `${date} ${dc} ${(amount / 100).toFixed(2)}`;

function countBy(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

async function check(it: History): Promise<void> {
  const { files, booked } = filesOf(it);
  const customer = await createStatementCustomer(service);
  let assumed = 0;
  for (const [number, file] of files.entries()) {
    const format = it.formats[number % it.formats.length] ?? 'mt940';
    assumed += (await customer.importFile(render(file, number, format))).assumed_duplicates;
  }
  const { body } = await service.call('GET', '/v1/transactions?starts=2025-01-01', { key: customer.key });
  const movements: { date_issue: string; dc: string; amount: string }[] = body.transactions;
  const stored = countBy(movements.map(({ date_issue, dc, amount }) => `${date_issue} ${dc} ${amount}`));
  const bank = countBy(booked.flat().map(keyOf));
  // Nothing is stored that the bank has not booked, and nothing twice.
  for (const [key, count] of stored) expect(count, key).toBeLessThanOrEqual(bank.get(key) ?? 0);

  const hasCome = (day: number) => it.days[day]?.fate !== 'lost';
  const came = countBy(booked.flatMap((entries, day) => (hasCome(day) ? entries.map(keyOf) : [])));
  // What has come is stored, or the import has said that it took it for something else.
  const dropped = [...came].reduce(
    (sum, [key, count]) => sum + Math.max(0, count - (stored.get(key) ?? 0)),
    0,
  );
  expect(dropped).toBeLessThanOrEqual(assumed);

  const { periods } = await readCompleteness(service.runtime.database, customer.accountId);
  expect(periods.filter(({ status }) => status === 'contradiction')).toEqual([]);
  const days = it.days.map((_, day) => day).filter(hasCome);
  const missing = booked.filter(
    (_, day) => day > (days[0] ?? 0) && day < (days.at(-1) ?? 0) && !hasCome(day),
  );
  const gaps = periods.filter(({ status }) => status === 'gap');
  expect(gaps.reduce((sum, { difference }) => sum + Number(difference), 0)).toBe(
    balanceAfter(0, missing.flat()),
  );
}

describe('the files of a bank', () => {
  it(
    `give what it has booked, or say what is missing, in ${HISTORIES} histories`,
    async () => {
      await fc.assert(fc.asyncProperty(history, check), { numRuns: HISTORIES, seed: SEED });
    },
    HISTORIES * 2_000,
  );
});
