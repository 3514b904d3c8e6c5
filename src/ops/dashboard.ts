import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import type { ApiEnv } from '../http/environment.ts';
import { pageHeaders } from '../http/page-headers.ts';
import type { Queues } from '../queues/queues.ts';

/** Where the dashboard lives; bull-board writes it into its page. */
export const DASHBOARD_PATH = '/ops/queues';

/** The web fonts of another host that bull-board's page names: its own fallbacks do, and no browser tells that host of us. */
const WEB_FONTS = /<link href="https:[^>]*>/g;

/** bull-board over all queues. */
export function queueDashboard(queues: Queues, { readOnly }: { readOnly: boolean }): Hono<ApiEnv> {
  const server = new HonoAdapter(serveStatic);
  server.setBasePath(DASHBOARD_PATH);
  createBullBoard({
    queues: [queues.imports, queues.deliveries, queues.maintenance].map(
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
        // Its page names its files from a <base>.
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
