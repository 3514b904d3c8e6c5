import { Hono } from 'hono';
import type { ApiEnv } from '../http/environment.ts';
import { pageHeaders } from '../http/page-headers.ts';
import type { Runtime } from '../runtime.ts';
import { consoleAssets } from './console/assets.ts';
import { auditPage } from './console/audit-page.tsx';
import { deliveriesPage } from './console/deliveries-page.tsx';
import { deliveryRoutes } from './console/delivery-routes.tsx';
import { answerErrorPage } from './console/error-page.tsx';
import { importRoutes } from './console/import-routes.tsx';
import { importsPage } from './console/imports-page.tsx';
import type { Now } from './console/now-reader.ts';
import { nowRoutes } from './console/now-routes.tsx';
import { createConsoleContext } from './console/operator.ts';
import type { Poller } from './console/poller.ts';
import { replayRoutes } from './console/replay-routes.tsx';
import { sourceRoutes } from './console/source-routes.tsx';
import { sourcesPage } from './console/sources-page.tsx';
import { tracePage } from './console/trace-page.tsx';
import { webhookRoutes } from './console/webhook-routes.tsx';
import { webhooksPage } from './console/webhooks-page.tsx';

/** /ops: the console. Its pages are rendered here, and load nothing from elsewhere. */
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
    .route('/trace', tracePage(context))
    .route('/audit', auditPage(runtime));
}
