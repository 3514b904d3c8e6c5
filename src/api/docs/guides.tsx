import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Hono } from 'hono';
import { raw } from 'hono/html';
import { type ApiEnv, pageHeaders } from '../../http/app.ts';
import { INSTALLATION, serveFiles } from '../../http/files.ts';
import { htmlPage } from '../../http/html-page.tsx';
import { VERSION } from '../../platform/config.ts';
import { notFound, Problem } from '../../platform/problem.ts';
import type { Audience } from '../openapi/headers.ts';
import { DocsHeader } from './header.tsx';
import { referencePages } from './reference.tsx';

/** /docs: the guides. The build has made their contents from docs/*.md and the packages' READMEs (guides/main.ts). Here they get their frame. */

/** The content of site.json, which the build writes beside the pages. */
export interface Site {
  /** By the addresses of the pages. */
  pages: Record<string, SitePage>;
  navigation: NavigationGroup[];
}

interface SitePage {
  title: string;
  /** Those of the first and the second level, without the title. */
  headings: { anchor: string; heading: string }[];
}

/** The pages for one kind of reader. */
export interface NavigationGroup {
  heading: string;
  pages: NavigationEntry[];
}

interface NavigationEntry {
  title: string;
  url: string;
  /** Whether the page belongs to the page before it, and is shown below that. */
  isPart: boolean;
}

const BUILT = join(INSTALLATION, 'dist/docs');
const PUBLIC = join(INSTALLATION, 'public');

/** null: the guides are not built, as in a checkout whose service runs from its sources. */
function readSite(): Site | null {
  const path = join(BUILT, 'site.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Site) : null;
}

/** The files of a folder, by their names. */
const filesIn = (folder: string) =>
  existsSync(folder) ? readdirSync(folder).map((name) => [name, join(folder, name)] as const) : [];

/** Whether an entry of the navigation leads to a page, or into it. */
const isAt = (entry: NavigationEntry, url: string) => entry.url.split('#')[0] === url;

function Navigation({ site, url }: { site: Site; url: string }) {
  return (
    <nav id="contents" class="contents" aria-label="Guides">
      {site.navigation.map(({ heading, pages }) => (
        <>
          <h2>{heading}</h2>
          <ul>
            {pages.map((page) => (
              <li class={page.isPart ? 'part' : undefined}>
                <a href={page.url} aria-current={isAt(page, url) ? 'page' : undefined}>
                  {page.title}
                </a>
              </li>
            ))}
          </ul>
        </>
      ))}
    </nav>
  );
}

function Neighbours({ site, url }: { site: Site; url: string }) {
  const all = site.navigation.flatMap(({ pages }) => pages);
  const at = all.findIndex((page) => isAt(page, url));
  const [before, after] = [all[at - 1], all[at + 1]];
  return (
    <nav class="neighbours" aria-label="Previous and next page">
      {before === undefined ? <span /> : <a href={before.url}>← {before.title}</a>}
      {after === undefined ? null : <a href={after.url}>{after.title} →</a>}
    </nav>
  );
}

/** A page in its frame. @param content HTML that the build has made. */
function frame(site: Site, url: string, audience: Audience, content: string) {
  const { title, headings } = site.pages[url] ?? { title: 'Guides', headings: [] };
  return htmlPage(
    {
      title,
      styles: ['frame.css', 'console.css', 'search.css', 'docs.css'].map((name) => `/docs/assets/${name}`),
      className: 'docs',
      audience,
    },
    <>
      <DocsHeader url={url} />
      <div class="guides">
        <main id="main" tabindex={-1}>
          {raw(content)}
          <Neighbours site={site} url={url} />
        </main>
        {headings.length < 2 ? null : (
          <nav class="on-this-page" aria-label="On this page">
            <h2>On this page</h2>
            <ul>
              {headings.map(({ anchor, heading }) => (
                <li>
                  <a href={`#${anchor}`}>{heading}</a>
                </li>
              ))}
            </ul>
          </nav>
        )}
        <Navigation site={site} url={url} />
      </div>
      <footer>Ledgerbell {VERSION}</footer>
      <script type="module" src="/docs/assets/search-field.js" />
      <script type="module" src="/docs/assets/docs.js" />
    </>,
  );
}

/** Everything below /docs. @param audience whose listener serves the pages. In examples, browsers fill in its address. */
export function docsPages(audience: Audience): Hono<ApiEnv> {
  const site = readSite();
  const assets = new Map([
    ...filesIn(join(PUBLIC, 'docs')),
    ...filesIn(join(BUILT, 'assets')),
    ...['frame.css', 'console.css'].map((name) => [name, join(PUBLIC, 'ops', name)] as const),
  ]);
  const headers = pageHeaders();
  const cacheControl = 'public, max-age=300';
  return new Hono<ApiEnv>()
    .route('/api', referencePages())
    .use('/assets/*', headers)
    .use('/images/*', headers)
    .route('/assets', serveFiles(assets, cacheControl))
    .route('/images', serveFiles(new Map(filesIn(join(BUILT, 'images'))), cacheControl))
    .get('/*', headers, async (c) => {
      const url = c.req.path;
      if (site === null) throw new Problem('not-found', 'The guides are not built. Run: npm run build');
      if (!Object.hasOwn(site.pages, url)) throw notFound('page');
      const content = await readFile(join(BUILT, 'pages', `${url}.html`), 'utf8');
      c.header('Cache-Control', cacheControl);
      return c.html(frame(site, url, audience, content));
    });
}
