import { isEncoding } from '../encodings.ts';
import type { StatementEvent } from '../statement.ts';
import { createAggregateReader } from './aggregates.ts';
import { createStatementReader } from './statements.ts';
import { createTokenizer } from './tokens.ts';

const HEADER = /OFXHEADER\s*:\s*\d/i;
/** Most characters in which the header of OFX 1 is sought. */
const HEADER_LENGTH = 2_000;
const ROOT = /<(?:\?OFX\b|(?:\w{1,20}:)?OFX[\s>])/iy;
const XML_DECLARATION = /<\?xml\b/iy;
const BLANKS = /[\s\uFEFF]*/y;

/** True if the first 4 KiB of a text are OFX 1 (SGML), OFX 2 (XML) or QFX. Some banks leave out the header. */
export function looksLikeOfx(start: string): boolean {
  return hasHeader(start) || matchesAt(ROOT, start, skipProlog(start));
}

const hasHeader = (start: string): boolean => HEADER.test(beforeTags(start).slice(0, HEADER_LENGTH));

function beforeTags(start: string): string {
  const tag = start.indexOf('<');
  return tag === -1 ? start : start.slice(0, tag);
}

function matchesAt(sticky: RegExp, text: string, at: number): boolean {
  sticky.lastIndex = at;
  return sticky.test(text);
}

/** Skips blanks, XML declarations and comments. @returns the place of what follows. */
function skipProlog(text: string): number {
  for (let at = 0; ; ) {
    BLANKS.lastIndex = at;
    at += BLANKS.exec(text)?.[0].length ?? 0;
    const end = text.startsWith('<!--', at) ? '-->' : matchesAt(XML_DECLARATION, text, at) ? '>' : null;
    // A comment may begin with the end of another: `<!-->` is not whole.
    const found = end === null ? -1 : text.indexOf(end, at + '<!--'.length);
    if (end === null || found === -1) return at;
    at = found + end.length;
  }
}

/**
 * Reads the encoding in the header of OFX 1: `ENCODING:USASCII` with `CHARSET:1252` is windows-1252 (OFX 1.6, 2.2). Many banks
 * declare 1252 and write UTF-8. So use it only if the bytes are not valid UTF-8.
 * @param start the first bytes of the file, as ISO-8859-1
 * @returns a label of the WHATWG Encoding standard; null if the header names no known encoding. OFX 2 names it in the XML
 * declaration.
 */
export function encodingOf(start: string): string | null {
  if (!hasHeader(start)) return null;
  const encoding = headerField(start, 'ENCODING');
  if (/^UTF-?8$/i.test(encoding)) return 'utf-8';
  if (/^UNICODE$/i.test(encoding)) return null; // UTF-8 or UTF-16; the header does not say which.
  const charset = headerField(start, 'CHARSET');
  const windows = /^(?:CP|WINDOWS-?)?(125\d)$/i.exec(charset)?.[1];
  const iso = /^(?:ISO-?)?8859-?(\d{1,2})$/i.exec(charset)?.[1];
  if (windows !== undefined) return `windows-${windows}`;
  if (iso !== undefined && isEncoding(`iso-8859-${iso}`)) return `iso-8859-${iso}`;
  return /^UTF-?8$/i.test(charset) ? 'utf-8' : null;
}

/** Some banks write the whole header on one line, without anything between the fields. */
function headerField(start: string, name: string): string {
  const field = new RegExp(
    String.raw`${name}\s*:[ \t]*([\w-]{0,40}?)(?=CHARSET|COMPRESSION|OLDFILEUID|NEWFILEUID|[^\w-]|$)`,
    'i',
  );
  return field.exec(beforeTags(start))?.[1] ?? '';
}

/**
 * Parses OFX 1 (SGML), OFX 2 (XML) and QFX: the statements of bank accounts and credit cards. Source: Open Financial Exchange 1.6
 * and 2.2, chapters 3 and 11, and the deviations of banks (docs/formats/ofx.md).
 */
export async function* parseOfx(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
  const tokenizer = createTokenizer();
  const aggregates = createAggregateReader();
  const statements = createStatementReader();
  for await (const part of text) {
    const tokens = tokenizer.read(part);
    const events = statements.read(aggregates.read(tokens));
    if (events.length > 0) yield events;
  }
  const events = [
    ...statements.read(aggregates.read(tokenizer.end())),
    ...statements.read(aggregates.end(tokenizer.line())),
    ...statements.end(tokenizer.line()),
  ];
  if (events.length > 0) yield events;
}
