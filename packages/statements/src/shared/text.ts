/** White space other than single spaces. Most texts have none, and checking takes a fraction of the time of replacing. */
const OTHER_SPACES = /\s\s|[^\S ]/;

/** Removes white space at the ends, and replaces all other white space with single spaces. */
export const squeeze = (text: string): string =>
  (OTHER_SPACES.test(text) ? text.replaceAll(/\s+/g, ' ') : text).trim();

/**
 * Appends a text, unless the words of the other text have it. Blanks, signs and capitals do not count. "INV-1" is not in "INV-10".
 */
export function joinTexts(text: string | null, more: string | null): string | null {
  if (text === null || more === null) return text ?? more;
  return ` ${wordsOf(text)} `.includes(` ${wordsOf(more)} `) ? text : `${text} ${more}`;
}

const wordsOf = (text: string): string =>
  text
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase();

/** The text found in the file, for a message: at most 40 characters. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 40 ? `${text.slice(0, 39)}…` : text);

/** `1 row`, `2,000 rows`. */
export const countOf = (count: number | bigint, one: string): string =>
  `${count.toLocaleString('en-US')} ${one}${Number(count) === 1 ? '' : 's'}`;

/** Splits text at CR LF, LF or CR. */
export const splitLines = (text: string): string[] => text.split(/\r\n|[\r\n]/);

/**
 * Remembers the last answer of a function of one text. Rows with the same date follow each other. Reading each date anew would add
 * a third to the time for a CSV file.
 */
export function rememberLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { text: string; answer: T } | null = null;
  return (text) => {
    if (last === null || last.text !== text) last = { text, answer: read(text) };
    return last.answer;
  };
}
