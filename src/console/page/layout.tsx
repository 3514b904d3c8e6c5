import type { Context } from 'hono';
import { html } from 'hono/html';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { VERSION } from '../../platform/config.ts';
import { DASHBOARD_PATH } from '../queues/dashboard.ts';
import { ASSETS_PATH } from './assets.ts';

/** The pages of the navigation, in its order. */
const PAGES = [
  ['Now', '/ops'],
  ['Webhooks', '/ops/webhooks'],
  ['Deliveries', '/ops/deliveries'],
  ['Imports', '/ops/imports'],
  ['Sources', '/ops/sources'],
  ['Books', '/ops/books'],
  ['Trace', '/ops/trace'],
  ['Audit', '/ops/audit'],
  ['Queues', DASHBOARD_PATH],
] as const;

export interface PageOptions {
  /** The title of the page and of the browser's tab. */
  title: string;
  /** The entry of the navigation that the page belongs to. */
  section?: (typeof PAGES)[number][0];
  /** Scripts and style sheets below /ops/assets, in addition to those of all pages. */
  scripts?: readonly string[];
  styles?: readonly string[];
  /** The search term, shown in the search field. */
  query?: string;
  status?: ContentfulStatusCode;
}

/** Answers with a page of the console. */
export function sendPage(
  c: Context,
  { title, section, scripts = [], styles = [], query = '', status = 200 }: PageOptions,
  content: Child,
): Response | Promise<Response> {
  // A page shows the current state, and may show account data.
  c.header('Cache-Control', 'no-store');
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title} · Ledgerbell</title>
        <link rel="icon" href="data:," />
        {['console.css', ...styles].map((file) => (
          <link rel="stylesheet" href={`${ASSETS_PATH}/${file}`} />
        ))}
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <header class="top">
          <nav aria-label="Console">
            <ul>
              {PAGES.map(([name, path]) => (
                <li>
                  <a href={path} {...(name === section ? { 'aria-current': 'page' } : {})}>
                    {name}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
          <search class="find">
            <form action="/ops/trace">
              <label class="hidden" for="find">
                Find by id, unique_id or customer
              </label>
              <input
                id="find"
                name="q"
                type="search"
                value={query}
                placeholder="Id, unique_id or customer"
                autocomplete="off"
                maxlength={300}
              />
              <button type="submit">Find</button>
            </form>
          </search>
        </header>
        <main id="main" tabindex={-1}>
          {content}
        </main>
        <footer>
          Ledgerbell {VERSION} · <a href="/readyz">Readiness</a> · all times are UTC
        </footer>
        {scripts.map((file) => (
          <script src={`${ASSETS_PATH}/${file}`} defer />
        ))}
      </body>
    </html>
  );
  return c.html(html`<!doctype html>${page}`, status);
}
