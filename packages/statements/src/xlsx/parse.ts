import type { Profile } from '../profile.ts';
import { explainHeadings, MAX_ROWS_ABOVE, matchProfile } from '../profiles/headings.ts';
import type { Row } from '../profiles/row.ts';
import { createTableReader, type TableReader } from '../profiles/table.ts';
import { inMib, type Limits, type ReadSettings } from '../settings.ts';
import { concat } from '../shared/bytes.ts';
import type { StatementEvent } from '../statement.ts';
import { readSheet, readWorkbook } from './workbook.ts';
import { openZip, XlsxError } from './zip.ts';

/**
 * Creates the parser of XLSX files. It reads the first sheet.
 * @param profiles the profile to use, or several profiles of which one must fit, because the sheet is not known before it is
 * unpacked.
 */
export const createXlsxParser = (profiles: readonly Profile[], { limits, advice }: ReadSettings) =>
  async function* parseXlsx(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<StatementEvent[]> {
    let rows: AsyncGenerator<Row[]>;
    try {
      const zip = openZip(await readFile(bytes, limits), limits);
      const workbook = await readWorkbook(zip);
      await zip.checkPart(workbook.sheet);
      rows = readSheet(zip.readPart(workbook.sheet), workbook);
    } catch (error) {
      yield [unreadable(messageOf(error))];
      return;
    }
    const start: Row[] = [];
    let table: TableReader | null = null;
    let breakOff: string | undefined;
    try {
      for await (const batch of rows) {
        if (table === null) start.push(...batch);
        else yield table.read(batch);
        if (table !== null || start.length < MAX_ROWS_ABOVE) continue;
        table = chooseTable(start, profiles);
        if (table === null) break;
        yield table.read(start);
      }
    } catch (error) {
      breakOff = messageOf(error);
    }
    if (table === null && start.length < MAX_ROWS_ABOVE) {
      table = chooseTable(start, profiles);
      if (table !== null) yield table.read(start);
    }
    if (table !== null) yield* table.end(breakOff);
    else
      yield [unreadable(breakOff ?? explainHeadings([{ delimiter: null, rows: start }], profiles, advice))];
  };

function chooseTable(start: readonly Row[], profiles: readonly Profile[]): TableReader | null {
  // If a named profile does not fit, its reader says which headings are missing.
  const [first, ...others] = profiles;
  const layout = matchProfile(start, profiles) ?? (others.length === 0 ? first : undefined);
  return layout === undefined ? null : createTableReader(layout, { mayBeCut: false });
}

async function readFile(bytes: AsyncIterable<Uint8Array>, { xlsxBytes }: Limits): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of bytes) {
    length += part.length;
    if (length > xlsxBytes) throw new XlsxError(`the file has more than ${inMib(xlsxBytes)}`);
    parts.push(part);
  }
  return concat(parts);
}

const unreadable = (message: string): StatementEvent => ({ type: 'issue', line: 1, path: 'file', message });

/** @throws errors that are not about the file, such as a connection that broke during reading. */
function messageOf(error: unknown): string {
  if (error instanceof XlsxError) return error.message;
  throw error;
}
