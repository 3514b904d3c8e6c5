import { Hono } from 'hono';
import type { Runtime } from '../../database/runtime.ts';
import { type ApiEnv, pageHeaders } from '../../http/app.ts';
import { auditPage } from '../audit/audit-page.tsx';
import { booksRoutes } from '../books/books-routes.tsx';
import { deliveriesPage } from '../deliveries/deliveries-page.tsx';
import { deliveryRoutes } from '../deliveries/delivery-routes.tsx';
import { replayRoutes } from '../deliveries/replay-routes.tsx';
import { importRoutes } from '../imports/import-routes.tsx';
import { importsPage } from '../imports/imports-page.tsx';
import type { Now, Poller } from '../now/now-reader.ts';
import { nowRoutes } from '../now/now-routes.tsx';
import { consoleAssets } from '../page/assets.ts';
import { answerErrorPage } from '../page/error-page.tsx';
import { createConsoleContext } from '../page/operator.ts';
import { sourceRoutes } from '../sources/source-routes.tsx';
import { sourcesPage } from '../sources/sources-page.tsx';
import { tracePage } from '../trace/trace-page.tsx';
import { webhookRoutes } from '../webhooks/webhook-routes.tsx';
import { webhooksPage } from '../webhooks/webhooks-page.tsx';

/** /ops: the console. The server renders its pages. They load nothing from other hosts. */
export function opsConsole(runtime: Runtime, watched: Poller<Now>): Hono<ApiEnv> {
  const context = createConsoleContext(runtime);
  const app = new Hono<ApiEnv>();
  app.onError((error, c) => answerErrorPage(error, c, runtime.log));
  return app
    .use(
      pageHeaders({
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        connectSrc: ["'self'"],
        imgSrc: ["'self'", 'data:'],
      }),
    )
    .route('/assets', consoleAssets())
    .route('/', nowRoutes(watched))
    .route('/webhooks', webhooksPage(runtime))
    .route('/webhooks', webhookRoutes(context))
    .route('/webhooks', replayRoutes(context))
    .route('/deliveries', deliveriesPage(runtime))
    .route('/deliveries', deliveryRoutes(context))
    .route('/imports', importsPage(runtime))
    .route('/imports', importRoutes(context))
    .route('/sources', sourcesPage(runtime))
    .route('/sources', sourceRoutes(context))
    .route('/books', booksRoutes(context))
    .route('/trace', tracePage(context))
    .route('/audit', auditPage(runtime));
}
