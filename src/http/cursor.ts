/**
 * Marks which list a cursor belongs to, so that a cursor of another list, or of a later version, is refused: t1 movements by id,
 * m2 deliveries by movement (newest first), i1 imports and r1 runs of a source (newest first), w1 webhooks, s1 sources, a1 accounts,
 * b1 banks, k1 API keys by id.
 */
export type CursorKind = 't1' | 'm2' | 'i1' | 'r1' | 'w1' | 's1' | 'a1' | 'b1' | 'k1';

/** Greater than every id, and still a number that a cursor may hold. */
export const BEYOND_NEWEST = '999999999999999999';

/** Base64url of three digits, of two and of one, as a regular expression. */
const DIGITS_IN_BASE64 = {
  three: '(?:[MN][DTjz]|O[DT])[AEIMQUYcgk][w-z0-5]',
  two: '(?:[MN][DTjz]|O[DT])[AEIMQUYcgk]',
  one: '(?:[MN][AQgw]|O[AQ])',
};

/** What exactly the cursors of a list look like, as a regular expression for /openapi.json. */
export function cursorPattern(kind: CursorKind): string {
  const { three, two, one } = DIGITS_IN_BASE64;
  const prefix = Buffer.from(`${kind}:`).toString('base64url');
  return `^${prefix}(?:(?:${three}){1,6}|(?:${three}){0,5}(?:${two}|${one}))$`;
}

/** An opaque cursor: the next page begins after this id. It grants no access: the API key decides whose rows are shown. */
export function encodeCursor(id: string, kind: CursorKind): string {
  return Buffer.from(`${kind}:${id}`).toString('base64url');
}

/** @returns the id after which the page begins, or null when the text is not a cursor of this list. */
export function decodeCursor(cursor: string, kind: CursorKind): string | null {
  const prefix = `${kind}:`;
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const id = text.startsWith(prefix) ? text.slice(prefix.length) : '';
  return /^\d{1,18}$/.test(id) && encodeCursor(id, kind) === cursor ? id : null;
}
