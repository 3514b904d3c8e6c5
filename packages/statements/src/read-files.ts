import type { StatementFormat } from './format-names.ts';
import { findOtherKind, type OtherKind } from './other-kinds.ts';
import { lookAhead, peek, START_BYTES } from './peek.ts';
import type { Advice, ReadSettings } from './settings.ts';
import { toLatin1 } from './shared/bytes.ts';
import { type UnpackedFile, unpack } from './shared/unpack.ts';
import type { StatementEvent } from './statement.ts';
import { UnreadableFileError } from './unreadable.ts';

/** Reads a file of statements, or a zip of several. */

/** How the format of a file is recognised. */
export interface Recognition {
  /** The format that the sender named; `auto`: the content decides. */
  format: StatementFormat | 'auto';
  /** The profile of a CSV or XLSX file; null: the one whose heading the file has. */
  profile: string | null;
  /**
   * Of text that is not UTF-8: one for all files, or one for the files whose beginning names an account. null or left out: the file or its
   * letters say it.
   */
  encoding?: string | readonly AccountEncoding[] | null;
}

/** The encoding of the files that name an account. */
export interface AccountEncoding {
  /** An IBAN or a number. */
  account: string;
  encoding: string;
}

const chooseEncoding = (start: Uint8Array, encoding: Recognition['encoding']): string | null => {
  if (encoding === undefined || encoding === null || typeof encoding === 'string') return encoding ?? null;
  if (encoding.length === 0) return null;
  const plain = (text: string) => text.replaceAll(/[^A-Za-z0-9]/g, '').toUpperCase();
  const text = plain(toLatin1(start));
  return encoding.find(({ account }) => text.includes(asWritten(plain(account))))?.encoding ?? null;
};

/** CFONB 120 and Norma 43 write the parts of an IBAN in other places, so that only its account number stands in a file as it is. */
function asWritten(account: string): string {
  if (/^ES\d{22}$/.test(account)) return account.slice(14);
  return /^(?:FR|MC)\d{12}[0-9A-Z]{11}\d{2}$/.test(account) ? account.slice(14, 25) : account;
}

/** The beginning of a file, events of the file that began last, or the result of a file of a zip. */
export type FileEvent =
  | {
      /** The file's name within a zip; null: it did not come in a zip. */
      file: string | null;
      format: StatementFormat;
    }
  | { events: StatementEvent[] }
  | { member: MemberOutcome };

/** The result of reading a file of a zip. */
export interface MemberOutcome {
  name: string;
  /** `skipped`: the file holds no statements. `failed`: the file should hold some, and cannot be read, or not to its end. */
  outcome: 'read' | 'skipped' | 'failed';
  /** null: the format is not known. */
  format: StatementFormat | null;
  statements: number;
  entries: number;
  /** Why the file was skipped or has failed; null: the file was read. */
  message: string | null;
}

export { START_BYTES } from './peek.ts';

/** A file whose beginning has been read. `bytes` yields all of it, the beginning included. */
export interface StartedFile {
  start: Uint8Array;
  bytes: AsyncIterable<Uint8Array>;
}

/** Recognises and parses single files. */
export interface FileFormats {
  settings: ReadSettings;
  /** Recognises a file by its content; null: its format is not known. */
  detect(start: Uint8Array): StatementFormat | null;
  /**
   * Parses a file.
   * @param profile the name of a profile, for CSV and XLSX; null: the one whose heading the file has.
   * @param encoding of text that is not UTF-8; null: the file or its letters say it.
   * @throws {UnreadableFileError} when no profile fits.
   */
  parse(
    file: StartedFile,
    format: StatementFormat,
    profile: string | null,
    encoding?: string | null,
  ): AsyncIterable<StatementEvent[]>;
}

/**
 * Yields the events of each file. A file in a zip that cannot be read does not end the reading.
 * @throws {UnreadableFileError} when the file that was sent cannot be read or unpacked, or nothing in it is recognised.
 */
export async function* readFiles(
  formats: FileFormats,
  parts: AsyncIterable<Uint8Array>,
  recognition: Recognition,
): AsyncGenerator<FileEvent> {
  let hasStatement = false;
  let reason: UnreadableFileError | null = null;
  for await (const file of unpack(parts, formats.settings.limits)) {
    const outcome: MemberOutcome = {
      ...{ name: file.name ?? '', outcome: 'read', format: null },
      ...{ statements: 0, entries: 0, message: null },
    };
    try {
      yield* readFile(formats, file, recognition, outcome);
    } catch (error) {
      if (!(error instanceof UnreadableFileError) || error.kind === 'archive' || file.name === null)
        throw error;
      if (outcome.format !== null) yield { events: [{ type: 'end', line: 1, closing: null }] };
      reason ??= error;
      outcome.outcome = error.kind === 'no statements' ? 'skipped' : 'failed';
      outcome.message = error.message;
    }
    hasStatement ||= outcome.statements > 0;
    if (file.name !== null) yield { member: outcome };
  }
  if (!hasStatement && reason !== null) throw reason;
}

