import { decodeEntities, LONGEST_ENTITY } from './entities.ts';

/**
 * One part of the markup. `text` is decoded. A long text comes as several tokens. Names are in upper case, without a namespace prefix.
 */
export type Token =
  | { type: 'open' | 'close' | 'empty'; name: string; line: number }
  | { type: 'text'; text: string };

/** A longer tag is text. It keeps a "<" without a ">" from filling the memory. */
const MAX_TAG = 1024;
/** An attribute is skipped. `<OFX xmlns="…">` has one. */
const TAG = /<(\/?)(?:[A-Za-z]\w{0,19}:)?([A-Za-z][\w.-]{0,63})(?:\s[^<>]*?)?(\/?)>/y;

/** What begins with `start` and is not a tag. Up to `end` it is skipped, or it is text without entities. */
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

/**
 * Splits SGML or XML into tags and text, from text that comes in any split. It holds at most a tag in memory. It knows no DTD: entities
 * that a file declares are not replaced. A "<" that begins no tag is text, as banks do not always escape it.
 */
export function createTokenizer() {
  let buffer = '';
  let line = 1;
  let section: Section | null = null;
  let endsWithReturn = false;

  const countLines = (text: string) => {
    if (text === '') return;
    if (endsWithReturn && text.startsWith('\n')) line -= 1;
    endsWithReturn = text.endsWith('\r');
    for (let at = text.search(/[\r\n]/); at !== -1 && at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code === 10 || (code === 13 && text.charCodeAt(at + 1) !== 10)) line += 1;
    }
  };

  const tokenize = (atEnd: boolean): Token[] => {
    const tokens: Token[] = [];
    let at = 0;
    const take = (end: number): string => {
      const text = buffer.slice(at, end);
      countLines(text);
      at = end;
      return text;
    };
    const addText = (text: string) => {
      if (text !== '') tokens.push({ type: 'text', text });
    };

    while (at < buffer.length) {
      if (section !== null) {
        const end = buffer.indexOf(section.end, at);
        // What may be the beginning of the end is kept.
        const stop =
          end !== -1 ? end : atEnd ? buffer.length : Math.max(at, buffer.length - section.end.length + 1);
        const text = take(stop);
        if (section.isText) addText(text);
        if (end === -1) break;
        take(stop + section.end.length);
        section = null;
        continue;
      }
      if (buffer.charCodeAt(at) !== 60) {
        const next = buffer.indexOf('<', at);
        const stop = next !== -1 ? next : atEnd ? buffer.length : beforeEntity(buffer, at);
        addText(decodeEntities(take(stop)));
        if (next === -1) break;
        continue;
      }
      const rest = buffer.length - at;
      if (!atEnd && rest < LONGEST_START) break;
      const opened = SECTIONS.find(({ start }) => buffer.startsWith(start, at));
      if (opened !== undefined) {
        take(at + opened.start.length);
        section = opened;
        continue;
      }
      TAG.lastIndex = at;
      const tag = TAG.exec(buffer);
      if (tag !== null && tag[0].length <= MAX_TAG) {
        const [whole, slash, name = '', empty] = tag;
        tokens.push({ type: slash ? 'close' : empty ? 'empty' : 'open', name: name.toUpperCase(), line });
        take(at + whole.length);
        continue;
      }
      if (!atEnd && rest < MAX_TAG && mayBecomeTag(buffer, at)) break;
      addText(take(at + 1));
    }
    buffer = buffer.slice(at);
    return tokens;
  };

  return {
    read(text: string): Token[] {
      buffer += text;
      return tokenize(false);
    },
    end: (): Token[] => tokenize(true),
    line: (): number => line,
  };
}

/** Where text ends that can be decoded: before an "&" near the end whose ";" is still to come. */
function beforeEntity(buffer: string, start: number): number {
  const from = Math.max(start, buffer.length - LONGEST_ENTITY);
  const ampersand = buffer.lastIndexOf('&');
  return ampersand >= from && !buffer.includes(';', ampersand) ? ampersand : buffer.length;
}

/** True if the "<" may begin a tag whose ">" is still to come. */
const mayBecomeTag = (buffer: string, at: number): boolean =>
  /^<\/?[\w.:-]*(?:\s[^<>]*)?$/.test(buffer.slice(at));
