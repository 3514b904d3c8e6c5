import { expect, it } from 'vitest';
import { builtPatterns, findSlowness, type Pattern, patternsOf, productSources } from './support/patterns.ts';

/**
 * Senders of files and of requests choose the texts that patterns read. A pattern that can read a text in many ways takes minutes for a text
 * of some kilobytes.
 */

/**
 * Patterns of polynomial time that never get a long text: the pattern, the most characters that it gets, and what limits them.
 * Exponential ones cannot be listed.
 */
const BOUNDED: ReadonlyMap<string, string> = new Map();

/** Calls of the constructor, as `file:line`, that importing the sources does not reach, and why their text needs no check. */
const NOT_REACHED: ReadonlyMap<string, string> = new Map();

const sources = productSources().map(patternsOf);
const built = builtPatterns(sources.filter(({ isEntry }) => !isEntry).map(({ file }) => file));

const textOf = ({ source, flags }: Pick<Pattern, 'source' | 'flags'>): string => `/${source}/${flags}`;
const placeOf = ({ file, line }: Pick<Pattern, 'file' | 'line'>): string => `${file}:${line}`;

it('finds literals, patterns that are built of text when a file is loaded, and those of functions', async () => {
  const literals = sources.flatMap((source) => source.literals);
  expect(literals.length).toBeGreaterThan(300);
  expect(literals.map(({ file }) => file)).toContain('packages/statements/src/ofx/parse.ts');
  const texts = (await built).map(({ file, source }) => `${file} ${source}`);
  expect(texts).toContainEqual(
    expect.stringMatching(/^packages\/statements\/src\/ofx\/parse\.ts ENCODING\\s\*:/),
  );
  expect(texts).toContainEqual(expect.stringMatching(/^src\/webhooks\/webhook-input\.ts \^\(\?:\[cC\]/));
  expect(texts).toContainEqual(
    expect.stringMatching(/^packages\/statements\/src\/profiles\/values\.ts .*\\d/),
  );
});

it('knows the patterns of all calls of the constructor', async () => {
  const reached = new Set((await built).map(placeOf));
  const unknown = sources.flatMap(({ calls }) => calls.map(placeOf)).filter((place) => !reached.has(place));
  expect(unknown.toSorted()).toEqual([...NOT_REACHED.keys()].toSorted());
});

it.each([
  ['(?:a+)+b', '', 'exponential', false],
  // scslre does not see this one, because it repeats more than one character.
  ['^(?:<!--[\\s\\S]{0,1000}?-->\\s*)*x', '', 'exponential', false],
  ['^a*a*$', '', 'polynomial of degree 2', false],
  ['\\s+$', '', 'polynomial of degree 2', true],
])('finds what is slow about /%s/%s', async (source, flags, kind, restarts) => {
  expect(await findSlowness([{ source, flags }])).toMatchObject([{ kind, restarts }]);
});

it('no pattern is slow for a long text', async () => {
  const places = new Map<string, Pattern[]>();
  for (const pattern of [...sources.flatMap(({ literals }) => literals), ...(await built)])
    places.set(textOf(pattern), [...(places.get(textOf(pattern)) ?? []), pattern]);
  const patterns = [...places.values()].flatMap(([pattern]) => (pattern === undefined ? [] : [pattern]));
  const slowness = await findSlowness(patterns);
  const slow = patterns.flatMap((pattern, at) => {
    const found = slowness[at] ?? null;
    return found === null ? [] : [{ ...found, text: textOf(pattern) }];
  });
  const refused = slow.filter(({ text, kind }) => !BOUNDED.has(text) || !kind.startsWith('polynomial'));
  const report = refused.map(({ text, kind, attack, restarts }) =>
    [
      `${[...new Set(places.get(text)?.map(placeOf))].join(', ')}: ${text}`,
      `  ${kind}${restarts ? ', because a search begins again at each character' : ''}; ${attack}`,
    ].join('\n'),
  );
  expect(report.join('\n')).toBe('');
  const found = new Set(slow.map(({ text }) => text));
  expect([...BOUNDED.keys()].filter((text) => !found.has(text))).toEqual([]);
});
