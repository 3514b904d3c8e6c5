import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeMachine } from './machine.ts';
import { drawPicture } from './picture.ts';
import { mergeReports, type Report, type Result } from './summary.ts';
import { renderMarkdown, renderTerminal } from './table.ts';

const RESULTS = 'bench/results';
const PICTURE = 'bench/performance.svg';
const PAGE = 'bench/README.md';
/** The text above the table of the page. */
const PICTURED = [
  '![Each wanted ratio as a bar, with a mark where it should be](performance.svg)',
  '',
  'A bar is the median of the rounds, the whisker goes from the least to the greatest, the thick mark is what is wanted.',
  '',
];
/** The benchmark writes what is between these two lines of the page. */
const TABLE = { begin: '<!-- table: npm run bench -->', end: '<!-- end of the table -->' };

/**
 * Prints the table, or JSON.
 * @param keep also writes bench/results/<date>.json, the picture and the table of bench/README.md, below the working
 * directory. They keep what earlier runs measured of other figures, or on another database server.
 */
export async function writeReport(
  results: readonly Result[],
  { json, keep }: { json: boolean; keep: boolean },
): Promise<void> {
  const report: Report = {
    date: new Date().toISOString().slice(0, 10),
    ...(await describeMachine()),
    results,
  };
  console.log(json ? JSON.stringify(report, null, 2) : renderTerminal(report).join('\n'));
  if (!keep) return;
  await mkdir(RESULTS, { recursive: true });
  const merged = mergeReports((await readNewest()) ?? report, report);
  await writeFile(join(RESULTS, `${report.date}.json`), `${JSON.stringify(merged, null, 2)}\n`);
  await writeFile(PICTURE, drawPicture(merged.results));
  await writeFile(PAGE, replaceTable(await readFile(PAGE, 'utf8'), [...PICTURED, ...renderMarkdown(merged)]));
}

/** Reads what earlier runs have kept. Each file has all that was measured before it. */
async function readNewest(): Promise<Report | null> {
  const newest = (await readdir(RESULTS)).sort().at(-1);
  return newest === undefined ? null : JSON.parse(await readFile(join(RESULTS, newest), 'utf8'));
}

/** @throws when the page lacks one of the two lines around its table. */
export function replaceTable(page: string, table: readonly string[]): string {
  const begin = page.indexOf(TABLE.begin);
  const end = page.indexOf(TABLE.end, begin);
  if (begin === -1 || end === -1) {
    throw new Error(`${PAGE} needs a line "${TABLE.begin}" and, below it, a line "${TABLE.end}"`);
  }
  return `${page.slice(0, begin + TABLE.begin.length)}\n\n${table.join('\n')}\n\n${page.slice(end)}`;
}
