import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import type { ApiEnv } from '../http/environment.ts';
import { pageHeaders } from '../http/page-headers.ts';
import type { Queues } from '../queues/queues.ts';

/** Path of the dashboard. bull-board writes it into its page. */
export const DASHBOARD_PATH = '/ops/queues';

/** Links to web fonts of another host in bull-board's page. Removed, so that no browser contacts that host. */
const WEB_FONTS = /<link href="https:[^>]*>/g;

/** The bull-board dashboard of all queues. */
export function queueDashboard(queues: Queues, { readOnly }: { readOnly: boolean }): Hono<ApiEnv> {
  const server = new HonoAdapter(serveStatic);
  server.setBasePath(DASHBOARD_PATH);
  createBullBoard({
    queues: [queues.imports, queues.deliveries, queues.sources, queues.maintenance].map(
      (queue) => new BullMQAdapter(queue, { readOnlyMode: readOnly }),
    ),
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Ledgerbell' } },
  });
  return new Hono<ApiEnv>()
    .use(
      pageHeaders({
        defaultSrc: ["'self'"],
        // bull-board writes its configuration and some styles into the page.
        scriptSrc: ["'self'", "'unsafe-inline'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
        imgSrc: ["'self'", 'data:'],
        // Its page sets a <base> for the paths of its files.
        baseUri: ["'self'"],
      }),
    )
    .use(async (c, next) => {
      await next();
      if (c.res.headers.get('content-type')?.startsWith('text/html')) {
        c.res = new Response((await c.res.text()).replace(WEB_FONTS, ''), c.res);
      }
    })
    .route('/', server.registerPlugin());
}
