import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import * as v from 'valibot';
import { byOperator, recordChange } from '../../customers/audit.ts';
import type { Runtime } from '../../database/runtime.ts';
import { type ApiEnv, createMiddleware, pageHeaders } from '../../http/app.ts';
import type { Queues } from '../../platform/queues.ts';
import { operatorOf } from '../page/operator.ts';

/** The page of the queues in the console, by Bull Board. */

/** Path of the dashboard. bull-board writes it into its page. */
export const DASHBOARD_PATH = '/ops/queues';

/** Links to web fonts of another host in bull-board's page. They are removed, so that no browser contacts that host. */
const WEB_FONTS = /<link href="https:[^<>]*>/g;

/** The bull-board dashboard of all queues. */
export function queueDashboard(runtime: Runtime): Hono<ApiEnv> {
  const { config, queues } = runtime;
  const readOnly = config.queueDashboard === 'read-only';
  const server = new HonoAdapter(serveStatic);
  server.setBasePath(DASHBOARD_PATH);
  createBullBoard({
    queues: queues.all.map((queue) => describe(queue, readOnly)),
    serverAdapter: server,
    options: {
      uiConfig: {
        boardTitle: 'Ledgerbell',
        miscLinks: [{ text: 'Console', url: '/ops' }],
        hideDocsLink: true,
      },
    },
  });
  return new Hono<ApiEnv>()
    .use(
      pageHeaders({
        defaultSrc: ["'self'"],
        // bull-board writes its configuration and some styles into the page.
        scriptSrc: ["'self'", "'unsafe-inline'"],
        styleSrc: ["'self'", "'unsafe-inline'"],
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
    .use(recordJobChanges(runtime))
    .route('/', server.registerPlugin());
}

/** The requests with which bull-board changes one queue or all queues: `/api/queues/imports/job-1/retry/failed`. */
const CHANGE = /\/api\/queues(?:\/(imports|deliveries(?:-\d+)?|sources))?(?:\/([\s\S]+))?$/;

/** Records a change of jobs before it is made, because Redis and MySQL cannot share a transaction. */
const recordJobChanges = (runtime: Runtime) =>
  createMiddleware(async (c, next) => {
    const isChange = c.req.method !== 'GET' && c.req.method !== 'HEAD';
    if (isChange && runtime.config.queueDashboard === 'writable') {
      const [, queue, what = ''] = CHANGE.exec(c.req.path) ?? [];
      await recordChange(runtime.database, byOperator(operatorOf(c, runtime), null), {
        action: 'change jobs',
        subject: queue === undefined ? 'all queues' : `queue ${queue}`,
        detail: what,
      });
    }
    await next();
  });

/** The subjects of jobs: the member of the job's data with the subject's id, the subject's name, and its page in the console. */
const SUBJECTS = [
  { member: 'webhookId', name: 'webhook', path: '/ops/webhooks/' },
  { member: 'customerId', name: 'customer', path: '/ops/customers/' },
  { member: 'sourceId', name: 'source', path: '/ops/sources/' },
] as const;

const Data = v.record(v.string(), v.unknown());

/** The subject of a job; null: it has no page. */
function subjectOf(data: unknown): { name: string; href: string } | null {
  const fields = v.safeParse(Data, data);
  if (!fields.success) return null;
  for (const { member, name, path } of SUBJECTS) {
    const id = fields.output[member];
    if (typeof id === 'string') return { name: `${name} ${id}`, href: `${path}${encodeURIComponent(id)}` };
  }
  return null;
}

/** Names each job after its subject ("webhook 12 · deliver"), and links it to the subject's page in the console. */
function describe(queue: Queues['all'][number], readOnly: boolean): BullMQAdapter {
  const adapter = new BullMQAdapter(queue, {
    readOnlyMode: readOnly,
    externalJobUrl: ({ data }) => {
      const subject = subjectOf(data);
      return { displayText: subject?.name ?? 'Console', href: subject?.href ?? '/ops' };
    },
  });
  adapter.setFormatter('name', ({ name, data }: { name: string; data: unknown }) => {
    const subject = subjectOf(data);
    return subject === null ? name : `${subject.name} · ${name}`;
  });
  return adapter;
}