/** Yields the events of one file, and counts them. @throws {UnreadableFileError} */
async function* readFile(
  formats: FileFormats,
  file: UnpackedFile,
  recognition: Recognition,
  outcome: MemberOutcome,
): AsyncGenerator<FileEvent> {
  const { format, parsed } = await openFile(formats, file, recognition);
  outcome.format = format;
  yield { file: file.name, format };
  let issue: string | null = null;
  for await (const events of parsed) {
    for (const { type } of events) {
      if (type === 'statement') outcome.statements += 1;
      if (type === 'entry') outcome.entries += 1;
    }
    if (outcome.statements === 0) issue ??= firstIssue(events);
    yield { events };
  }
  if (outcome.statements === 0)
    throw new UnreadableFileError(
      `${nameOf(file.name)} contains no statement.${issue === null ? '' : ` ${issue}`}`,
    );
}

const noStatements = (message: string, hint?: string) =>
  new UnreadableFileError(message, hint, 'no statements');

/** Files that macOS and Windows add to zips. */
const OF_SYSTEM = /(?:^|\/)(?:__MACOSX\/|(?:\._[^/]*|\.DS_Store|Thumbs\.db|desktop\.ini)$)/i;

function firstIssue(events: readonly StatementEvent[]): string | null {
  const issue = events.find((event) => event.type === 'issue');
  return issue === undefined ? null : `${issue.path}: ${issue.message}`;
}

/** Most bytes that are read to recognise a file. Unpacking its beginning takes far fewer. */
export const MAX_BEGINNING = 64 * 1024;

/** Most files of a zip that are looked at before the import itself reads them. */
const MAX_CHECKED = 20;

/**
 * Checks the beginning of a file, or of the first files in a zip up to the first that can be read.
 * @returns the whole stream, the beginning included.
 * @throws {UnreadableFileError} when an import would fail before its first row, and the beginning shows it.
 */
export function checkBeginning(
  formats: FileFormats,
  sent: AsyncIterable<Uint8Array>,
  recognition: Recognition,
): Promise<AsyncIterable<Uint8Array>> {
  return lookAhead(
    sent,
    async (beginning) => {
      let reason: UnreadableFileError | null = null;
      let checked = 0;
      for await (const file of unpack(beginning, formats.settings.limits)) {
        try {
          await openFile(formats, file, recognition);
          return;
        } catch (error) {
          if (!(error instanceof UnreadableFileError) || error.kind === 'archive') throw error;
          reason ??= error;
        }
        checked += 1;
        if (checked === MAX_CHECKED) return;
      }
      if (reason !== null) throw reason;
    },
    MAX_BEGINNING,
  );
}

/** Recognises the format of a file by its beginning, and how to read it. @throws {UnreadableFileError} */
async function openFile(
  formats: FileFormats,
  file: UnpackedFile,
  { format: named, profile, encoding }: Recognition,
): Promise<{ format: StatementFormat; parsed: AsyncIterable<StatementEvent[]> }> {
  if (file.name !== null && OF_SYSTEM.test(file.name))
    throw noStatements(`${nameOf(file.name)} is a file of macOS or Windows, without statements.`);
  const { start, bytes } = await peek(file.bytes, START_BYTES);
  const started = { start: start.subarray(0, START_BYTES), bytes };
  if (start.length === 0) throw noStatements(`${nameOf(file.name)} is empty.`, formats.settings.advice.empty);
  const certain = findOtherKind(started.start, 'before the formats');
  if (certain !== null) throw otherKind(file.name, certain, formats.settings.advice);
  // A sender who names a profile has a table. A workbook would have been detected, so the table is CSV.
  const table = profile === null ? null : 'csv';
  const format = named === 'auto' ? (formats.detect(started.start) ?? table) : named;
  if (format === null) {
    const other = findOtherKind(started.start, 'after the formats');
    if (other !== null) throw otherKind(file.name, other, formats.settings.advice);
    throw noStatements(
      `${nameOf(file.name)} is in no format that is supported.`,
      adviseFormat(formats.settings.advice),
    );
  }
  return { format, parsed: formats.parse(started, format, profile, chooseEncoding(started.start, encoding)) };
}

/** The error of a file of a kind that is not read. JSON may be read in another way, which the settings say. */
function otherKind(name: string | null, kind: OtherKind, { otherFormats }: Advice): UnreadableFileError {
  const hint = kind.isJson && otherFormats !== '' ? otherFormats : undefined;
  return new UnreadableFileError(
    `${nameOf(name)} is ${kind.title}: ${kind.advice}.`,
    hint,
    kind.inZip ?? 'no statements',
  );
}

const adviseFormat = ({ format, page, otherFormats }: Advice): string =>
  `Supported are MT940, MT942, CAMT (camt.052, camt.053 and camt.054), OFX, QFX, BAI2, Norma 43, CFONB 120, CODA, and CSV and XLSX with the headings of a profile, each also in gzip or zip. If it is one of these, ${format}. For a CSV or XLSX file of another bank, write a profile: ${page}. ${otherFormats}`.trimEnd();

/** The beginning of a sentence about a file. @param name within a zip; null: it did not come in a zip. */
export const nameOf = (name: string | null): string =>
  name === null ? 'The file' : `The file ${name.slice(-80)} in the zip`;
