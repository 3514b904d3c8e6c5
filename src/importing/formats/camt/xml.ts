import { createXmlParser, localName } from '../xml-parser.ts';

/** CAMT nests about 15 elements. */
const MAX_DEPTH = 64;
/** The longest text of a CAMT message has 500 characters. saxes holds everything between two tags in memory. */
const MAX_BETWEEN_TAGS = 64 * 1024;

/** What is told of a document: its elements by their local names, without namespace prefixes. */
export interface ElementHandler {
  open(name: string, attributes: Readonly<Record<string, string>>, line: number): void;
  text(text: string): void;
  close(line: number): void;
}

/** Why, and from which line on, the rest of a document is not read. */
export interface Stop {
  line: number;
  reason: string;
}

export interface XmlReader {
  write(text: string): void;
  /** No more text follows. */
  end(): void;
  /** Once it is not null, nothing more is read. */
  readonly stop: Stop | null;
  /** The local name of the outermost element. */
  readonly root: string | null;
}

/**
 * Reads XML in any split, and stops at the first thing that is not well-formed. It also stops at a document type declaration, at an
 * entity that is not predefined, below 64 nested elements, and where two tags lie more than 64 KiB apart, so that no file can
 * fill the memory.
 */
export function createXmlReader(handler: ElementHandler): XmlReader {
  let stop: Stop | null = null;
  let linesBefore = 0;
  let written = 0;
  let depth = 0;
  let root: string | null = null;
  let tagLine = 1;
  let tagPosition = 0;

  const line = () => linesBefore + parser.line;
  const stopAt = (at: number, reason: string) => {
    stop ??= { line: at, reason };
  };
  const reachTag = () => {
    checkDistance(parser.position);
    tagLine = line();
    tagPosition = parser.position;
  };
  const checkDistance = (position: number) => {
    if (position - tagPosition > MAX_BETWEEN_TAGS)
      stopAt(tagLine, `the next tag is more than ${MAX_BETWEEN_TAGS / 1024} KiB away, which is the limit`);
  };

  const parser = createXmlParser({
    opentag({ name, attributes }) {
      if (stop !== null) return;
      reachTag();
      depth += 1;
      if (depth > MAX_DEPTH)
        stopAt(line(), `elements are nested more than ${MAX_DEPTH} deep, which is the limit`);
      root ??= localName(name);
      if (stop === null) handler.open(localName(name), attributes, line());
    },
    closetag() {
      if (stop !== null) return;
      reachTag();
      depth -= 1;
      if (stop === null) handler.close(line());
    },
    text(text) {
      if (stop === null) handler.text(text);
    },
    doctype: () => stopAt(line(), 'a document type declaration (DTD) is not allowed'),
    error: ({ message }) => stopAt(line(), explain(message)),
  });

  return {
    write(text) {
      // Some banks send blank lines before the XML declaration.
      const content = written === 0 ? text.trimStart() : text;
      linesBefore += text.slice(0, text.length - content.length).split('\n').length - 1;
      if (content === '') return;
      parser.write(content);
      written += content.length;
      checkDistance(written);
    },
    end() {
      if (stop === null) parser.close();
    },
    get stop() {
      return stop;
    },
    get root() {
      return root;
    },
  };
}

function explain(message: string): string {
  if (message === 'undefined entity.')
    return 'an entity is not allowed, except &amp;, &lt;, &gt;, &apos;, &quot; and character references';
  return `it is not well-formed XML: ${message.replace(/\.$/, '')}`;
}
