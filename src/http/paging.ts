import type { Context } from 'hono';
import * as v from 'valibot';
import { type CursorKind, cursorPattern, decodeCursor, encodeCursor } from './cursor.ts';
import type { ApiEnv } from './environment.ts';
import type { Parameter } from './openapi.ts';

export const MAX_PER_PAGE = 1_000;

/** A whole number in a query string. */
export const wholeNumber = (most: number, rule: string) =>
  v.pipe(
    v.string(),
    v.regex(/^[0-9]{1,12}$/, rule),
    v.transform(Number),
    v.minValue(1, rule),
    v.maxValue(most, rule),
  );

/** The query parameters `per_page` and `cursor` of a list, for a schema: `v.strictObject({ ...paging('i1', 100) })`. */
export const paging = (kind: CursorKind, perPage: number) => ({
  per_page: v.optional(
    wholeNumber(MAX_PER_PAGE, `must be a whole number from 1 to ${MAX_PER_PAGE}`),
    String(perPage),
  ),
  cursor: v.optional(
    v.pipe(
      v.string(),
      v.check(
        (text) => decodeCursor(text, kind) !== null,
        'must be copied unchanged from a Link header of this list',
      ),
      v.transform((text) => decodeCursor(text, kind) ?? ''),
    ),
  ),
});

/** The same parameters, for /openapi.json. */
export const pagingParameters = (
  kind: CursorKind,
  perPage: number,
): Record<'per_page' | 'cursor', Parameter> => ({
  per_page: {
    description: 'The size of a page.',
    schema: { type: 'integer', minimum: 1, maximum: MAX_PER_PAGE, default: perPage },
  },
  cursor: {
    description: 'Where the page begins: the cursor in the header Link of the previous page.',
    schema: { type: 'string', pattern: cursorPattern(kind) },
  },
});

/**
 * Cuts a page out of rows, of which one more than a page was read, and says in the header Link where the next page begins
 * (rel="next", RFC 8288).
 */
export function cutPage<Row extends { id: string }>(
  c: Context<ApiEnv>,
  kind: CursorKind,
  rows: readonly Row[],
  perPage: number,
): readonly Row[] {
  const page = rows.slice(0, perPage);
  const last = page.at(-1);
  if (rows.length > perPage && last !== undefined) linkNext(c, encodeCursor(last.id, kind));
  return page;
}

/** Says where the list goes on. The link is a path alone: behind a proxy we do not know our own name. */
export function linkNext(c: Context<ApiEnv>, cursor: string): void {
  const { pathname, searchParams } = new URL(c.req.url);
  searchParams.delete('page');
  searchParams.set('cursor', cursor);
  c.header('Link', `<${pathname}?${searchParams}>; rel="next"`);
}
