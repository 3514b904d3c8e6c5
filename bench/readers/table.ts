import type { Checked } from './check.ts';
import type { AnyReader, BankFormat } from './reader.ts';
import type { Speed } from './speed.ts';

/** Renders the results of a run as Markdown. */

export interface Line {
  reader: AnyReader;
  checked: Checked;
  speed: Speed;
}

const TITLES: Record<BankFormat, string> = {
  mt940: 'MT940',
  camt: 'CAMT (camt.053)',
  ofx: 'OFX',
  bai2: 'BAI2',
  coda: 'CODA',
  cfonb120: 'CFONB 120',
  norma43: 'Norma 43',
};

/** A package with its version, and with how it is used if there are several ways. */
export const labelOf = ({ name, version, setting }: AnyReader): string =>
  `${name} ${version}${setting === undefined ? '' : `, \`${setting}\``}`;

/** The two lines between which a page has the tables. */
export const MARKS = { begin: '<!-- readers -->', end: '<!-- /readers -->' };

export const renderTable = (format: BankFormat, lines: readonly Line[]): string =>
  [
    `| ${TITLES[format]} | files read | rows right | silent faults | MB/s | released |`,
    '|---|---:|---:|---:|---:|---|',
    ...lines.map(
      ({ reader, checked, speed }) =>
        `| ${labelOf(reader)} | ${share(checked.read, checked.files)} | ${share(checked.right, checked.rows)} | ` +
        `${checked.files === 0 ? '–' : checked.silent.length} | ${renderSpeed(speed)} | ${reader.released ?? 'this version'} |`,
    ),
  ].join('\n');

const share = (part: number, all: number): string => (all === 0 ? '–' : `${part} of ${all}`);

const renderSpeed = (speed: Speed): string =>
  'none' in speed ? `–, ${speed.none}` : speed.megabytes.toFixed(1);

/** @throws when the page lacks one of the two lines. */
export function replaceTables(page: string, text: string): string {
  const { before, after } = around(page);
  return `${before}\n\n${text}\n\n${after}`;
}

/** Finds the text between the two markers of a page. @throws when a marker is missing. */
export const readTables = (page: string): string => around(page).between.trim();

function around(page: string): { before: string; between: string; after: string } {
  const begin = page.indexOf(MARKS.begin) + MARKS.begin.length;
  const end = page.indexOf(MARKS.end, begin);
  if (!page.includes(MARKS.begin) || end === -1)
    throw new Error(`The page needs a line "${MARKS.begin}" and, below it, a line "${MARKS.end}"`);
  return { before: page.slice(0, begin), between: page.slice(begin, end), after: page.slice(end) };
}
