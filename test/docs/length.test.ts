import { readFileSync } from 'node:fs';
import { Marked } from 'marked';
import { expect, it } from 'vitest';
import { listFiles } from './repository-files.ts';

/** Words that a page may have, as `wc -w` counts them. */
const MOST_ON_A_PAGE = 2_500;

/** Words that all pages may have together, without code. The number of this day, rounded up to the next 100. Lower it after each cut. */
const LIMIT = 62_000;

const readPages = (...names: string[]) =>
  listFiles(...names).map((path) => ({ path, text: readFileSync(path, 'utf8') }));

const pages = readPages('README.md', 'docs/*.md');
const readmes = readPages('packages/*/README.md');

/** Like `wc -w`: what stands between spaces. */
const countWords = (text: string): number => text.split(/\s+/).filter((word) => word !== '').length;

/** Words outside of code, HTML and the targets of links. */
function countProse(text: string): number {
  let words = 0;
  const marked = new Marked({
    walkTokens(token) {
      if (token.type === 'codespan' || (token.type === 'text' && !('tokens' in token && token.tokens)))
        words += token.raw.match(/[A-Za-z0-9][\w'’-]*/g)?.length ?? 0;
    },
  });
  marked.parse(text);
  return words;
}

it('counts words of prose, and neither code nor HTML nor the targets of links', () => {
  const text =
    "# One page\n\n```sh\nnot this\n```\n\nSee [the page](docs/other.md) of today's `code`.<br>\n\n    nor this\n";
  expect(countProse(text)).toBe(8);
  expect(countWords('one  two\n| three |')).toBe(5);
});

it.each([...pages, ...readmes])('$path is short enough for one reading', ({ path, text }) => {
  const words = countWords(text);
  expect(
    words,
    `${path} has ${words} words, and may have ${MOST_ON_A_PAGE}. Remove what another page says, or move a subject to a page of its own`,
  ).toBeLessThanOrEqual(MOST_ON_A_PAGE);
});

it('all pages together have no more words than before', () => {
  const counts = pages.map(({ path, text }) => ({ path, words: countProse(text) }));
  const total = counts.reduce((sum, { words }) => sum + words, 0);
  const longest = counts.toSorted((one, other) => other.words - one.words).slice(0, 5);
  const names = longest.map(({ path, words }) => `${path} ${words}`).join(', ');
  expect(
    total,
    `docs and README.md have ${total} words, and may have ${LIMIT}. Say what is new in fewer words, or cut elsewhere. The longest pages: ${names}`,
  ).toBeLessThanOrEqual(LIMIT);
});
