import type { Cell, Row } from '../profiles/row.ts';
import type { Workbook } from './workbook.ts';
import { XlsxError } from './xlsx-error.ts';
import { readXml } from './xml.ts';

/** Cells further to the right are not read. */
const MAX_COLUMNS = 256;

/**
 * Yields the rows of a sheet (ECMA-376, part 1, section 18.3.1). `line` is the number of the row. Styles are not read, since some
 * banks write broken ones: whether a number is a date is known from the profile.
 * @throws {XlsxError}
 */
export async function* readSheet(
  bytes: AsyncIterable<Uint8Array>,
  { epoch, sharedTexts }: Workbook,
): AsyncGenerator<Row[]> {
  let rows: Row[] = [];
  let line = 0;
  let cells: Cell[] = [];
  let column = -1;
  let type = 'n';
  let value = '';
  let isValue = false;

  const toCell = (): Cell => {
    if (type === 's') {
      const text = sharedTexts[Number(value)];
      if (text === undefined) throw new XlsxError(`row ${line} refers to a text that the file does not have`);
      return text;
    }
    return type === 'n' && value !== '' ? { number: value.trim(), epoch } : value;
  };

  const sheet = readXml(bytes, {
    open(name, attributes) {
      if (name === 'row') {
        line = toPositive(attributes.r) ?? line + 1;
        cells = [];
        column = -1;
      } else if (name === 'c') {
        column = toColumn(attributes.r) ?? column + 1;
        type = attributes.t ?? 'n';
        value = '';
      }
      isValue = name === 'v' || name === 't';
    },
    text(text) {
      if (isValue) value += text;
    },
    close(name) {
      isValue = false;
      if (name === 'c' && column < MAX_COLUMNS) {
        while (cells.length < column) cells.push('');
        cells[column] = toCell();
      } else if (name === 'row') rows.push({ line, cells });
    },
  });
  try {
    for await (const _ of sheet) {
      if (rows.length > 0) yield rows;
      rows = [];
    }
  } catch (error) {
    // The rows before the place at which the sheet is broken.
    yield rows;
    throw error;
  }
  yield rows;
}

const toPositive = (text: string | undefined): number | null =>
  text !== undefined && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;

/** The column of a cell such as AB12, from 0. Some programs leave it out. */
function toColumn(reference: string | undefined): number | null {
  const [, letters] = /^([A-Z]{1,3})\d+$/.exec(reference ?? '') ?? [];
  if (letters === undefined) return null;
  return [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}
