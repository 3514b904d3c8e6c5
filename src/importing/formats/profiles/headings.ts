import type { Profile } from './profile.ts';
import { type Cell, type Row, textOf } from './row.ts';

/** How far from the start a heading is looked for. Banks write at most some twenty rows about the account above their table. */
export const MAX_ROWS_ABOVE = 100;

/** Words of ASCII with one space between them. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/**
 * A heading for comparing. Letters outside of ASCII count as one and the same, so that a file is also recognised before it is
 * known in which code page it was written.
 */
export function foldHeading(text: string): string {
  if (PLAIN.test(text)) return text.toLowerCase();
  return text
    .normalize('NFC')
    .replaceAll(/[\u0080-\uFFFF]/g, '?')
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Whether the row has all headings of the profile, in any order and perhaps with others. */
export function isHeading(cells: readonly Cell[], heading: readonly string[]): boolean {
  const found = new Set(cells.map((cell) => foldHeading(textOf(cell))));
  return heading.every((name) => found.has(foldHeading(name)));
}

/** The position of a column, from 0; -1 if the table does not have it. The first of several with the same heading counts. */
export function findColumn(column: string | number | undefined, heading: readonly Cell[] | null): number {
  if (column === undefined) return -1;
  if (typeof column === 'number') return column - 1;
  const name = foldHeading(column);
  return heading?.findIndex((cell) => foldHeading(textOf(cell)) === name) ?? -1;
}

/**
 * Finds the profile whose heading is among these rows. If several fit, the one whose heading contains the headings of all others
 * is the more specific one.
 * @returns null if none fits, or several do and none of them contains the others.
 */
export function matchProfile(rows: readonly Row[], profiles: readonly Profile[]): Profile | null {
  const matches = profiles.filter(
    ({ heading }) =>
      heading !== undefined && rows.some((row) => 'cells' in row && isHeading(row.cells, heading)),
  );
  const contains = (wide: Profile, narrow: Profile) =>
    isHeading(wide.heading ?? [], narrow.heading ?? []) &&
    new Set(wide.heading).size > new Set(narrow.heading).size;
  return (
    matches.find((profile) => matches.every((other) => other === profile || contains(profile, other))) ?? null
  );
}
