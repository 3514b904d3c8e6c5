import { isEncoding } from '../encodings.ts';
import { WEB_PAGE } from '../other-kinds.ts';
import type { Profile } from '../profile.ts';
import type { Row } from '../profiles/row.ts';
import { readSheets } from '../profiles/sheets.ts';
import { inMib, type ReadSettings } from '../settings.ts';
import type { StatementEvent, StatementParser } from '../statement.ts';
import { UnreadableFileError } from '../unreadable.ts';
import { createPage } from './page.ts';

/** Reads pages of HTML, which some banks name .xls, because spreadsheet programs open them. */

const CHARSET = /\bcharset\s{0,5}=\s{0,5}["']?([\w-]{1,40})/i;

/** The encoding that a page names (HTML Standard, 4.2.5.4). undefined: none that is known. */
export function encodingOfPage(start: string): string | undefined {
  const [, name] = CHARSET.exec(start) ?? [];
  return name !== undefined && isEncoding(name) ? name.toLowerCase() : undefined;
}

/** How many characters are read in one pass. */
const SLICE = 64 * 1024;

/** A table of movements has a date, a text and an amount. */
const LEAST_CELLS = 3;

/** Creates the parser of pages. A page is read as one sheet. @param profiles like those of `createXlsxParser`. */
export const createHtmlParser = (
  profiles: readonly Profile[],
  { limits: { xlsxBytes }, advice }: ReadSettings,
): StatementParser =>
  async function* parseHtml(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
    let all = '';
    for await (const part of text) {
      all += part;
      if (all.length > xlsxBytes)
        throw new UnreadableFileError(`The file has more than ${inMib(xlsxBytes)}.`);
    }
    if (!(await hasTable(all)))
      throw new UnreadableFileError(`The file is ${WEB_PAGE.title}: ${WEB_PAGE.advice}.`);
    const sheet = { name: 'page', rows: () => readPage(all) };
    yield* readSheets([sheet], { profiles, advice, explain: rethrow });
  };

async function hasTable(text: string): Promise<boolean> {
  for await (const rows of readPage(text))
    if (rows.some((row) => 'cells' in row && row.cells.length >= LEAST_CELLS)) return true;
  return false;
}

async function* readPage(text: string): AsyncGenerator<Row[]> {
  const page = createPage();
  for (let at = 0; at < text.length; at += SLICE) yield page.write(text.slice(at, at + SLICE));
  yield page.end();
}

/** A page is read to its end, whatever it has. */
function rethrow(error: unknown): never {
  throw error;
}
