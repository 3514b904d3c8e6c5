import { looksLikeBai2, parseBai2 } from './bai2/parse.ts';
import { looksLikeCamt, parseCamt } from './camt/parse.ts';
import { createCsvParser, detectProfile, looksLikeTable, readTables } from './csv/parse.ts';
import { settleDirections } from './directions.ts';
import { looksLikeMt940, looksLikeMt942, parseMt940 } from './mt940/parse.ts';
import { encodingOf, looksLikeOfx, parseOfx } from './ofx/parse.ts';
import type { Profile } from './profile.ts';
import { explainHeadings } from './profiles/headings.ts';
import {
  type FileEvent,
  type FileFormats,
  type Recognition,
  readFiles,
  type StartedFile,
} from './read-files.ts';
import { DEFAULT_SETTINGS } from './settings.ts';
import { decode, decodeStart } from './shared/decode.ts';
import { looksLikeXlsx } from './shared/unpack.ts';
import { UnreadableFileError } from './unreadable.ts';
import { createXlsxParser } from './xlsx/parse.ts';

export { isStatementFormat, STATEMENT_FORMATS, type StatementFormat } from './format-names.ts';

/** The formats of statement files. Recognises the format of a file, and reads it. */

export interface StatementFormats extends FileFormats {
  /** Reads a file, which may be packed; see `readFiles`. */
  read(parts: AsyncIterable<Uint8Array>, recognition: Recognition): AsyncIterable<FileEvent>;
}

/** Creates the formats. @param profiles of CSV and XLSX files. @param settings limits, and the words of advice. */
export function createStatementFormats(
  profiles: readonly Profile[],
  settings = DEFAULT_SETTINGS,
): StatementFormats {
  const named = (name: string): Profile => {
    const profile = profiles.find((it) => it.name === name);
    if (profile === undefined) {
      throw new UnreadableFileError('There is no profile of that name.', settings.advice.profiles);
    }
    return profile;
  };
  const parseCsv = ({ start, bytes }: StartedFile, name: string | null) => {
    const profile = name === null ? detectProfile(decodeStart(start), profiles) : named(name);
    if (profile === null) {
      const tables = readTables(decodeStart(start));
      throw new UnreadableFileError(`${explainHeadings(tables, profiles, settings.advice)}.`);
    }
    return createCsvParser(profile)(decode(bytes, profile.encoding));
  };

  const formats: FileFormats = {
    settings,
    detect(start) {
      if (looksLikeXlsx(start)) return 'xlsx';
      const text = decodeStart(start);
      if (looksLikeCamt(text)) return 'camt';
      if (looksLikeOfx(text)) return 'ofx';
      if (looksLikeMt942(text)) return 'mt942';
      if (looksLikeMt940(text)) return 'mt940';
      if (looksLikeBai2(text)) return 'bai2';
      // A table of an unknown bank is CSV too. Only its profile is missing.
      return detectProfile(text, profiles) !== null || looksLikeTable(text) ? 'csv' : null;
    },
    parse(file, format, profile) {
      const text = (fallback?: string | null) => decode(file.bytes, fallback ?? undefined);
      switch (format) {
        case 'mt940':
        case 'mt942':
          return settleDirections(parseMt940(text()));
        case 'camt':
          return settleDirections(parseCamt(text()));
        case 'ofx':
          return parseOfx(text(encodingOf(decodeStart(file.start))));
        case 'bai2':
          return parseBai2(text());
        case 'csv':
          return parseCsv(file, profile);
        case 'xlsx':
          return createXlsxParser(profile === null ? profiles : [named(profile)], settings)(file.bytes);
      }
    },
  };
  return { ...formats, read: (parts, recognition) => readFiles(formats, parts, recognition) };
}
