import { START_BYTES, type StatementFormat, type StatementFormats } from '../statements/formats.ts';
import { lookAhead, peek } from '../statements/peek.ts';
import type { StatementEvent } from '../statements/statement.ts';
import { type UnpackedFile, unpack } from '../statements/unpack.ts';
import { ADVICE, UnreadableFileError } from '../statements/unreadable.ts';
import type { Row } from './rows.ts';
import { type FindAccount, readStatementRows } from './statement-rows.ts';

/** Reads a file of statements, packed or not, and yields its rows. */

/** How the format of a file is recognised. */
export interface Recognition {
  formats: StatementFormats;
  /** The format that the sender named; `auto`: the content decides. */
  format: StatementFormat | 'auto';
  /** The profile of a CSV or XLSX file; null: the one whose heading the file has. */
  profile: string | null;
}

/** How a file is to be read. */
export interface ReadOptions extends Recognition {
  findAccount: FindAccount;
}

/**
 * Yields the rows of a file.
 * @throws {UnreadableFileError} when it cannot be read at all, or nothing in it is recognised.
 */
export async function* readStatementFile(
  parts: AsyncIterable<Uint8Array>,
  { formats, format, profile, findAccount }: ReadOptions,
): AsyncGenerator<Row[]> {
  for await (const file of unpack(parts)) {
    const { name } = file;
    const { found, events } = await openFile(file, { formats, format, profile });
    let isRecognised = false;
    for await (const rows of readStatementRows(events, findAccount, { format: found, file: name })) {
      isRecognised ||= rows.length > 0;
      yield name === null ? rows : rows.map((row) => nameFile(row, name));
    }
    if (!isRecognised) throw new UnreadableFileError(`${nameOf(file)} contains no statement.`);
  }
}

/** Unpacked bytes are recognised by their beginning, which takes far fewer bytes than this to unpack. */
const MAX_BEGINNING = 256 * 1024;

/**
 * Checks the beginning of what was sent: of the file, or of the first one in a zip.
 * @returns the whole stream, the beginning included.
 * @throws {UnreadableFileError} when an import would fail before its first row, and the beginning shows it.
 */
export function checkBeginning(
  sent: AsyncIterable<Uint8Array>,
  recognition: Recognition,
): Promise<AsyncIterable<Uint8Array>> {
  return lookAhead(
    sent,
    async (beginning) => {
      const { value: file } = await unpack(beginning).next();
      if (file) await openFile(file, recognition);
    },
    MAX_BEGINNING,
  );
}

/** Sees from the beginning of a file which format it is in, and how it is read. @throws {UnreadableFileError} */
async function openFile(
  file: UnpackedFile,
  { formats, format, profile }: Recognition,
): Promise<{ found: StatementFormat; events: AsyncIterable<StatementEvent[]> }> {
  const { start, bytes } = await peek(file.bytes, START_BYTES);
  const started = { start: start.subarray(0, START_BYTES), bytes };
  if (start.length === 0) throw new UnreadableFileError(`${nameOf(file)} is empty.`, ADVICE.empty);
  // Whoever names a profile has a table. A workbook is detected, so it is CSV.
  const table = profile === null ? null : 'csv';
  const found = format === 'auto' ? (formats.detect(started.start) ?? table) : format;
  if (found === null) {
    throw new UnreadableFileError(`${nameOf(file)} is in no format that is supported.`, FORMAT_ADVICE);
  }
  return { found, events: formats.parse(started, found, profile) };
}

const FORMAT_ADVICE = `Supported are MT940, MT942, CAMT (camt.052, camt.053 and camt.054), OFX, QFX, BAI2, and CSV and XLSX with the headings of a profile, each also in gzip or zip. If it is one of these, ${ADVICE.format}. For a CSV or XLSX file of another bank, write a profile: docs/formats/csv.md. ${ADVICE.type}`;

const nameOf = ({ name }: UnpackedFile): string =>
  name === null ? 'The file' : `The file ${name.slice(-80)} in the zip`;

/** Says in what the row tells people which file it is about. */
function nameFile(row: Row, fileName: string): Row {
  const within = (message: string) => `${fileName.slice(-80)}: ${message}`;
  if ('warning' in row) return { ...row, warning: within(row.warning) };
  return 'issue' in row && row.issue !== null ? { ...row, issue: within(row.issue) } : row;
}
