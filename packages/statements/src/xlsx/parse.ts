import type { Profile } from '../profile.ts';
import { readSheets, unreadable } from '../profiles/sheets.ts';
import { inMib, type Limits, type ReadSettings } from '../settings.ts';
import { concat } from '../shared/bytes.ts';
import type { StatementEvent } from '../statement.ts';
import { readSheet, readWorkbook } from './workbook.ts';
import { openZip, XlsxError, type Zip } from './zip.ts';

/**
 * Creates the parser of XLSX files.
 * @param profiles the profile to use, or several profiles of which one must fit, because the sheets are not known before they are
 * unpacked.
 */
export const createXlsxParser = (profiles: readonly Profile[], { limits, advice }: ReadSettings) =>
  async function* parseXlsx(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<StatementEvent[]> {
    let zip: Zip;
    let workbook: Awaited<ReturnType<typeof readWorkbook>>;
    try {
      zip = openZip(await readFile(bytes, limits), limits);
      workbook = await readWorkbook(zip);
      await checkSheets(zip, workbook, limits);
    } catch (error) {
      yield [unreadable(messageOf(error))];
      return;
    }
    const sheets = workbook.sheets.map(({ name, part }) => ({
      name,
      rows: () => readSheet(zip.readPart(part), workbook),
    }));
    yield* readSheets(sheets, { profiles, advice, explain: messageOf });
  };

/** Unpacks all sheets, so that nothing of a broken or too large file is read. @throws {XlsxError} */
async function checkSheets(
  zip: Zip,
  { sheets }: { sheets: readonly { part: string }[] },
  { unpackedBytes }: Limits,
): Promise<void> {
  let bytes = 0;
  for (const { part } of sheets) {
    bytes += await zip.checkPart(part);
    if (bytes > unpackedBytes)
      throw new XlsxError(`the sheets of the file have more than ${inMib(unpackedBytes)} when unpacked`);
  }
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

/** @throws errors that are not about the file, such as a connection that broke during reading. */
function messageOf(error: unknown): string {
  if (error instanceof XlsxError) return error.message;
  throw error;
}
