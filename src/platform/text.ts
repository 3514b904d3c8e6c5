/** `12,345`: the same in every locale. */
export const formatCount = (count: number | bigint): string => count.toLocaleString('en-US');

/** `1 row`, `2,000 rows`. @param many the plural, if it is not the word and an s. */
export const countOf = (count: number | bigint, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${Number(count) === 1 ? one : many}`;

/** `once`, `3 times in a row`. */
export const timesInARow = (count: number | bigint): string =>
  Number(count) === 1 ? 'once' : `${formatCount(count)} times in a row`;

/** MySQL and MariaDB write: Duplicate entry '…' for key, Incorrect integer value: '…' for column, near '…' at line 1. */
const QUOTED_VALUE =
  /(entry|value:|near) '(?:[\s\S]*'(?= for (?:key|column) )|[\s\S]*'(?= at (?:line|row) \d)|[\s\S]*')/;

/** Removes the value that MySQL quotes in the message or stack of an error, because it may be account data. */
export const withoutValues = (text: string): string => text.replace(QUOTED_VALUE, "$1 '…'");

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in its two largest units: `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`. */
export function formatDuration(milliseconds: number): string {
  const length = Math.max(0, milliseconds);
  if (length < SECOND) return `${Math.round(length)} ms`;
  if (length < MINUTE) return `${Math.floor(length / SECOND)} s`;
  if (length < HOUR) return two(length, MINUTE, 'min', SECOND, 's');
  if (length < DAY) return two(length, HOUR, 'h', MINUTE, 'min');
  return two(length, DAY, 'd', HOUR, 'h');
}

function two(length: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((length % large) / small);
  return `${Math.floor(length / large)} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`;
}

/** The beginning of a text that has at most so many characters (code points), as a VARCHAR of MySQL counts them. */
export function cutCharacters(text: string, most: number): string {
  if (text.length <= most) return text;
  let end = 0;
  for (let count = 0; count < most && end < text.length; count += 1)
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return text.slice(0, end);
}

/** The beginning of a text that has at most so many bytes as UTF-8, never cut within a character: for a TEXT column of MySQL, whose unit is bytes. */
export function cutBytes(text: string, most: number): string {
  // No unit of UTF-16 takes more than three bytes.
  if (text.length * 3 <= most) return text;
  const bytes = Buffer.from(text.slice(0, most));
  if (bytes.length <= most && text.length <= most) return text;
  let end = Math.min(bytes.length, most);
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
