import type { Context } from 'hono';
import * as v from 'valibot';
import { cutPage } from '../platform/page.ts';
import { documented } from '../platform/validation.ts';
import { WholeNumber } from '../platform/whole-numbers.ts';
import type { ApiEnv } from './app.ts';

/** The pages of lists: how many items they have, and the link to the next page. */

export const MAX_PER_PAGE = 1_000;

/** The query parameters `per_page` and `cursor` of a list, for a schema: `v.strictObject({ ...paging('i1', 100) })`. */
export const paging = (kind: CursorKind, perPage: number) => ({
  per_page: v.pipe(
    v.optional(WholeNumber(1, MAX_PER_PAGE), String(perPage)),
    v.description('The size of a page.'),
  ),
  cursor: v.pipe(
    v.optional(
      v.pipe(
        Cursor(kind),
        v.transform(({ id }) => id),
      ),
    ),
    v.description(CURSOR_DESCRIPTION),
  ),
});

export const CURSOR_DESCRIPTION =
  'Where the page begins: the cursor in the header Link of the previous page.';

/** A cursor of one of these lists. */
export const Cursor = <Kind extends CursorKind>(...kinds: [Kind, ...Kind[]]) =>
  v.pipe(
    v.string(),
    documented({ pattern: kinds.map(cursorPattern).join('|') }),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      for (const kind of kinds) {
        const id = decodeCursor(dataset.value, kind);
        if (id !== null) return { kind, id };
      }
      addIssue({ message: 'must be copied unchanged from a Link header of this list' });
      return NEVER;
    }),
  );

/** Cuts a page out of rows as cutPage does, and says where the next one begins. @returns the rows of the page. */
export function linkPage<Row extends { id: string }>(
  c: Context<ApiEnv>,
  kind: CursorKind,
  found: readonly Row[],
  perPage: number,
): Row[] {
  const { rows, next } = cutPage(found, perPage);
  linkNext(c, kind, next);
  return rows;
}

/**
 * Says in the header Link where the next page of the list begins, if there is one (rel="next", RFC 8288). The link is only a path,
 * because behind a proxy we do not know our own host name.
 */
export function linkNext(c: Context<ApiEnv>, kind: CursorKind, next: string | null): void {
  if (next !== null) linkCursor(c, encodeCursor(next, kind));
}

/** As linkNext, for a cursor that is no id. */
export function linkCursor(c: Context<ApiEnv>, cursor: string): void {
  const { pathname, searchParams } = new URL(c.req.url);
  searchParams.delete('page');
  searchParams.set('cursor', cursor);
  c.header('Link', `<${pathname}?${searchParams}>; rel="next"`);
}

/**
 * The list that a cursor belongs to. A cursor of another list, or of a later version, is refused. t1: movements by id; u1: movements, newest first; y1 and z1: withdrawn movements in the same orders;
 * m2: deliveries by movement (newest first); i1: imports and r1: runs of a source (newest first); w1: webhooks; s1: sources; a1: accounts;
 * b1: banks; k1: API keys, c1: customers, g1: webhook templates, h1: webhooks of a template, o1: operators' tokens and v1: checked accounts by id; e1: changes (newest first); f1: conflicts, n1: statements, p1: replays and x1: withdrawals (newest first); d1: balances by day (newest first).
 */
export type CursorKind =
  | 't1'
  | 'u1'
  | 'm2'
  | 'i1'
  | 'r1'
  | 'w1'
  | 's1'
  | 'a1'
  | 'b1'
  | 'k1'
  | 'c1'
  | 'o1'
  | 'g1'
  | 'h1'
  | 'v1'
  | 'e1'
  | 'f1'
  | 'n1'
  | 'p1'
  | 'd1'
  | 'x1'
  | 'y1'
  | 'z1';

/** Greater than every id, and still a number that a cursor may hold. */
export const BEYOND_NEWEST = '999999999999999999';

/** Base64url of three digits, of two and of one, as a regular expression. */
const DIGITS_IN_BASE64 = {
  three: '(?:[MN][DTjz]|O[DT])[AEIMQUYcgk][w-z0-5]',
  two: '(?:[MN][DTjz]|O[DT])[AEIMQUYcgk]',
  one: '(?:[MN][AQgw]|O[AQ])',
};

/** The exact form of a list's cursors, as a regular expression for /openapi.json. */
function cursorPattern(kind: CursorKind): string {
  const { three, two, one } = DIGITS_IN_BASE64;
  const prefix = Buffer.from(`${kind}:`).toString('base64url');
  return `^${prefix}(?:(?:${three}){1,6}|(?:${three}){0,5}(?:${two}|${one}))$`;
}

/** Makes an opaque cursor. The next page begins after this id. A cursor grants no access, because the API key decides whose rows are shown. */
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
