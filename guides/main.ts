import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import MiniSearch from 'minisearch';
import type { Site } from '../src/api/docs/guides.tsx';
import { readNavigation } from './navigation.ts';
import { isSearched, readPages, weightOf } from './pages.ts';
import { render, resolveLink } from './render.ts';
import { OPTIONS } from './search.ts';

/**
 * Builds what the API serves at /docs, into a folder: the pages without their frame, the navigation, and the index of the search. The frame is
 * added when a page is served (src/api/docs/guides.tsx).
 */
export function buildGuides(root: string, folder: string): void {
  const pages = readPages(root);
  const index = new MiniSearch(OPTIONS);
  let id = 0;
  const site: Site = { pages: {}, navigation: readNavigation(pages) };
  for (const page of pages) {
    const { html, sections } = render(page, (link) => resolveLink(root, page.file, link));
    put(join(folder, 'pages', `${page.url}.html`), html);
    const headings = sections.slice(1).filter(({ level }) => level <= 2);
    site.pages[page.url] = {
      title: page.title,
      headings: headings.map(({ anchor, heading }) => ({ anchor, heading })),
    };
    if (!isSearched(page)) continue;
    for (const [at, { anchor, heading, text, names }] of sections.entries()) {
      id += 1;
      const url = at === 0 ? page.url : `${page.url}#${anchor}`;
      index.add({
        id,
        url,
        page: page.title,
        heading,
        text,
        names: names.join(' '),
        weight: weightOf(page),
      });
    }
  }
  put(join(folder, 'site.json'), JSON.stringify(site));
  const assets = join(folder, 'assets');
  put(join(assets, 'index.json'), JSON.stringify(index));
  const library = dirname(createRequire(import.meta.url).resolve('minisearch'));
  put(join(assets, 'minisearch.js'), readFileSync(join(library, '../es/index.js')));
  // Browsers ask the index with the rules by which it was made.
  put(join(assets, 'search.js'), readFileSync(join(root, 'dist/guides/search.js')));
  for (const image of readdirSync(join(root, 'docs/images')))
    put(join(folder, 'images', image), readFileSync(join(root, 'docs/images', image)));
}

/** Writes a file. A service that runs, or another build, finds the former file or this one, and never a part. */
function put(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const part = `${path}.${process.pid}`;
  writeFileSync(part, content);
  renameSync(part, path);
}

if (process.argv[1] === import.meta.filename) buildGuides(process.cwd(), 'dist/docs');
