import { type Layout, layoutsOf, type Profile } from '../profile.ts';
import type { Advice } from '../settings.ts';
import { countOf } from '../shared/text.ts';
import { type Cell, quote, type Row, textOf } from './row.ts';

/** A file read as a table. */
export interface ReadTable {
  /** The separator of its columns; null: the columns of a sheet. */
  delimiter: string | null;
  rows: readonly Row[];
}

/** A bank's table has at least a date, an amount and a text. */
const LEAST_COLUMNS = 3;

/** A single common heading, such as Date, may be chance. */
const LEAST_FOUND = 2;

/** Most profiles that a message names, and most headings that it names of each. */
const NAMED = 3;

/**
 * Most characters of the found headings, and of the whole message. The error of an import has 500, and may also name the file in a
 * zip.
 */
const MAX_FOUND = 200;
const MAX_LENGTH = 380;

/** How nearly a profile fits: the row that has most of its headings, and the headings that this row lacks. */
interface Near {
  profile: Layout;
  cells: readonly Cell[];
  missing: readonly string[];
  delimiter: string | null;
}

/**
 * Explains why no profile, or more than one, fits a file, and what to do. Names the headings that were found, and the nearest
 * profiles.
 * @param tables the file, read with each delimiter.
 * @returns sentences, without the last full stop.
 */
export function explainHeadings(
  tables: readonly ReadTable[],
  profiles: readonly Profile[],
  advice: Advice,
): string {
  const layouts = layoutsOf(profiles);
  const folded = tables.map((table) => ({ ...table, rows: foldRows(table.rows) }));
  const fitting = layouts.filter((layout) =>
    folded.some(({ delimiter, rows }) => hasDelimiter(layout, delimiter) && fits(rows, layout)),
  );
  const names = [...new Set(fitting.map(({ name }) => name))];
  if (names.length > 1) {
    const several = `The headings of the file fit several profiles: ${names.join(', ')}`;
    return `${cut(several)}. To choose one, ${advice.profile}`;
  }
  const near = findNearest(tables, layouts);
  const firstRows = tables.flatMap((table) => cellsOf(table).slice(0, 1));
  const heading = near[0]?.cells ?? findHeading(tables) ?? widest(firstRows);
  const found = heading === null ? '' : `: ${listFound(heading)}`;
  const nearest = near.length === 0 ? '' : `. Nearest: ${near.map(describeNear).join('; ')}`;
  const misfit = cut(`The headings of the file fit no profile${found}${nearest}`);
  return `${misfit}. ${advice.page} says how to write a profile`;
}

