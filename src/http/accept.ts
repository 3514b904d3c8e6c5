import { parseAccept } from 'hono/utils/accept';

/**
 * Chooses the media type of an answer by the header `Accept` (RFC 9110, sections 12.4.2 and 12.5.1). Hono's own `accepts` would let the
 * weight of a wildcard override that of a named type. Parameters other than `q` are ignored.
 * @param types in lower case, the default first.
 * @returns the type with the highest weight. Of equal weights, a type that the header names, then the default. The default, too, if the
 * header allows none of the types, because a client may read more than it says.
 */
export function chooseType<T extends string>(accept: string | undefined, types: readonly [T, ...T[]]): T {
  const weights = new Map<string, number>();
  for (const { type, q } of parseAccept(accept ?? '')) {
    const range = type.toLowerCase();
    weights.set(range, Math.max(q, weights.get(range) ?? 0));
  }
  const weightOf = (type: string) =>
    weights.get(type) ?? weights.get(`${type.split('/')[0]}/*`) ?? weights.get('*/*') ?? 0;
  return types.reduce((best, type) => {
    const more = weightOf(type) - weightOf(best);
    const isNamed = weights.has(type) && weightOf(type) > 0;
    return more > 0 || (more === 0 && isNamed) ? type : best;
  });
}
