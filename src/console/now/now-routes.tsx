import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { Runtime } from '../../database/runtime.ts';
import type { ApiEnv } from '../../http/app.ts';
import { sendPage } from '../page/layout.tsx';
import { findAlerts, headlineOf } from './alerts.ts';
import { Headline, NowPage, Rest } from './now-page.tsx';
import { createNowReader, createPoller, type Now, type Poller } from './now-reader.ts';

const READ_EVERY = 2_000;

/** Ten minutes of readings. public/ops/now.js keeps the same number. */
const KEPT = 300;

/** Reads the installation while somebody looks at the page Now. All viewers share one reading. */
export const watchInstallation = (runtime: Pick<Runtime, 'database' | 'health'>): Poller<Now> =>
  createPoller({ read: createNowReader(runtime), every: READ_EVERY, kept: KEPT });

/** GET /ops, and the server-sent events that keep it up to date. */
export const nowRoutes = (watched: Poller<Now>): Hono<ApiEnv> =>
  new Hono<ApiEnv>()
    .get('/', async (c) => {
      const now = await watched.current();
      return sendPage(
        c,
        {
          title: titleOf(now),
          section: 'Now',
          scripts: ['uPlot.iife.min.js', 'now.js'],
          styles: ['uPlot.min.css'],
        },
        <NowPage now={now} />,
      );
    })
    .get('/now', (c) =>
      streamSSE(c, async (stream) => {
        const send = (event: object) => stream.writeSSE({ data: JSON.stringify(event) });
        const first = await watched.current();
        await send({ ...render(first), history: watched.history.map(({ sample }) => sample) });
        if (watched.closed.aborted) return;
        const unsubscribe = watched.subscribe((now) => void send({ ...render(now), sample: now.sample }));
        await new Promise<void>((resolve) => {
          stream.onAbort(resolve);
          watched.closed.addEventListener('abort', () => resolve(), { once: true });
        });
        unsubscribe();
      }),
    );

const rendered = new WeakMap<Now, ReturnType<typeof renderParts>>();

/** The parts of the page that change, rendered once for all viewers. */
function render(now: Now) {
  const known = rendered.get(now) ?? renderParts(now);
  rendered.set(now, known);
  return known;
}

function renderParts(now: Now) {
  const alerts = findAlerts(now);
  return {
    headline: String(<Headline now={now} />),
    rest: String(<Rest now={now} />),
    severity: alerts[0]?.severity ?? 'well',
    title: `${titleOf(now)} · Ledgerbell`,
    announcement: headlineOf(alerts),
  };
}

/** The title of the browser's tab. It shows in the background whether there are alerts. */
function titleOf(now: Now): string {
  const { length } = findAlerts(now);
  return length === 0 ? 'All is well' : `(${length}) Not well`;
}
