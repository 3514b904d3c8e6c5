import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Context, Hono } from 'hono';
import type { Child } from 'hono/jsx';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { mysqlProblem } from '../../database/errors.ts';
import { type ApiEnv, answerError } from '../../http/app.ts';
import { INSTALLATION, serveFiles } from '../../http/files.ts';
import { htmlPage } from '../../http/html-page.tsx';
import { VERSION } from '../../platform/config.ts';
import type { Log } from '../../platform/log.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { Problem } from '../../platform/problem.ts';
import { DASHBOARD_PATH } from '../queues/dashboard.ts';
import { LinkButton } from './elements.tsx';
import { otherZone, shownZone } from './zone.ts';

/** The frame of every page of the console, and the files that its pages load. */

/** Where the files of the console are served. */
export const ASSETS_PATH = '/ops/assets';

/** Serves the style sheet and the scripts of the console, and those of uPlot, so that the pages work without internet access. */
export function consoleAssets(): Hono<ApiEnv> {
  const own = join(INSTALLATION, 'public/ops');
  const uplot = join(dirname(createRequire(import.meta.url).resolve('uplot/package.json')), 'dist');
  const files = new Map([
    ...['console.css', 'live.js', 'now.js'].map((name) => [name, join(own, name)] as const),
    ...['uPlot.iife.min.js', 'uPlot.min.css'].map((name) => [name, join(uplot, name)] as const),
  ]);
  return serveFiles(files, 'private, max-age=300');
}

/** The pages of the navigation, in its order. */
const PAGES = [
  ['Now', '/ops'],
  ['Webhooks', '/ops/webhooks'],
  ['Deliveries', '/ops/deliveries'],
  ['Imports', '/ops/imports'],
  ['Sources', '/ops/sources'],
  ['Books', '/ops/books'],
  ['Movements', '/ops/movements'],
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
  /** The customer that the page is about. The search takes an amount as one of its movements. */
  customerId?: string | undefined;
  /** false: the page does not read itself again, because that may cost much. */
  isRenewed?: boolean;
  status?: ContentfulStatusCode;
}

/** The label of the search field. */
const SEARCHED = 'Find by id, unique_id, IBAN, title, customer, or amount and customer';

/** Leads to the same page in the other zone. */
function ZoneSwitch({ c }: { c: Context }) {
  const own: ZoneOffset | undefined = c.get('ownZone');
  const other = own && otherZone(own, c.req.path + new URL(c.req.url).search);
  return other ? (
    <>
      {' '}
      · <a href={other.href}>show them in {other.name}</a>
    </>
  ) : null;
}

/** Answers with a page of the console. */
export function sendPage(
  c: Context,
  {
    title,
    section,
    scripts = [],
    styles = [],
    query = '',
    customerId,
    isRenewed = true,
    status = 200,
  }: PageOptions,
  content: Child,
): Response | Promise<Response> {
  // A page shows the current state, and may show account data.
  c.header('Cache-Control', 'no-store');
  const page = htmlPage(
    { title, styles: ['console.css', ...styles].map((file) => `${ASSETS_PATH}/${file}`) },
    <>
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
              {SEARCHED}
            </label>
            <input
              id="find"
              name="q"
              type="search"
              value={query}
              placeholder={
                customerId === undefined ? 'Id, IBAN, title or customer' : 'Id, IBAN, title or amount'
              }
              autocomplete="off"
              maxlength={300}
            />
            {customerId === undefined ? null : <input type="hidden" name="customer" value={customerId} />}
            <button type="submit">Find</button>
          </form>
        </search>
      </header>
      <p id="standing" class="standing" data-live={section === 'Now' ? '/ops/now' : '/ops/now?brief'}>
        <a class="verdict" href="/ops">
          Is anything wrong?
        </a>
      </p>
      <main id="main" tabindex={-1} data-renewed={isRenewed ? undefined : 'no'}>
        {content}
      </main>
      <footer>
        Ledgerbell {VERSION} · <a href="/readyz">Readiness</a> · times are {shownZone().text.trim()}
        <ZoneSwitch c={c} />
      </footer>
      {[...scripts, 'live.js'].map((file) => (
        <script src={`${ASSETS_PATH}/${file}`} defer />
      ))}
    </>,
  );
  return c.html(page, status);
}

/** Answers an error as a page if a browser asks, and otherwise like the API. */
export async function answerErrorPage(error: unknown, c: Context<ApiEnv>, log: Log): Promise<Response> {
  const answer = answerError(error, c, log);
  if (!c.req.header('accept')?.includes('text/html')) return answer;
  const { title, detail } = (await answer.clone().json()) as { title: string; detail: string };
  const isOutage = answer.status === 503;
  return sendPage(
    c,
    { title, status: answer.status as 404 },
    <section class="confirm">
      <h1>
        {isOutage
          ? `MySQL ${mysqlProblem(error) ?? (error instanceof Problem ? 'does not answer' : 'cannot be reached')}`
          : title}
      </h1>
      <p>
        {isOutage
          ? 'This page is read from MySQL. Nothing that was accepted is lost. This page is read again when MySQL works again.'
          : detail.replace(', or this API key cannot see it', '')}
      </p>
      <LinkButton primary href="/ops" text="Now" />
    </section>,
  );
}

export interface Confirmation {
  /** The question, which names what is changed. */
  question: string;
  /** The effect, and how many things it affects. */
  consequences: readonly Child[];
  /** The text of the button that does it. */
  button: string;
  /** Makes the button red, because the action takes something away from somebody. */
  dangerous?: boolean;
  /** Fields that are sent along. */
  fields?: Record<string, string>;
  /** Where "Back" leads. */
  back: string;
}

/** Answers with the page that asks before something is changed. Its form sends a POST to the same path. */
export const sendConfirmation = (
  c: Context,
  section: NonNullable<PageOptions['section']>,
  { question, consequences, button, dangerous = false, fields = {}, back }: Confirmation,
) =>
  sendPage(
    c,
    { title: question, section },
    <section class="confirm">
      <h1>{question}</h1>
      <ul>
        {consequences.map((it) => (
          <li>{it}</li>
        ))}
      </ul>
      <form method="post" action={c.req.path}>
        {Object.entries(fields).map(([name, value]) => (
          <input type="hidden" name={name} value={value} />
        ))}
        <button type="submit" class={dangerous ? 'danger' : 'primary'}>
          {button}
        </button>{' '}
        <LinkButton href={back} text="Back" />
      </form>
    </section>,
  );
