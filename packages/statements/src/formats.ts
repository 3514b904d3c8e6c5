import { looksLikeBai2, parseBai2 } from './bai2/parse.ts';
import { looksLikeCamt, parseCamt } from './camt/parse.ts';
import { looksLikeCfonb120, parseCfonb120 } from './cfonb120/parse.ts';
import { looksLikeCoda, parseCoda } from './coda/parse.ts';
import { createCsvParser, detectProfile, looksLikeTable, readTables } from './csv/parse.ts';
import { createHtmlParser, encodingOfPage } from './html/parse.ts';
import { looksLikeMt940, looksLikeMt942, parseMt940 } from './mt940/parse.ts';
import { looksLikeNorma43, NORMA43_ENCODINGS, parseNorma43 } from './norma43/parse.ts';
import { encodingOf, looksLikeOfx, parseOfx } from './ofx/parse.ts';
import { findOtherKind, looksLikeHtml } from './other-kinds.ts';
import type { Layout, Profile } from './profile.ts';
import { explainHeadings } from './profiles/headings.ts';
import {
  checkBeginning,
  type FileEvent,
  type FileFormats,
  type Recognition,
  readFiles,
  type StartedFile,
} from './read-files.ts';
import { type Advice, DEFAULT_SETTINGS } from './settings.ts';
import { decode, decodeStart } from './shared/decode.ts';
import type { DetectedEncoding } from './shared/detect-encoding.ts';
import { settleDirections } from './shared/directions.ts';
import { looksLikeXlsx } from './shared/unpack.ts';
import type { StatementEvent, StatementParser } from './statement.ts';
import { UnreadableFileError } from './unreadable.ts';
import { createXlsxParser } from './xlsx/parse.ts';

export { isStatementFormat, STATEMENT_FORMATS, type StatementFormat } from './format-names.ts';

/** The formats of statement files. Recognises the format of a file, and reads it. */

export interface StatementFormats extends FileFormats {
  /** Reads a file, which may be packed; see `readFiles`. */
  read(parts: AsyncIterable<Uint8Array>, recognition: Recognition): AsyncIterable<FileEvent>;
  /** Checks the beginning of a file; see `checkBeginning`. */
  check(sent: AsyncIterable<Uint8Array>, recognition: Recognition): Promise<AsyncIterable<Uint8Array>>;
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
  const chooseLayout = (start: Uint8Array, name: string | null): Layout => {
    const text = decodeStart(start);
    const layout =
      name === null ? detectProfile(text, profiles) : (detectProfile(text, [named(name)]) ?? named(name));
    if (layout === null)
      throw new UnreadableFileError(`${explainHeadings(readTables(text), profiles, settings.advice)}.`);
    return layout;
  };
  /** Parses the text of a file. A doubt about its encoding becomes a warning. */
  async function* parseText(
    { bytes }: StartedFile,
    encoding: string | null | undefined,
    parse: StatementParser,
    candidates?: readonly string[],
  ): AsyncGenerator<StatementEvent[]> {
    let doubt: StatementEvent[] = [];
    const onDoubt = (found: DetectedEncoding) => {
      doubt = [{ type: 'warning', line: 1, message: explainDoubt(found, settings.advice) }];
    };
    const take = () => doubt.splice(0);
    for await (const events of parse(decode(bytes, { encoding: encoding ?? undefined, candidates, onDoubt })))
      yield doubt.length > 0 ? [...events, ...take()] : events;
    if (doubt.length > 0) yield take();
  }

  const formats: FileFormats = {
    settings,
    detect(start) {
      if (looksLikeXlsx(start)) return 'xlsx';
      const text = decodeStart(start);
      // Some banks name a page .xls. It is read as a workbook is.
      if (looksLikeHtml(text)) return 'xlsx';
      if (looksLikeCamt(text)) return 'camt';
      if (looksLikeOfx(text)) return 'ofx';
      if (looksLikeMt942(text)) return 'mt942';
      if (looksLikeMt940(text)) return 'mt940';
      if (looksLikeBai2(text)) return 'bai2';
      if (looksLikeNorma43(text)) return 'norma43';
      if (looksLikeCfonb120(text)) return 'cfonb120';
      if (looksLikeCoda(text)) return 'coda';
      if (detectProfile(text, profiles) !== null) return 'csv';
      // A table of an unknown bank is CSV too. Only its profile is missing. Files of other kinds may have lines like those of a table.
      return looksLikeTable(text) && findOtherKind(start, 'after the formats') === null ? 'csv' : null;
    },
    parse(file, format, profile, encoding) {
      switch (format) {
        case 'mt940':
        case 'mt942':
          return settleDirections(parseText(file, encoding, parseMt940));
        case 'camt':
          return settleDirections(parseText(file, encoding, parseCamt));
        case 'ofx':
          return parseText(file, encoding ?? encodingOf(decodeStart(file.start)), parseOfx);
        case 'bai2':
          return parseText(file, encoding, parseBai2);
        case 'norma43':
          return parseText(file, encoding, parseNorma43, NORMA43_ENCODINGS);
        case 'cfonb120':
          return parseText(file, encoding, parseCfonb120);
        case 'coda':
          return parseText(file, encoding, parseCoda);
        case 'csv': {
          const chosen = chooseLayout(file.start, profile);
          return parseText(file, encoding ?? chosen.encoding, createCsvParser(chosen));
        }
        case 'xlsx': {
          const allowed = profile === null ? profiles : [named(profile)];
          const start = decodeStart(file.start);
          return looksLikeHtml(start)
            ? parseText(file, encoding ?? encodingOfPage(start), createHtmlParser(allowed, settings))
            : createXlsxParser(allowed, settings)(file.bytes);
        }
      }
    },
  };
  return {
    ...formats,
    read: (parts, recognition) => readFiles(formats, parts, recognition),
    check: (sent, recognition) => checkBeginning(formats, sent, recognition),
  };
}

const explainDoubt = ({ encoding, alternatives }: DetectedEncoding, advice: Advice): string =>
  `The encoding of the text is not certain. The text is read as ${encoding}; ${alternatives.join(', ')} may be meant too. ${advice.encoding}`;
