import { ENTITIES } from '../shared/entities.ts';

/**
 * One part of the markup. `text` is decoded. A long text comes as several tokens. Names are in upper case, without a namespace prefix.
 */
export type Token =
  | { type: 'open' | 'close' | 'empty'; name: string; line: number }
  | { type: 'text'; text: string };

/** A longer tag is text. The limit keeps a "<" without a ">" from filling the memory. */
const MAX_TAG = 1024;
/** Attributes are skipped, as in `<OFX xmlns="…">`. */
const TAG = /<(\/?)(?:[A-Za-z]\w{0,19}:)?([A-Za-z][\w.-]{0,63})(?:\s[^<>]*?)?(\/?)>/y;

/** Markup that begins with `start` and is not a tag. Up to `end`, it is skipped or is text without entities. */
interface Section {
  start: string;
  end: string;
  isText: boolean;
}

const SECTIONS: readonly Section[] = [
  { start: '<![CDATA[', end: ']]>', isText: true },
  { start: '<!--', end: '-->', isText: false },
  { start: '<?', end: '>', isText: false },
  { start: '<!', end: '>', isText: false },
];
const LONGEST_START = 9;
const LESS_THAN = 0x3c;
const LF = 0x0a;

/**
 * Splits SGML or XML into tags and text, from text that comes in any split. Holds at most one tag in memory. Does not read DTDs, so
 * entities that a file declares are not replaced. A "<" that does not begin a tag is text, because banks do not always escape it.
 */
export function createTokenizer() {
  const lines = createLineCounter();
  let buffer = '';
  let at = 0;
  let isAtEnd = false;
  let section: Section | null = null;
  let tokens: Token[] = [];

  const take = (end: number): string => {
    const text = buffer.slice(at, end);
    lines.count(text);
    at = end;
    return text;
  };
  const addText = (text: string) => {
    if (text !== '') tokens.push({ type: 'text', text });
  };

  /** Each of these functions reads on, and returns false if more text is needed. */
  const readSection = ({ end, isText }: Section): boolean => {
    const found = buffer.indexOf(end, at);
    // Keeps text that may be the beginning of `end`.
    const kept = isAtEnd ? 0 : end.length - 1;
    const text = take(found === -1 ? Math.max(at, buffer.length - kept) : found);
    if (isText) addText(text);
    if (found === -1) return false;
    take(found + end.length);
    section = null;
    return true;
  };
  const readText = (): boolean => {
    const next = buffer.indexOf('<', at);
    const stop = next !== -1 ? next : isAtEnd ? buffer.length : beforeEntity(buffer, at);
    addText(decodeEntities(take(stop)));
    return next !== -1;
  };
  const readMarkup = (): boolean => {
    const rest = buffer.length - at;
    if (!isAtEnd && rest < LONGEST_START) return false;
    const begun = findSection(buffer, at);
    if (begun !== undefined) {
      take(at + begun.start.length);
      section = begun;
      return true;
    }
    TAG.lastIndex = at;
    const [tag = '', slash, name = '', empty] = TAG.exec(buffer) ?? [];
    if (tag !== '' && tag.length <= MAX_TAG) {
      const type = slash ? 'close' : empty ? 'empty' : 'open';
      tokens.push({ type, name: name.toUpperCase(), line: lines.line() });
      take(at + tag.length);
      return true;
    }
    if (!isAtEnd && rest < MAX_TAG && mayBecomeTag(buffer, at)) return false;
    addText(take(at + 1));
    return true;
  };
  const readAll = (): Token[] => {
    tokens = [];
    for (let isReading = true; isReading && at < buffer.length; ) {
      if (section !== null) isReading = readSection(section);
      else if (buffer.charCodeAt(at) === LESS_THAN) isReading = readMarkup();
      else isReading = readText();
    }
    buffer = buffer.slice(at);
    at = 0;
    return tokens;
  };

  return {
    read(text: string): Token[] {
      buffer += text;
      return readAll();
    },
    end(): Token[] {
      isAtEnd = true;
      return readAll();
    },
    line: (): number => lines.line(),
  };
}

/** The section that begins here. All begin with "<!" or "<?". */
function findSection(buffer: string, at: number): Section | undefined {
  const second = buffer[at + 1];
  if (second !== '!' && second !== '?') return undefined;
  return SECTIONS.find(({ start }) => buffer.startsWith(start, at));
}

/** Counts lines that end with CRLF, LF or CR, in text that comes in any split. */
function createLineCounter() {
  let line = 1;
  let endsWithReturn = false;
  return {
    count(text: string) {
      if (text === '') return;
      // The CR of a CRLF that was cut in two has been counted already.
      if (endsWithReturn && text.startsWith('\n')) line -= 1;
      endsWithReturn = text.endsWith('\r');
      for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) line += 1;
      for (let at = text.indexOf('\r'); at !== -1; at = text.indexOf('\r', at + 1))
        if (text.charCodeAt(at + 1) !== LF) line += 1;
    },
    line: (): number => line,
  };
}

/** The end of the text that can be decoded. It is before an "&" near the end whose ";" has not come yet. */
function beforeEntity(buffer: string, start: number): number {
  const from = Math.max(start, buffer.length - LONGEST_ENTITY);
  const ampersand = buffer.lastIndexOf('&');
  return ampersand >= from && !buffer.includes(';', ampersand) ? ampersand : buffer.length;
}

/** True if the "<" may begin a tag whose ">" has not come yet. */
const mayBecomeTag = (buffer: string, at: number): boolean =>
  /^<\/?[\w.:-]*(?:\s[^<>]*)?$/.test(buffer.slice(at));

const namedCharacter = (name: string): string | undefined =>
  ENTITIES.get(name) ?? ENTITIES.get(name.toLowerCase());

/** `&#x10FFFF;` has ten characters. */
const LONGEST_ENTITY = 10;

/** Replaces the entities of OFX and HTML, and character references. Others stay as they are, as does a bare "&". */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z]\w{1,7}));/g,
    (entity, decimal, hex, name) => {
      if (name !== undefined) return namedCharacter(name) ?? entity;
      const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code).toWellFormed() : '';
    },
  );
}
