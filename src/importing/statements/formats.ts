import { looksLikeCamt } from '../formats/camt/detect.ts';
import { parseCamt } from '../formats/camt/parse.ts';
import { looksLikeMt940, looksLikeMt942 } from '../formats/mt940/detect.ts';
import { parseMt940 } from '../formats/mt940/parse.ts';
import type { StatementEvent } from '../formats/statement.ts';
import { decode, decodeStart } from './decode.ts';

/** The formats of statement files: which one a file is in, and how it is read. */

export const STATEMENT_FORMATS = ['mt940', 'mt942', 'camt'] as const;

export type StatementFormat = (typeof STATEMENT_FORMATS)[number];

export const isStatementFormat = (name: string): name is StatementFormat =>
  (STATEMENT_FORMATS as readonly string[]).includes(name);

/** Bytes of the beginning by which a format is recognised. */
export const START_BYTES = 8 * 1024;

/** A file whose beginning has been read. `bytes` yields all of it, the beginning included. */
export interface StartedFile {
  start: Buffer;
  bytes: AsyncIterable<Uint8Array>;
}

export interface StatementFormats {
  /** Recognises a file by its content; null: it is in none of the formats. */
  detect(start: Buffer): StatementFormat | null;
  /**
   * Reads a file.
   * @param profile the name of a profile, for CSV and XLSX; null: the one whose heading the file has.
   * @throws {UnreadableFileError} when no profile fits.
   */
  parse(file: StartedFile, format: StatementFormat, profile: string | null): AsyncIterable<StatementEvent[]>;
}

/** Creates the formats. @param profiles of CSV and XLSX files. */
export function createStatementFormats(_profiles: readonly unknown[]): StatementFormats {
  return {
    detect(start) {
      const text = decodeStart(start);
      if (looksLikeCamt(text)) return 'camt';
      if (looksLikeMt942(text)) return 'mt942';
      if (looksLikeMt940(text)) return 'mt940';
      return null;
    },
    parse(file, format) {
      const text = (encoding?: string | null) => decode(file.bytes, encoding ?? undefined);
      switch (format) {
        case 'mt940':
        case 'mt942':
          return parseMt940(text());
        case 'camt':
          return parseCamt(text());
      }
    },
  };
}
