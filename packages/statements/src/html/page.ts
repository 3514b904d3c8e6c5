import { Parser } from 'htmlparser2';
import { MAX_ROWS_ABOVE } from '../profiles/headings.ts';
import type { Row } from '../profiles/row.ts';
import { squeeze } from '../shared/text.ts';
import { UnreadableFileError } from '../unreadable.ts';

/** The rows of all tables of a page of HTML, with the texts above them. Nothing of the page is run or loaded. */

/** Cells further to the right are not read, as in a sheet. */
const MOST_COLUMNS = 256;
/** Most characters of a cell. Excel has as many. */
const MOST_CELL_LENGTH = 32_767;
/** Tables within tables: those further within are read as texts. */
const MOST_NESTED = 32;
/** The parser keeps a list of open tags, and some pages never end theirs. */
const MOST_OPEN = 10_000;

/** Their texts are no texts of the page. */
const UNSEEN = new Set(['script', 'style', 'title', 'template', 'noscript', 'svg']);

/** Tags that do not end the text that they stand in. */
const INLINE = new Set(
  'a abbr b bdi bdo big cite code em font i label mark nobr q s small span strike strong sub sup tt u var wbr'.split(
    ' ',
  ),
);

/** A row that has begun. */
interface OpenRow {
  cells: string[];
  /** The text of the open cell; null: none is open. */
  text: string | null;
  /** How many columns the open cell has. */
  columns: number;
  /** A cell has a table within. The texts beside it are no movement. */
  isLayout: boolean;
}

interface Page {
  /** Reads a part of the page, and returns the rows that have ended. */
  write(text: string): Row[];
  end(): Row[];
}

/**
 * Creates a reader of pages. Each row of a table is a row, and each text above a table a row of one cell. `line` counts rows from 1. A cell of
 * several columns is the first of them, as a spreadsheet program shows it. A table within a cell has rows of its own, below the texts before it.
 */
export function createPage(): Page {
  const rows: Row[] = [];
  let line = 0;
  /** The rows that are open, the innermost last. */
  const open: OpenRow[] = [];
  /** The texts since the last table. Those after the last one of the page are left out. */
  let outside: string[] = [''];
  let unseen = 0;
  let depth = 0;

  const push = (cells: string[]) => {
    if (cells.every((cell) => cell === '')) return;
    line += 1;
    rows.push({ line, cells });
  };
  const endCell = (row: OpenRow) => {
    if (row.text === null) return;
    const text = squeeze(row.text);
    row.text = null;
    if (row.cells.length < MOST_COLUMNS) row.cells.push(text);
    for (let at = 1; at < row.columns && row.cells.length < MOST_COLUMNS; at += 1) row.cells.push('');
  };
  const endRow = () => {
    const row = open.pop();
    if (row === undefined) return;
    endCell(row);
    if (!row.isLayout) push(row.cells);
  };
  const beginRow = () => {
    // A row that was not ended ends here, unless this one is of a table within its cell.
    if (open.at(-1)?.text === null) endRow();
    if (open.length === MOST_NESTED) return;
    const around = open.at(-1);
    if (around === undefined) for (const text of outside.splice(0)) push([squeeze(text)]);
    else if (!around.isLayout) {
      push([...around.cells, squeeze(around.text ?? '')]);
      around.isLayout = true;
    }
    open.push({ cells: [], text: null, columns: 1, isLayout: false });
  };
  const beginCell = (row: OpenRow, colspan: string | undefined) => {
    endCell(row);
    row.text = '';
    row.columns = /^\d{1,3}$/.test(colspan ?? '') ? Math.min(Number(colspan), MOST_COLUMNS) : 1;
  };
  const cut = (text: string, more: string) => text + more.slice(0, MOST_CELL_LENGTH - text.length);
  const add = (text: string) => {
    const row = open.at(-1);
    if (row === undefined) outside.push(cut(outside.pop() ?? '', text));
    else if (row.text !== null) row.text = cut(row.text, text);
  };
  const separate = () => {
    if (open.length > 0) add(' ');
    else if (outside.at(-1)?.trim() !== '') outside = [...outside.slice(1 - MAX_ROWS_ABOVE), ''];
  };

  const parser = new Parser({
    onopentag(name, { colspan }) {
      depth += 1;
      if (depth > MOST_OPEN)
        throw new UnreadableFileError(`The page has more than ${MOST_OPEN} tags within each other.`);
      if (UNSEEN.has(name)) unseen += 1;
      const row = open.at(-1);
      if (name === 'tr') beginRow();
      else if (isCell(name) && row !== undefined) beginCell(row, colspan);
      else if (!INLINE.has(name)) separate();
    },
    ontext(text) {
      if (unseen === 0) add(text);
    },
    onclosetag(name) {
      depth -= 1;
      if (UNSEEN.has(name)) unseen = Math.max(0, unseen - 1);
      const row = open.at(-1);
      if (name === 'tr') endRow();
      else if (isCell(name) && row !== undefined) endCell(row);
      else if (!INLINE.has(name)) separate();
    },
  });
  return {
    write(text) {
      parser.write(text);
      return rows.splice(0);
    },
    end() {
      parser.end();
      while (open.length > 0) endRow();
      return rows.splice(0);
    },
  };
}

const isCell = (name: string): boolean => name === 'td' || name === 'th';
