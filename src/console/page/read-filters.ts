import type { Context } from 'hono';
import type * as v from 'valibot';
import type { ApiEnv } from '../../http/app.ts';
import { check } from '../../platform/problem.ts';

/**
 * Reads the filters of a list from the query string. Drops spaces around a value, because ids are often pasted. Leaves out empty fields.
 * @throws {Problem} 422 with the name of the filter that is wrong.
 */
export const readFilters = <S extends v.GenericSchema>(c: Context<ApiEnv>, schema: S): v.InferOutput<S> =>
  check(
    schema,
    Object.fromEntries(
      Object.entries(c.req.query()).flatMap(([name, value]) => {
        const trimmed = value.trim();
        return trimmed === '' ? [] : [[name, trimmed]];
      }),
    ),
  );

/** The path of a list with these filters. Undefined filters are left out. */
export function pathWith(path: string, filters: Record<string, string | undefined>): string {
  const given = Object.entries(filters).filter(
    (it): it is [string, string] => it[1] !== undefined && it[1] !== '',
  );
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}
