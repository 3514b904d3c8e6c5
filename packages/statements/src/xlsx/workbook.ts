import { type Cell, dayZero, type Row } from '../profiles/row.ts';
import { createXmlParser, localName } from '../shared/xml-parser.ts';
import { XlsxError, type Zip } from './zip.ts';

/** Most characters of all shared texts together. Only they must be in memory while a sheet is read. */
const MAX_SHARED_LENGTH = 48 * 1024 * 1024;

/** A sheet, and where it is. */
interface SheetPart {
  /** The name that people see. */
  name: string;
  /** The name of its part. */
  part: string;
}

/** Most sheets of a file. */
const MOST_SHEETS = 250;

interface Workbook {
  sheets: readonly SheetPart[];
  epoch: 1900 | 1904;
  /** Texts that cells refer to by number. */
  sharedTexts: readonly string[];
}

/** Reads the parts that the sheets need (ECMA-376, part 1, sections 18.2 and 18.4). @throws {XlsxError} */
export async function readWorkbook(zip: Zip): Promise<Workbook> {
  const { names, readPart } = zip;
  if (!names.has('xl/workbook.xml')) throw new XlsxError('the file is a zip, and not an XLSX file');
  let epoch: Workbook['epoch'] = 1900;
  const listed: { name: string; id: string }[] = [];
  await readAllXml(readPart('xl/workbook.xml'), {
    open(name, attributes) {
      if (name === 'workbookPr' && /^(1|true)$/.test(attributes.date1904 ?? '')) epoch = 1904;
      if (name === 'sheet') listed.push({ name: attributes.name ?? '', id: attributes['r:id'] ?? '' });
      if (listed.length > MOST_SHEETS) throw new XlsxError(`the file has more than ${MOST_SHEETS} sheets`);
    },
  });
  const targets = await readTargets('xl/_rels/workbook.xml.rels', zip);
  const sheets = listed.map(
    ({ name, id }, at): SheetPart => ({ name, part: targets.get(id) ?? `xl/worksheets/sheet${at + 1}.xml` }),
  );
  // Each part is read once, however many sheets refer to it.
  const parts = new Set<string>();
  const found = (sheets.length > 0 ? sheets : [{ name: '', part: FIRST_PART }]).filter(
    ({ part }) => names.has(part) && !parts.has(part) && parts.add(part),
  );
  if (found.length === 0) throw new XlsxError('the file has no sheet');
  const shared = [...names].find((name) => name.toLowerCase() === 'xl/sharedstrings.xml');
  return {
    sheets: found,
    epoch,
    sharedTexts: shared === undefined ? [] : await readSharedTexts(readPart(shared)),
  };
}

const BASE = 'file:///xl/';

const FIRST_PART = 'xl/worksheets/sheet1.xml';

async function readTargets(part: string, { names, readPart }: Zip): Promise<Map<string, string>> {
  const targets = new Map<string, string>();
  if (!names.has(part)) return targets;
  await readAllXml(readPart(part), {
    open(name, { Id: id, Target: target }) {
      // A target that is no URL names no part of the file.
      if (name === 'Relationship' && id !== undefined && URL.canParse(target ?? ' ', BASE))
        targets.set(id, new URL(target ?? '', BASE).pathname.slice(1));
    },
  });
  return targets;
}

async function readSharedTexts(bytes: AsyncIterable<Uint8Array>): Promise<string[]> {
  const texts: string[] = [];
  let length = 0;
  let current = '';
  let isText = false;
  let isPhonetic = false;
  await readAllXml(bytes, {
    open(name) {
      if (name === 'si') current = '';
      isText = name === 't' && !isPhonetic;
      isPhonetic ||= name === 'rPh';
    },
    text(text) {
      if (!isText) return;
      current += text;
      length += text.length;
      if (length > MAX_SHARED_LENGTH) {
        throw new XlsxError(
          `the texts of the file have more than ${MAX_SHARED_LENGTH / 1024 / 1024} Mi characters`,
        );
      }
    },
    close(name) {
      isText = false;
      if (name === 'rPh') isPhonetic = false;
      if (name === 'si') texts.push(current);
      if (texts.length > MAX_SHARED_LENGTH / 16) throw new XlsxError('the file has too many texts');
    },
  });
  return texts;
}

