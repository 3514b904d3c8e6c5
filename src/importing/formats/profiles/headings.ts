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

/** The texts of a row, folded. A row of a file is compared with the headings of all profiles. */
export const foldRow = (cells: readonly Cell[]): ReadonlySet<string> =>
  new Set(cells.map((cell) => foldHeading(textOf(cell))));

export const foldRows = (rows: readonly Row[]): ReadonlySet<string>[] =>
  rows.flatMap((row) => ('cells' in row ? [foldRow(row.cells)] : []));

/** Whether a row has all headings of the profile, in any order and perhaps with others. */
export const isHeading = (row: ReadonlySet<string>, heading: readonly string[]): boolean =>
  heading.every((name) => row.has(foldHeading(name)));

/** The position of a column, from 0; -1 if the table does not have it. The first of several with the same heading counts. */
export function findColumn(column: string | number | undefined, heading: readonly Cell[] | null): number {
  if (column === undefined) return -1;
  if (typeof column === 'number') return column - 1;
  const name = foldHeading(column);
  return heading?.findIndex((cell) => foldHeading(textOf(cell)) === name) ?? -1;
}

/** Whether the heading of the profile is among these rows. */
export const fits = (rows: readonly ReadonlySet<string>[], { heading }: Profile): boolean =>
  heading !== undefined && rows.some((row) => isHeading(row, heading));

/** Finds the profile whose heading is among these rows. @returns null if none fits, or several do and none is more specific. */
export function matchProfile(rows: readonly Row[], profiles: readonly Profile[]): Profile | null {
  const folded = foldRows(rows);
  return chooseProfile(profiles.filter((profile) => fits(folded, profile)));
}

/** Finds, of several profiles that fit, the most specific one: its heading contains the headings of all others. Null: none does. */
export function chooseProfile(profiles: readonly Profile[]): Profile | null {
  const contains = (wide: Profile, narrow: Profile) =>
    isHeading(foldRow(wide.heading ?? []), narrow.heading ?? []) &&
    new Set(wide.heading).size > new Set(narrow.heading).size;
  return (
    profiles.find((profile) => profiles.every((other) => other === profile || contains(profile, other))) ??
    null
  );
}
