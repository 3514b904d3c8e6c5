import { dirname, join, normalize } from 'node:path';
import { lexer, type Token, type Tokens } from 'marked';
import type { NavigationGroup } from '../src/api/docs/guides.tsx';
import { FIRST_PAGE, type Page } from './pages.ts';

/** The navigation of /docs. docs/README.md is its one source: each heading is a reader, and the links below it are the reader's pages. */

function linksOf(tokens: readonly Token[]): string[] {
  return tokens.flatMap((token) => {
    if (token.type === 'link') return [(token as Tokens.Link).href];
    const inner =
      token.type === 'list' ? (token as Tokens.List).items : 'tokens' in token ? token.tokens : [];
    return linksOf(inner ?? []);
  });
}

/** The page that a page belongs to: `receiving/flask.md` to `receiving.md`, or to `receiving-webhooks.md`. */
function isPartOf({ file }: Page, parent: Page): boolean {
  const folder = dirname(file);
  const name = parent.file.replace(/\.md$/, '');
  return (
    folder !== 'docs' && (name === folder || (name.startsWith(`${folder}-`) && dirname(name) === 'docs'))
  );
}

/**
 * Reads the navigation.
 * @throws {Error} that names the pages to which nothing leads.
 */
export function readNavigation(pages: readonly Page[]): NavigationGroup[] {
  const first = pages.find(({ file }) => file === FIRST_PAGE);
  if (first === undefined) throw new Error(`${FIRST_PAGE} is missing.`);
  const groups: { heading: string; named: Page[] }[] = [];
  const seen = new Set<Page>([first]);
  for (const token of lexer(first.markdown)) {
    if (token.type === 'heading' && token.depth === 2) groups.push({ heading: token.text, named: [] });
    for (const link of linksOf([token])) {
      const file = normalize(join(dirname(FIRST_PAGE), link.replace(/#.*/, '')));
      const page = pages.find((it) => it.file === file);
      if (page === undefined || seen.has(page) || groups.length === 0) continue;
      seen.add(page);
      groups.at(-1)?.named.push(page);
    }
  }
  const rest = new Set(pages.filter((page) => !seen.has(page)));
  const navigation = groups.map(({ heading, named }) => ({
    heading,
    pages: named.flatMap((page) => {
      const parts = [...rest].filter((it) => isPartOf(it, page));
      for (const part of parts) rest.delete(part);
      return [
        { title: page.title, url: page.url, isPart: false },
        ...parts.map(({ title, url }) => ({ title, url, isPart: true })),
      ];
    }),
  }));
  if (rest.size > 0)
    throw new Error(
      `Nothing in ${FIRST_PAGE} leads to ${[...rest].map(({ file }) => file).join(', ')}. Link to each of them there.`,
    );
  return navigation.filter((group) => group.pages.length > 0);
}
