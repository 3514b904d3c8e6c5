import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Decision } from '../../../src/imports/identity/statement.ts';
import { type BankFile, type BankHistory, bankHistories } from './bank.ts';
import { createBooks } from './books.ts';

/**
 * Sends the files of a bank in memory. After each file, the stored movements of each day of which all final statements have come are the
 * bank's, by day and amount; on the other days, none is too much. An exception is a day and amount of which a row was an assumption.
 */

const HISTORIES = Number(process.env.HISTORIES ?? 500);
const SEED = Number(process.env.SEED ?? 20_261_124);

const groupOf = ({ day, amount }: { day: string; amount: bigint }) => `${day} ${amount}`;

function check({ bookings, files, finals }: BankHistory): void {
  const books = createBooks();
  const sent = new Set<BankFile>();
  const assumed = new Set<string>();
  const booked = countBy(bookings.map(groupOf));
  for (const [index, file] of files.entries()) {
    const [decisions = []] = books.receive(file);
    sent.add(file);
    for (const [position, decision] of decisions.entries())
      if (isAssumption(decision)) assumed.add(groupOf(file.rows[position] as BankFile['rows'][number]));
    const open = new Set(finals.filter((it) => !sent.has(it)).map(({ to }) => to));
    const stored = countBy(books.movements.map(groupOf));
    for (const group of new Set([...stored.keys(), ...booked.keys()])) {
      if (assumed.has(group)) continue;
      const [found, expected] = [stored.get(group) ?? 0, booked.get(group) ?? 0];
      const isOpen = open.has(group.split(' ')[0] ?? '');
      expect(isOpen ? Math.min(found, expected) : expected, `${group} after file ${index}`).toBe(found);
    }
  }
}

const isAssumption = (it: Decision): boolean =>
  it.outcome === 'new' ? it.isAssumed : it.reason === 'assumed';

function countBy(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

test(
  `in ${HISTORIES} histories of a bank, no movement is lost or doubled silently`,
  () => {
    fc.assert(fc.property(bankHistories(HISTORIES > 1_000 ? 25 : 12), check), {
      numRuns: HISTORIES,
      seed: SEED,
    });
  },
  HISTORIES * 1_000,
);
