import type { StatementEvent, StatementParser } from '../statement.ts';
import { IGNORED, OUTSIDE, type PathNode } from './entry.ts';
import { createStatements, type ScopeHandler } from './message-statements.ts';
import { createXmlReader, type ElementHandler, FIRST_ONLY, type Field, type Fields } from './xml.ts';

/** A text or a field that is longer than this gets no more text added. A description has 4,000 characters. */
const MAX_FIELD = 4_096;

/** Texts of these fields go on in the next element where the width of a line, 35 or 140 characters, cuts them within a word. */
const WRAPPED: ReadonlySet<Field> = new Set<Field>(['remittance', 'note']);
const CUT = /^(?:.{34}|.{139})\S$/s;

interface OpenElement {
  place: PathNode;
  /** The fields of the innermost scope. */
  fields: Fields;
  text: string;
}

/** Follows the elements of a document to their places, and collects the fields of each scope. */
function createDocument(handler: ScopeHandler): ElementHandler {
  let at: OpenElement = { place: OUTSIDE, fields: {}, text: '' };
  // By depth. Elements at the same depth reuse one object, because a message has millions of elements.
  const elements = [at];
  let depth = 0;
  /** The field, and its owner, whose text was cut within a word and goes on in the next element. */
  let cutField: Field | null = null;
  let cutFields: Fields | null = null;
  return {
    open(name, attributes, line) {
      const { place: above, fields } = at;
      const place = above.children.get(name) ?? (above.isEndless ? above : IGNORED);
      depth += 1;
      at = elements[depth] ??= { place, fields, text: '' };
      at.place = place;
      at.fields = place.scope === null ? fields : {};
      at.text = '';
      if (place.scope !== null) handler.begin(place.scope, at.fields, name, line);
      if (place.currency !== null) put(at.fields, place.currency, attributes.Ccy ?? '');
    },
    text(text) {
      // Elements within a text cut it into any number of pieces.
      if (at.place.field !== null && at.text.length <= MAX_FIELD) at.text += text;
    },
    close(line) {
      const { place, fields, text } = at;
      if (place.field !== null) {
        const isCut = place.field === cutField && fields === cutFields && !text.startsWith(' ');
        put(fields, place.field, text.trim(), isCut ? '' : ' ');
        cutField = WRAPPED.has(place.field) && CUT.test(text) ? place.field : null;
        cutFields = fields;
      }
      if (place.scope !== null) handler.complete(place.scope, line);
      depth = Math.max(0, depth - 1);
      at = elements[depth] as OpenElement;
    },
  };
}

/** @param blank between the texts of a field that occurs several times */
function put(fields: Fields, field: Field, text: string, blank = ' '): void {
  const before = fields[field];
  if (text === '') return;
  if (before === undefined) fields[field] = text;
  // This makes an amount or a date that occurs twice unreadable, so that it is reported.
  else if (!FIRST_ONLY.has(field) && before.length <= MAX_FIELD) fields[field] = before + blank + text;
}

/** Characters read at a time, so that the events of a large part do not pile up. */
const AT_A_TIME = 64 * 1024;

/**
 * Parses camt.052, camt.053 and camt.054 messages of any version. Elements are found by their local names, whatever their
 * namespace. A file that cannot be read to its end yields an issue with the reason. The entries before that place are kept.
 */
export const parseCamt: StatementParser = async function* (text) {
  let events: StatementEvent[] = [];
  const statements = createStatements((event) => events.push(event));
  const xml = createXmlReader(createDocument(statements));
  const take = (): StatementEvent[] => {
    const taken = events;
    events = [];
    return taken;
  };

  reading: for await (const part of text) {
    for (let start = 0; start < part.length; start += AT_A_TIME) {
      xml.write(part.slice(start, start + AT_A_TIME));
      if (events.length > 0) yield take();
      if (xml.stop !== null) break reading;
    }
  }
  xml.end();
  statements.finish(xml.stop, xml.root);
  yield take();
};

/** A message element, also with the suffix of version 01. */
const MESSAGE = /<(?:[\w.-]+:)?BkToCstmr(?:AcctRpt|Stmt|DbtCdtNtfctn)(?:V01)?[\s>/]/;
/** The name of a message definition, as in the namespace or in a business application header. */
const DEFINITION = /camt\.05[234]\.\d{3}\.\d{2}/;

/**
 * Whether a file is a camt.052, camt.053 or camt.054 message, from its first 4 KiB of decoded text. It must be XML, and name one of
 * these messages or its definition.
 */
export function looksLikeCamt(start: string): boolean {
  return /^[\uFEFF\s]*</.test(start) && (MESSAGE.test(start) || DEFINITION.test(start));
}
