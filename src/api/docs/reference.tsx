import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Hono } from 'hono';
import { type ApiEnv, pageHeaders } from '../../http/app.ts';
import { INSTALLATION, serveFiles } from '../../http/files.ts';
import { htmlPage } from '../../http/html-page.tsx';
import { EXAMPLE_KEY } from '../openapi/openapi.ts';
import { DocsHeader } from './header.tsx';

/** /docs/api: Swagger UI with the API's OpenAPI document. Its files are served from here, so that the page works without internet access. */
export function referencePages(): Hono<ApiEnv> {
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const files = new Map([
    ...['swagger-ui.css', 'swagger-ui-bundle.js'].map((name) => [name, join(folder, name)] as const),
    ['reference.js', join(INSTALLATION, 'public/docs/reference.js')],
  ]);
  const page = htmlPage(
    {
      title: 'API reference',
      styles: ['/docs/assets/frame.css', '/docs/assets/search.css', '/docs/api/swagger-ui.css'],
    },
    <>
      <DocsHeader url="/docs/api" />
      <main id="main" tabindex={-1} data-example-key={EXAMPLE_KEY} />
      <script src="/docs/api/swagger-ui-bundle.js" />
      <script type="module" src="/docs/api/reference.js" />
      <script type="module" src="/docs/assets/search-field.js" />
    </>,
  );
  return new Hono<ApiEnv>()
    .use(
      // Swagger UI writes style attributes.
      pageHeaders({ styleSrc: ["'self'", "'unsafe-inline'"] }),
    )
    .get('/', (c) => c.html(page))
    .route('/', serveFiles(files, 'public, max-age=3600'));
}
