import type { identify } from '../../../src/imports/identity/identify.ts';
import type { Decision } from '../../../src/imports/identity/statement.ts';
import type { BankFile, BankHistory } from './bank.ts';
import { createBooks } from './books.ts';

/** What is wrong with the books after a file. */
export interface WrongBooks {
  group: string;
  file: number;
  stored: number;
  booked: number;
}

const groupOf = ({ day, amount }: { day: string; amount: bigint }) => `${day} ${amount}`;

/**
 * Sends the files of a bank in memory. After each file, the stored movements of each day of which all final statements have come are the
 * bank's, by day and amount; on the other days, none is too much. An exception is a day and amount of which a row was an assumption.
 * @returns the first thing that is wrong, and how many days and amounts there are, and were assumed.
 */
export function sendAll(
  { bookings, files, finals }: BankHistory,
  decide?: typeof identify,
): { wrong: WrongBooks | null; assumed: number; groups: number } {
  const books = createBooks({}, decide);
  const sent = new Set<BankFile>();
  const assumed = new Set<string>();
  const booked = countBy(bookings.map(groupOf));
  let wrong: WrongBooks | null = null;
  for (const [index, file] of files.entries()) {
    const [decisions = []] = books.receive(file);
    sent.add(file);
    for (const [position, decision] of decisions.entries())
      if (isAssumption(decision)) assumed.add(groupOf(file.rows[position] as BankFile['rows'][number]));
    const open = new Set(finals.filter((it) => !sent.has(it)).map(({ to }) => to));
    const stored = countBy(books.movements.map(groupOf));
    for (const group of new Set([...stored.keys(), ...booked.keys()])) {
      const [found, expected] = [stored.get(group) ?? 0, booked.get(group) ?? 0];
      const isRight = found === expected || (found < expected && open.has(group.split(' ')[0] ?? ''));
      if (!isRight && !assumed.has(group)) wrong ??= { group, file: index, stored: found, booked: expected };
    }
  }
  return { wrong, assumed: assumed.size, groups: booked.size };
}

const isAssumption = (it: Decision): boolean =>
  it.outcome === 'new' ? it.isAssumed : it.outcome === 'known' && it.reason === 'assumed';

function countBy(keys: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}