const cut = (text: string): string => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)} …` : text);

/** The first row that has as many cells as the next one; null if there is no table. Of several tables, the widest counts. */
export function findHeading(tables: readonly ReadTable[]): readonly Cell[] | null {
  const headings = tables.flatMap((table) => {
    const rows = cellsOf(table);
    const heading = rows.find(({ length }, at) => length >= LEAST_COLUMNS && length === rows[at + 1]?.length);
    return heading === undefined ? [] : [heading];
  });
  return widest(headings);
}

const widest = (rows: readonly (readonly Cell[])[]): readonly Cell[] | null =>
  rows.toSorted((a, b) => b.length - a.length)[0] ?? null;

const cellsOf = ({ rows }: ReadTable): (readonly Cell[])[] =>
  rows.flatMap((row) => ('cells' in row ? [row.cells] : []));

const hasDelimiter = (layout: Layout, delimiter: string | null): boolean =>
  delimiter === null || delimiter === layout.delimiter;

/** The profiles of which the file has some headings, each once. Profiles that lack the fewest headings come first. */
function findNearest(tables: readonly ReadTable[], layouts: readonly Layout[]): Near[] {
  const rows = tables.flatMap((table) =>
    cellsOf(table).map((cells) => ({
      cells,
      delimiter: table.delimiter,
      folded: foldRow(cells),
    })),
  );
  const nearest = layouts.flatMap((profile): Near[] => {
    const { heading = [] } = profile;
    const names = foldNames(heading);
    const foundIn = (folded: ReadonlySet<string>) => names.filter((name) => folded.has(name)).length;
    const counts = rows.map(({ folded }) => foundIn(folded));
    const most = Math.max(0, ...counts);
    const row = rows[counts.indexOf(most)];
    if (row === undefined || most < LEAST_FOUND) return [];
    const { cells, delimiter, folded } = row;
    const missing = heading.filter((_, at) => !folded.has(names[at] as string));
    return [{ profile, cells, delimiter, missing }];
  });
  return firstOfEach(nearest.toSorted(byMissing), ({ profile }) => profile.name).slice(0, NAMED);
}

const byMissing = (a: Near, b: Near): number => a.missing.length - b.missing.length;

function describeNear({ profile, missing, delimiter }: Near): string {
  const { name } = profile;
  if (missing.length === 0)
    return `${name}, whose columns are separated by ${showDelimiter(profile.delimiter)} and not by ${showDelimiter(delimiter ?? '')}`;
  const others = missing.length - NAMED;
  const more = others > 0 ? [countOf(others, 'other')] : [];
  return `${name}, which also needs ${[...missing.slice(0, NAMED).map(quote), ...more].join(', ')}`;
}

const showDelimiter = (delimiter: string): string => (delimiter === '\t' ? 'tabs' : quote(delimiter));

function listFound(heading: readonly Cell[]): string {
  const names = heading.filter((cell) => textOf(cell) !== '').map(quote);
  let listed = '';
  for (const name of names) {
    if (listed.length + name.length > MAX_FOUND) return `${listed}, …`;
    listed += listed === '' ? name : `, ${name}`;
  }
  return listed;
}

/** The number of rows in which a heading is searched. Banks write at most some twenty rows about the account above their table. */
export const MAX_ROWS_ABOVE = 100;

/** Words of ASCII with one space between them. */
const PLAIN = /^[!-~]+(?: [!-~]+)*$/;

/**
 * A heading in a form for comparing. All letters outside of ASCII count as equal, so that a file is recognised before its code page
 * is known.
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

/** The folded texts of a row, for comparing it with the headings of all profiles. */
export const foldRow = (cells: readonly Cell[]): ReadonlySet<string> =>
  new Set(cells.map((cell) => foldHeading(textOf(cell))));

export const foldRows = (rows: readonly Row[]): ReadonlySet<string>[] =>
  rows.flatMap((row) => ('cells' in row ? [foldRow(row.cells)] : []));

const foldedNames = new WeakMap<readonly string[], readonly string[]>();

/** The folded headings of a layout. They are compared with every row, so each layout's are folded once. */
function foldNames(heading: readonly string[]): readonly string[] {
  const known = foldedNames.get(heading) ?? heading.map(foldHeading);
  foldedNames.set(heading, known);
  return known;
}

/** Whether a row has all headings of the profile, in any order and perhaps with others. */
export const isHeading = (row: ReadonlySet<string>, heading: readonly string[]): boolean =>
  foldNames(heading).every((name) => row.has(name));

/** The position of a column, from 0; -1 if the table does not have it. The first of several with the same heading counts. */
export function findColumn(column: string | number | undefined, heading: readonly Cell[] | null): number {
  if (column === undefined) return -1;
  if (typeof column === 'number') return column - 1;
  const name = foldHeading(column);
  return heading?.findIndex((cell) => foldHeading(textOf(cell)) === name) ?? -1;
}

/** Whether the heading of the profile is among these rows. */
export const fits = (rows: readonly ReadonlySet<string>[], { heading }: Layout): boolean =>
  heading !== undefined && rows.some((row) => isHeading(row, heading));

/**
 * Finds the layout whose heading is among these rows. @returns null if no profile fits, or several fit and none is the most
 * specific.
 */
export function matchProfile(rows: readonly Row[], profiles: readonly Profile[]): Layout | null {
  const folded = foldRows(rows);
  return chooseLayout(layoutsOf(profiles).filter((layout) => fits(folded, layout)));
}

/**
 * Finds the most specific of several layouts that fit: the layout whose heading contains the headings of all others. Of the
 * layouts of one profile, the one with the most headings counts. Null if there is none.
 */
export function chooseLayout(fitting: readonly Layout[]): Layout | null {
  const widthOf = ({ heading }: Layout) => new Set(heading).size;
  const contains = (wide: Layout, narrow: Layout) =>
    isHeading(foldRow(wide.heading ?? []), narrow.heading ?? []) && widthOf(wide) > widthOf(narrow);
  const widest = fitting.toSorted((a, b) => widthOf(b) - widthOf(a));
  const layouts = firstOfEach(widest, ({ name }) => name);
  return layouts.find((one) => layouts.every((other) => other === one || contains(one, other))) ?? null;
}

const firstOfEach = <T>(all: readonly T[], keyOf: (one: T) => string): T[] =>
  all.filter((one, at) => all.findIndex((other) => keyOf(other) === keyOf(one)) === at);
