import { groupOf } from './books.ts';
import { areAmong, countEach } from './comparison/counts.ts';
import type { ReceivedStatement, Statement, StatementRow, StoredStatement } from './statement.ts';

/** Finds the statements of a file that contradict stored ones: the bank has replaced a statement, or a file is not what it seems. */

/** A statement of the file, by its index, and a stored statement that it contradicts. */
export interface Contradiction {
  statement: number;
  stored: StoredStatement;
}

/** The most contradictions that are looked for in a file, and the most stored statements that each statement is compared with. */
const MOST = 100;
const MOST_COMPARED = 16;

/**
 * Finds stored statements that a statement of the file contradicts. Both are final, in one format, and begin with the same balance, if they
 * have one, and do not end with the same. They have the same number and days in common, or the same days and an opening balance. Each has a
 * row in the common days that the other does not have, so a longer or a shorter version of a statement contradicts nothing.
 * @param options.useNumbers whether the account's statement numbers may be believed.
 * @returns at most 100, in the order of the file.
 */
export function findContradictions(
  stored: readonly StoredStatement[],
  received: readonly ReceivedStatement[],
  { useNumbers }: { useNumbers: boolean },
): Contradiction[] {
  const byKey = new Map<string, StoredStatement[]>();
  for (const it of stored)
    for (const key of keysOf(it, useNumbers))
      byKey.set(key, [...(byKey.get(key) ?? []), it].slice(0, MOST_COMPARED));
  const found: Contradiction[] = [];
  for (const [statement, it] of received.entries()) {
    const others = new Set(keysOf(it, useNumbers).flatMap((key) => byKey.get(key) ?? []));
    for (const other of others) {
      if (found.length === MOST) return found;
      if (haveOtherRows(it, other)) found.push({ statement, stored: other });
    }
  }
  return found;
}

/** What two statements have in common that may contradict each other. */
function keysOf(
  { kind, format, number, sequence, from, to, opening }: Statement,
  useNumbers: boolean,
): string[] {
  if (kind !== 'final' || from === null || to === null) return [];
  const named = useNumbers && number !== null ? [`${format} ${opening} number ${number} ${sequence}`] : [];
  return opening === null ? named : [...named, `${format} ${opening} days ${from} ${to}`];
}

/** Whether each of two statements has a row in their common days that the other does not have. */
function haveOtherRows(one: Statement, other: Statement): boolean {
  if (one.closing !== null && one.closing === other.closing) return false;
  const [from, to] = [later(one.from, other.from), earlier(one.to, other.to)];
  if (from > to) return false;
  const rowsOf = ({ rows }: Statement) => rows.filter(({ day }) => day >= from && day <= to);
  const [rows, others] = [rowsOf(one), rowsOf(other)];
  return (
    !areAmong(rows, rowKey, countEach(others.map(rowKey))) &&
    !areAmong(others, rowKey, countEach(rows.map(rowKey)))
  );
}

const rowKey = (row: StatementRow): string => groupOf(row);

const later = (one: string | null, other: string | null): string =>
  ((one ?? '') > (other ?? '') ? one : other) ?? '';
const earlier = (one: string | null, other: string | null): string =>
  ((one ?? '') < (other ?? '') ? one : other) ?? '';
