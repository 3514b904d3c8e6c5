import { Hono } from 'hono';
import { html } from 'hono/html';
import type { ApiEnv } from '../http/environment.ts';
import { pageHeaders } from '../http/page-headers.ts';
import type { Runtime } from '../runtime.ts';
import { VERSION } from '../version.ts';
import {
  readUnfinishedImports,
  readWebhooksNeedingAttention,
  type WebhookNeedingAttention,
} from './console-queries.ts';
import { DASHBOARD_PATH } from './dashboard.ts';

const STYLE = `
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 68rem; padding: 0 1rem; color: #1c2430; background: #fff }
  h1 { font-size: 1.4rem } h2 { font-size: 1.05rem; margin-top: 2rem }
  table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid #e3e7ec; vertical-align: top }
  th { font-weight: 600; color: #566; white-space: nowrap } .calm { color: #567 } .num { text-align: right; font-variant-numeric: tabular-nums }
  .time { white-space: nowrap; font-variant-numeric: tabular-nums }
  @media (max-width: 48rem) { table { display: block; overflow-x: auto } }
  @media (prefers-color-scheme: dark) { body { background: #14181f; color: #dde3ea } th, td { border-color: #2b323c } th, .calm { color: #9aa7b5 } a { color: #8ab4ff } }`;

/** /ops: the queues, webhooks needing attention and unfinished imports, on one page that reloads every 10 s. */
export function opsConsole({ database, queues }: Runtime): Hono<ApiEnv> {
  return new Hono<ApiEnv>()
    .use(pageHeaders({ defaultSrc: ["'none'"], styleSrc: ["'unsafe-inline'"], imgSrc: ['data:'] }))
    .get('/', async (c) => {
      const [webhooks, imports, counts] = await Promise.all([
        readWebhooksNeedingAttention(database),
        readUnfinishedImports(database),
        countJobs(queues),
      ]);
      return c.html(html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="refresh" content="10">
    <title>Ledgerbell operations</title>
    <link rel="icon" href="data:,">
    <style>${STYLE}</style>
  </head>
  <body>
    <h1>Ledgerbell ${VERSION}</h1>
    <p><a href="${DASHBOARD_PATH}">Queues</a> · <a href="/readyz">Readiness</a></p>
    <h2>Queues</h2>
    <table>
      <tr><th>Queue</th><th class="num">Waiting</th><th class="num">Running</th><th class="num">Later</th><th class="num">Failed</th></tr>
      ${counts.map(({ name, jobs }) =>
        jobs === null
          ? html`<tr><td>${name}</td><td colspan="4">Redis does not answer: work continues when it is back</td></tr>`
          : html`<tr><td>${name}</td>${['waiting', 'active', 'delayed', 'failed'].map((state) => html`<td class="num">${jobs[state] ?? 0}</td>`)}</tr>`,
      )}
    </table>
    <h2>Webhooks needing attention</h2>
    ${
      webhooks.length === 0
        ? html`<p class="calm">None: every endpoint has answered its last notification.</p>`
        : html`<table>
      <tr><th>Webhook</th><th>Customer</th><th>State</th><th>Last error</th><th>Failing since</th><th class="num">Pending</th></tr>
      ${webhooks.map(
        (it) => html`<tr><td>${it.id} ${it.title}</td><td>${it.customer}</td><td>${describeState(it)}</td>
          <td>${it.last_error ?? ''}</td><td class="time">${formatTime(it.failing_since)}</td><td class="num">${it.pending}</td></tr>`,
      )}
    </table>`
    }
    <h2>Imports not done</h2>
    ${
      imports.length === 0
        ? html`<p class="calm">None: every accepted import is stored.</p>`
        : html`<table>
      <tr><th>Import</th><th>Customer</th><th>State</th><th class="num">Rows so far</th><th>Received</th><th>Error</th></tr>
      ${imports.map(
        (
          it,
        ) => html`<tr><td>${it.id}</td><td>${it.customer}</td><td>${it.status}</td><td class="num">${it.checkpoint}</td>
          <td class="time">${formatTime(it.received_at)}</td><td>${it.error ?? ''}</td></tr>`,
      )}
    </table>`
    }
  </body>
</html>`);
    });
}

/** UTC, as in the logs. */
const formatTime = (time: Date | null): string =>
  time === null ? '' : `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

function describeState({
  status,
  status_reason,
  circuit_seconds,
  consecutive_failures,
}: WebhookNeedingAttention): string {
  if (status !== 'active') return status_reason === null ? status : `${status}: ${status_reason}`;
  if (circuit_seconds !== null)
    return `circuit open for ${circuit_seconds} s after ${consecutive_failures} failures in a row`;
  return 'failing';
}

async function countJobs(queues: Runtime['queues']) {
  return Promise.all(
    [queues.imports, queues.deliveries, queues.sources, queues.maintenance].map(async (queue) => ({
      name: queue.name,
      jobs: await queue.getJobCounts('waiting', 'active', 'delayed', 'failed').catch(() => null),
    })),
  );
}
