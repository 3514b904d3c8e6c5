import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { type ApiEnv, createHandlers, pageHeaders } from '../http/app.ts';
import { notFound, PROBLEMS, type ProblemName } from '../platform/problem.ts';

/** The pages of the API's documentation: Swagger UI, and a page for each error. */

/** Swagger UI's files. They are served from here, so that the page works without internet access. */
const FILES: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css'],
  ['swagger-ui-bundle.js', 'text/javascript'],
]);

const START = `window.ui = SwaggerUIBundle({ url: '/openapi.json', dom_id: '#docs', deepLinking: true, tryItOutEnabled: true });`;

/** /docs: Swagger UI with the API's OpenAPI document. */
export function docsPages(): Hono<ApiEnv> {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const page = (c: Context) =>
    c.html(html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Ledgerbell API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
  </head>
  <body>
    <div id="docs"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>`);

  return new Hono<ApiEnv>()
    .use(
      pageHeaders({
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        // Swagger UI writes style attributes.
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        connectSrc: ["'self'"],
      }),
    )
    .get('/', page)
    .get('/start.js', (c) => c.body(START, 200, { 'Content-Type': 'text/javascript' }))
    .get('/:file', async (c) => {
      const file = c.req.param('file');
      const type = FILES.get(file);
      if (type === undefined) throw notFound('file');
      return c.body(await readFile(join(folder, file)), 200, {
        'Content-Type': type,
        'Cache-Control': 'public, max-age=3600',
      });
    });
}

const isProblemName = (name: string): name is ProblemName => Object.hasOwn(PROBLEMS, name);

/** GET /problems/:name: the page that the `type` of an error refers to (RFC 9457, section 3.1.1). */
export const getProblem = () =>
  createHandlers((c) => {
    const name = c.req.param('name') ?? '';
    if (!isProblemName(name)) throw notFound('problem');
    const { status, title, cause, remedy, retry } = PROBLEMS[name];
    return c.text(
      [
        `${title} (${status}, /problems/${name})`,
        `What happened: ${cause}`,
        `What to do: ${remedy}`,
        `Retry: ${retry}`,
        'The fields detail and errors of the answer are about your request.\n',
      ].join('\n\n'),
    );
  });
