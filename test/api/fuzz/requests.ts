import fc from 'fast-check';
import { collectionOf, type Operation } from '../../support/operations.ts';
import { idsOf, type World } from '../../support/world.ts';
import { contentOf } from './bodies.ts';
import type { WireRequest } from './exchange.ts';
import { hostileSegment, hostileText, MARKER, samples } from './values.ts';

export interface FuzzedRequest {
  wire: WireRequest;
  /** The reason why it must not be accepted; null when the document leaves it open. */
  flaw: string | null;
}

/** Requests of one operation: some as its document has them, the others wrong in every way. */
export function requestsOf(
  operation: Operation,
  world: World,
  endpoint: string,
): fc.Arbitrary<FuzzedRequest> {
  const known = samples(world, endpoint);
  return fc
    .record({
      path: pathOf(operation, world),
      query: queryOf(operation, known),
      key: keyOf(world),
      headers: fc.oneof(
        { weight: 5, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(oddHeader, { minLength: 1, maxLength: 2 }) },
      ),
      content: contentOf(operation, known),
      chunked: fc.boolean(),
    })
    .map(({ path, query, key, headers, content, chunked }) => ({
      wire: {
        method: operation.method,
        target: path + query,
        headers: [...key, ...content.headers, ...headers],
        body: content.body,
        chunked,
      },
      flaw: content.flaw,
    }));
}

function pathOf({ path }: Operation, { all }: World): fc.Arbitrary<string> {
  const segments = path.split('/').map((segment) => {
    const [, parameter] = /^\{(\w+)\}$/.exec(segment) ?? [];
    if (parameter === undefined) return fc.constant(segment);
    const own = idsOf(all, collectionOf(path, parameter));
    return fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...own) },
      { weight: 1, arbitrary: fc.constantFrom(...Object.values(all).flat()) },
      { weight: 2, arbitrary: hostileSegment },
    );
  });
  return fc.tuple(...segments).map((parts) => parts.join('/'));
}

/** Of more parameters, one is nearly always wrong. */
const MOST_PARAMETERS = 3;

function queryOf({ parameters }: Operation, known: Record<string, readonly unknown[]>): fc.Arbitrary<string> {
  const pair = (name: string) =>
    fc
      .oneof(
        { weight: 5, arbitrary: fc.constantFrom(...(known[name] ?? ['']).map(String)) },
        { weight: 1, arbitrary: hostileText.map((text) => encodeURIComponent(text.toWellFormed())) },
        { weight: 1, arbitrary: fc.constantFrom('%', '%zz', '%ff%fe', '+', '', '%00', `${MARKER}=&`) },
      )
      .map((value) => `${name}=${value.slice(0, 2_000).replaceAll(' ', '%20')}`);
  const names = parameters.filter((it) => it.in === 'query').map(({ name }) => name);
  const junk = fc.constantFrom(
    '',
    '=',
    '&&=&',
    '%=1',
    `x=${MARKER}`,
    '__proto__=1',
    'constructor=1',
    'a[]=1',
    '?',
    '%F0=%9F',
  );
  const some =
    names.length === 0
      ? fc.constant([])
      : fc
          .uniqueArray(fc.constantFrom(...names), names.length > 8 ? { maxLength: MOST_PARAMETERS } : {})
          // A listing wants a bound.
          .map((chosen) =>
            names.includes('starts') && chosen.length % 2 === 1
              ? [...new Set(['starts', ...chosen])]
              : chosen,
          );
  return fc
    .tuple(
      some.chain((chosen) => fc.tuple(...chosen.map(pair))),
      fc.oneof({ weight: 9, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.tuple(junk) }),
      fc.oneof({ weight: 9, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.constant(2) }),
    )
    .map(([pairs, extra, times]) => {
      const all = [...Array.from({ length: times }, () => pairs).flat(), ...extra];
      return all.length === 0 ? '' : `?${all.join('&')}`;
    });
}

type Headers = [string, string][];

const keyOf = ({ key, limitedKey }: World): fc.Arbitrary<Headers> =>
  fc.oneof(
    { weight: 16, arbitrary: fc.constant<Headers>([['Authentication', key]]) },
    { weight: 2, arbitrary: fc.constant<Headers>([['Authorization', `Bearer ${limitedKey}`]]) },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Headers>(
        [],
        [['Authentication', MARKER]],
        [['Authentication', '']],
        [['Authorization', `Basic ${MARKER}`]],
        [['Authentication', `${key} ${key}`]],
        [
          ['Authentication', key],
          ['Authentication', key],
        ],
      ),
    },
  );

const oddHeader: fc.Arbitrary<[string, string]> = fc.constantFrom<[string, string][]>(
  ['Accept', `text/${MARKER}`],
  ['Accept', ''],
  ['Accept-Encoding', 'br;q=1, *;q=0'],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', MARKER],
  ['Expect', '100-continue'],
  ['Cookie', `session=${MARKER}`],
  ['Range', 'bytes=0-0'],
  ['If-None-Match', '*'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Forwarded-Host', MARKER],
  ['X-Request-Id', `${MARKER}\u00ff`],
  ['X-Request-Id', 'x'.repeat(300)],
  ['Idempotency-Key', MARKER],
  ['Idempotency-Key', ''],
  ['Idempotency-Key', '\u00fc\u00ff'],
  ['Idempotency-Key', 'x'.repeat(256)],
  ['Host', MARKER],
  ['Host', '[::1'],
  ['Host', 'a b'],
  ['Host', ''],
  ['Upgrade', 'websocket'],
);
