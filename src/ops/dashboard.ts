import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import type { ApiEnv } from '../api/environment.ts';
import { pageHeaders } from '../api/pages/headers.ts';
import type { Queues } from '../queues/queues.ts';

/** Where the dashboard lives; bull-board writes it into its page. */
export const DASHBOARD_PATH = '/ops/queues';

/** bull-board over all queues. Its page names web fonts of another host; the policy keeps browsers from asking for them. */
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
      }),
    )
    .route('/', server.registerPlugin());
}
