import { SaxesParser } from 'saxes';
import { ENTITIES } from './entities.ts';

interface XmlHandlers {
  opentag(tag: { name: string; attributes: Readonly<Record<string, string>> }): void;
  closetag(tag: { name: string }): void;
  /** Also gets the text of CDATA sections. */
  text(text: string): void;
  doctype(): void;
  error(error: Error): void;
}

type Parser = SaxesParser<{ xmlns: false; position: false }>;

/**
 * Creates a parser for XML that comes in parts. Its error messages name no line.
 *
 * One parser is kept until the process ends. V8 drops the layout of objects when none of them is left. After a few saxes parsers
 * have come and gone, V8 would make each new one a hash table, and reading would take four times as long.
 */
export function createXmlParser(handlers: XmlHandlers): Parser {
  if (kept.length === 0)
    kept.push(connect({ opentag() {}, closetag() {}, text() {}, doctype() {}, error() {} }));
  return connect(handlers);
}

const kept: Parser[] = [];

/** Without a prototype, so that &constructor; is none. */
const entities: Record<string, string> = Object.assign(Object.create(null), Object.fromEntries(ENTITIES));

function connect({ opentag, closetag, text, doctype, error }: XmlHandlers): Parser {
  const parser: Parser = new SaxesParser({ xmlns: false, position: false });
  // Some banks write the entities of HTML, such as &nbsp;.
  parser.ENTITIES = entities;
  parser.on('opentag', opentag);
  parser.on('closetag', closetag);
  parser.on('text', text);
  parser.on('cdata', text);
  parser.on('doctype', doctype);
  parser.on('error', error);
  return parser;
}

/** The name of an element without its namespace prefix. */
export const localName = (name: string): string => name.slice(name.indexOf(':') + 1);
