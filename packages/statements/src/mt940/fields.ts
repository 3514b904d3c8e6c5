import { splitLines } from '../shared/text.ts';

/** The fields of MT940 and MT942, and NS, which German software uses for data without a SWIFT field. */
const TAGS = new Set(
  '20 21 25 25P 28 28C 28D 13 13C 13D 34F 60F 60M 61 62F 62M 64 65 86 90C 90D NS'.split(' '),
);
/** A tag without its first colon, which stands alone on the previous line. */
const TAG_WITHOUT_COLON = /^(61|62[FM]|86):/;
/** "{1:F01…}{2:O940…}{4:", also with its braces in another code page, where they are letters. */
const ENVELOPE = /^[^\w\s:]{0,3}1:[A-Z]\d\d[A-Z0-9]{8}|^[^\w\s:]{1,3}4:(?::|$)/;
/** "-", "-}", "-}{5:…}" or ING's "-XXX", also in another code page. A line of text that begins with a hyphen is not matched. */
const MESSAGE_END = /^-(?:[^ -|~].?)?(?:[^\w\s][15S]:.*|(?:XXX)?\s*)$/;
/** A time that was wrapped before its minutes, such as ":20:15 Uhr", looks like the tags 13, 20, 21, 25 and 28. */
const WRAPPED_TIME = /^:[0-5]\d:[0-5]\d(?!\d)/;
const FULL_LINE = 60;
const MAX_ENVELOPE = 4096;
/** Most characters of a field. The rest is dropped. This is less than a line may have, so that a cut line is noticed. */
const MAX_FIELD = 60 * 1024;

export interface Field {
  /** Such as "61"; "envelope" for a line of SWIFT's envelope, "end" for the line that ends a message. */
  tag: string;
  /** The line of the file at which the field begins, from 1. */
  line: number;
  /** Without the tag. */
  lines: string[];
  /** True if the field was too long and lost its rest. */
  cut: boolean;
  /** The file ends within the field's last line, or after that line without a line end. */
  isUnended?: boolean;
}

/** Puts the lines of a file together to fields. A line that does not begin with a known tag belongs to the previous field. */
export function createFieldReader() {
  const lineReader = createLineReader();
  let line = 0;
  let field: Field | null = null;
  let size = 0;

  const append = (to: Field, text: string) => {
    const room = MAX_FIELD - size;
    if (text.length > room) to.cut = true;
    if (room > 0) to.lines.push(text.slice(0, room));
    size += text.length + 1;
  };
  const readLine = (text: string, fields: Field[]) => {
    const begun = beginning(text, field);
    if (begun === null) {
      if (field !== null && field.tag !== 'end' && field.tag !== 'envelope') append(field, text);
      return;
    }
    if (begun.afterColon) field?.lines.pop();
    if (field !== null) fields.push(field);
    field = { tag: begun.tag, line, lines: [], cut: false };
    size = 0;
    append(field, begun.text);
    if (begun.tag !== 'envelope') return;
    // The first field may follow the envelope on the same line.
    const block = text.indexOf('4::');
    if (block !== -1) readLine(text.slice(block + 2), fields);
  };
  const readLines = (lines: string[]): Field[] => {
    const fields: Field[] = [];
    for (const text of lines) {
      line += 1;
      readLine(line === 1 ? text.replace(/^\uFEFF/, '') : text, fields);
    }
    return fields;
  };
  return {
    /** @returns the fields that this part completes */
    read: (part: string): Field[] => readLines(lineReader.read(part)),
    /** @returns the fields that the end of the file completes */
    end: (): Field[] => {
      const last = lineReader.end();
      const fields = readLines(last);
      return field === null ? fields : [...fields, last.length > 0 ? { ...field, isUnended: true } : field];
    },
  };
}

/** The field that begins with a line; null if the line belongs to the field before. */
function beginning(
  text: string,
  before: Field | null,
): { tag: string; text: string; afterColon?: boolean } | null {
  if (text.startsWith(':')) {
    const tag = text.slice(1, Math.max(1, text.indexOf(':', 1)));
    if (!TAGS.has(tag) || (before !== null && continuesTime(text, before))) return null;
    return { tag, text: text.slice(tag.length + 2) };
  }
  if (text.startsWith('-'))
    return MESSAGE_END.test(text.slice(0, MAX_ENVELOPE)) ? { tag: 'end', text: '' } : null;
  if (ENVELOPE.test(text)) return { tag: 'envelope', text: text.slice(0, MAX_ENVELOPE) };
  if (before?.lines.at(-1) === ':') {
    const tag = TAG_WITHOUT_COLON.exec(text)?.[1];
    if (tag !== undefined) return { tag, text: text.slice(tag.length + 1), afterColon: true };
  }
  return null;
}

function continuesTime(text: string, before: Field): boolean {
  const last = before.lines.at(-1) ?? '';
  return before.tag === '86' && last.length >= FULL_LINE && /\d\d$/.test(last) && WRAPPED_TIME.test(text);
}

/**
 * A line of MT940 has 65 characters, but some banks write a whole :86: on one line. The limit keeps an endless line from filling
 * the memory.
 */
const MAX_LINE = 64 * 1024;

/** The start of a file of HBCI, which writes "@@" for a line end. */
const AT_LINE_ENDS = /^[ \t\uFEFF]*(?:\{[^\r\n@]{0,200})?(?:@@:\d\d|:20:[^\r\n@]{0,40}@@:\d\d)/;

/** True if the lines of a text end with "@@". */
export const hasAtLineEnds = (start: string): boolean => AT_LINE_ENDS.test(start);

/** Splits text that comes in parts into lines, which end with CRLF, LF, CR or "@@". Drops the rest of a line after 64 Ki characters. */
export function createLineReader() {
  let rest = '';
  let endsWithReturn = false;
  /** Null until the first line end. */
  let hasAt: boolean | null = null;
  return {
    /** @returns the lines that this part completes */
    read(part: string): string[] {
      if (part === '') return [];
      // Drops the LF of a CRLF that was cut in two.
      const text = endsWithReturn && part.startsWith('\n') ? part.slice(1) : part;
      endsWithReturn = part.endsWith('\r');
      if (hasAt === null && hasAtLineEnds(rest + text)) hasAt = true;
      if (hasAt) {
        const lines = (rest + text).split(/@@|\r\n|[\r\n]/);
        rest = (lines.pop() ?? '').slice(0, MAX_LINE);
        return lines;
      }
      const lines = splitLines(text);
      // Joined after the split, because joining before would copy the whole part.
      lines[0] = rest + lines[0];
      if (lines.length > 1) hasAt ??= false;
      rest = (lines.pop() ?? '').slice(0, MAX_LINE);
      return lines;
    },
    /** @returns the last line if the text ends without a line end */
    end: (): string[] => (rest === '' ? [] : [rest]),
  };
}