/** Cells further to the right are not read. */
const MAX_COLUMNS = 256;
/** Characters in the cells of a row. One cell has at most 32,767 in Excel. */
const MAX_ROW_LENGTH = 1024 * 1024;

/**
 * Yields the rows of a sheet (ECMA-376, part 1, section 18.3.1). `line` is the number of the row. Does not read styles, because
 * some banks write broken ones. The profile says whether a number is a date.
 * @throws {XlsxError}
 */
export async function* readSheet(
  bytes: AsyncIterable<Uint8Array>,
  { epoch, sharedTexts }: Pick<Workbook, 'epoch' | 'sharedTexts'>,
): AsyncGenerator<Row[]> {
  let rows: Row[] = [];
  let line = 0;
  let cells: Cell[] = [];
  let column = -1;
  let type = 'n';
  let value = '';
  let isValue = false;
  let rowLength = 0;

  const toCell = (): Cell => {
    if (type === 's') {
      const text = sharedTexts[Number(value)];
      if (text === undefined) throw new XlsxError(`row ${line} refers to a text that the file does not have`);
      return text;
    }
    if (type === 'd') return toDayNumber(value, epoch);
    return type === 'n' && value !== '' ? { number: value.trim(), epoch } : value;
  };

  const sheet = readXml(bytes, {
    open(name, attributes) {
      if (name === 'row') {
        line = toPositive(attributes.r) ?? line + 1;
        cells = [];
        rowLength = 0;
        column = -1;
      } else if (name === 'c') {
        column = toColumn(attributes.r) ?? column + 1;
        type = attributes.t ?? 'n';
        value = '';
      }
      isValue = name === 'v' || name === 't';
    },
    text(text) {
      if (!isValue) return;
      value += text;
      rowLength += text.length;
      if (rowLength > MAX_ROW_LENGTH) throw new XlsxError('a row has more than 1 Mi characters');
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
    // Yields the rows before the place at which the sheet is broken.
    yield rows;
    throw error;
  }
  yield rows;
}

/** A date of ISO 8601 (ECMA-376, part 1, section 18.18.11) as the number of its day, which a profile reads in any of its formats. */
function toDayNumber(value: string, epoch: 1900 | 1904): Cell {
  const time = Date.parse(`${value.slice(0, 10)}T00:00:00Z`);
  return Number.isNaN(time) ? value : { number: String((time - dayZero(epoch)) / 86_400_000), epoch };
}

const toPositive = (text: string | undefined): number | null =>
  text !== undefined && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;

/** The column of a cell such as AB12, from 0. Some programs leave it out. */
function toColumn(reference: string | undefined): number | null {
  const [, letters] = /^([A-Z]{1,3})\d+$/.exec(reference ?? '') ?? [];
  if (letters === undefined) return null;
  return [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

/** A text of a cell has at most 32,767 characters in Excel. The parser holds a text or a tag until it is complete. */
const MAX_PIECE_LENGTH = 256 * 1024;

interface Handlers {
  /** @param name without its namespace prefix. */
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/**
 * Reads XML part by part, and calls the handlers. Yields after each part, so that the caller can take the collected data.
 * @throws {XlsxError} when the XML is not well-formed, has a document type, or has a text or tag longer than 256 KiB.
 */
async function* readXml(bytes: AsyncIterable<Uint8Array>, handlers: Handlers): AsyncGenerator<void> {
  const decoder = new TextDecoder();
  let pieceLength = 0;
  const parser = createXmlParser({
    opentag({ name, attributes }) {
      pieceLength = 0;
      handlers.open?.(localName(name), attributes);
    },
    closetag({ name }) {
      pieceLength = 0;
      handlers.close?.(localName(name));
    },
    text(text) {
      pieceLength = 0;
      handlers.text?.(text);
    },
    doctype() {
      throw new XlsxError('the file has an XML document type, which is not allowed');
    },
    error() {
      throw new XlsxError('the file has broken XML');
    },
  });
  for await (const part of bytes) {
    pieceLength += part.length;
    parser.write(decoder.decode(part, { stream: true }));
    if (pieceLength > MAX_PIECE_LENGTH) throw new XlsxError('a text or a tag is longer than 256 KiB');
    yield;
  }
  parser.write(decoder.decode()).close();
}

/** Reads XML to its end. */
async function readAllXml(bytes: AsyncIterable<Uint8Array>, handlers: Handlers): Promise<void> {
  for await (const _ of readXml(bytes, handlers));
}
