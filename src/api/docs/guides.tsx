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
import { referencePages } from './reference.tsx';

/** /docs: the guides. The build has made their contents from docs/*.md and the packages' READMEs (guides/main.ts). Here they get their frame. */

/** What the build has made beside the pages: site.json. */
export interface Site {
  /** By the addresses of the pages. */
  pages: Record<string, { title: string /** The headings of its second level. */; headings: Heading[] }>;
  navigation: NavigationGroup[];
}

interface Heading {
  anchor: string;
  heading: string;
}

/** The pages for one kind of reader. */
export interface NavigationGroup {
  heading: string;
  pages: {
    title: string;
    url: string /** A page of a folder, below the page before it. */;
    isPart: boolean;
  }[];
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

function Navigation({ site, url }: { site: Site; url: string }) {
  return (
    <nav id="contents" class="contents" aria-label="Guides">
      {site.navigation.map(({ heading, pages }) => (
        <>
          <h2>{heading}</h2>
          <ul>
            {pages.map((page) => (
              <li class={page.isPart ? 'part' : undefined}>
                <a href={page.url} aria-current={page.url === url ? 'page' : undefined}>
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
  const at = all.findIndex((page) => page.url === url);
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
      styles: ['/docs/assets/console.css', '/docs/assets/docs.css'],
      className: 'docs',
      audience,
    },
    <>
      <header class="top">
        <nav aria-label="Documentation">
          <ul>
            <li>
              <a href="/docs" aria-current={url === '/docs' ? 'page' : undefined}>
                Guides
              </a>
            </li>
            <li>
              <a href="/docs/api">API reference</a>
            </li>
            <li class="narrow">
              <a href="#contents">All pages</a>
            </li>
          </ul>
        </nav>
        <search class="find">
          <form action="/docs">
            <label class="hidden" for="find">
              Search the guides
            </label>
            <input
              id="find"
              name="q"
              type="search"
              placeholder="Search the guides ( / )"
              autocomplete="off"
              maxlength={200}
            />
            <button type="submit">Search</button>
          </form>
          <div id="found" class="found" hidden>
            <p role="status" />
            <ol />
          </div>
        </search>
      </header>
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
    ['console.css', join(PUBLIC, 'ops/console.css')],
  ]);
  const headers = pageHeaders({
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
  });
  const cacheControl = 'public, max-age=300';
  return new Hono<ApiEnv>()
    .route('/api', referencePages())
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
