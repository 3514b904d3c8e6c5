const SPACE = 0x20;
const LAST_ASCII = 0x7f;
/** Beside this one, the spaces outside of ASCII have codes of at least 0x1680. */
const NO_BREAK_SPACE = 0xa0;
const OTHER_SPACES = 0x1680;

/** Without white space at its ends, with one space where there was other or more. */
export const squeeze = (text: string): string =>
  isSqueezed(text) ? text : text.replaceAll(/\s+/g, ' ').trim();

/** Whether it is certain that there is nothing to take away. A loop takes a third of the time of a regular expression. */
function isSqueezed(text: string): boolean {
  let before = SPACE;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= SPACE) {
      if (code < SPACE || before === SPACE) return false;
    } else if (code > LAST_ASCII && (code === NO_BREAK_SPACE || code >= OTHER_SPACES)) return false;
    before = code;
  }
  return before !== SPACE || text === '';
}

/** What was found in the file, for a message: at most 40 characters. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 40 ? `${text.slice(0, 39)}…` : text);

/** `1 row`, `2,000 rows`. */
export const countOf = (count: number | bigint, one: string): string =>
  `${count.toLocaleString('en-US')} ${one}${Number(count) === 1 ? '' : 's'}`;

const LINE_END = /\r\n|[\r\n]/;

/**
 * Splits text at CR LF, LF or CR. In most files all lines end alike, with LF or CR LF, and there this takes a third of the time of the
 * regular expression.
 */
export function splitLines(text: string): string[] {
  if (!text.includes('\r')) return text.split('\n');
  const lines = text.split('\r\n');
  const areAllAlike = lines.every((line) => !line.includes('\n') && !line.includes('\r'));
  return areAllAlike ? lines : text.split(LINE_END);
}

/** Remembers the last answer of a function of one text: in statements, rows with the same date follow each other. */
export function rememberLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { text: string; answer: T } | null = null;
  return (text) => {
    if (last === null || last.text !== text) last = { text, answer: read(text) };
    return last.answer;
  };
}
