import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { findSourceJob } from '../../collecting/source-jobs.ts';
import type { Sql } from '../../database/transaction.ts';
import { BEYOND_NEWEST } from '../../http/cursor.ts';
import type { ApiEnv } from '../../http/environment.ts';
import { readId } from '../../http/input.ts';
import { notFound } from '../../http/problem.ts';
import { Moment } from '../../moment.ts';
import { findSource } from '../../sources/find.ts';
import { findRunImports } from '../../sources/source-runs.ts';
import { viewSource } from '../../sources/view.ts';
import { Id } from '../../validation.ts';
import { DASHBOARD_PATH } from '../dashboard.ts';
import { sendConfirmation } from './confirm-page.tsx';
import { sendPage } from './layout.tsx';
import { type ConsoleContext, callApiFor, callerFor, requireAnswer } from './operator.ts';
import { pathWith, readFilters } from './read-filters.ts';
import { confirmSourceAction, SOURCE_ACTIONS, type SourceAction } from './source-actions.ts';
import { SourcePage } from './source-page.tsx';
import { type ConsoleSource, readSource } from './source-rows.ts';
import { listRuns, RUN_STATUSES, readFailingSince, readWrongFiles } from './source-run-rows.ts';

const RUNS = 50;
const WRONG_FILES = 20;

/** /ops/sources/:id and what can be done there. Each change is asked for on a page of its own, and sent as a POST. */
export const sourceRoutes = (context: ConsoleContext): Hono<ApiEnv> => {
  const { database } = context.runtime;
  const routes = new Hono<ApiEnv>().get('/:id', (c) => showSource(c, context));
  for (const action of SOURCE_ACTIONS) {
    routes.get(`/:id/${action}`, async (c) => {
      const source = await requireSource(database, c);
      return sendConfirmation(c, 'Sources', {
        ...confirmSourceAction(action, source),
        back: `/ops/sources/${source.id}`,
      });
    });
    routes.post(`/:id/${action}`, async (c) => {
      const { id, customer_id: customerId } = await requireSource(database, c);
      await requireAnswer(await callApiFor(c, context, customerId, requestOf(action, id)));
      return c.redirect(`/ops/sources/${id}?done=${action}`, 303);
    });
  }
  return routes;
};

/** @throws {Problem} 404. */
async function requireSource(sql: Sql, c: Context<ApiEnv>): Promise<ConsoleSource> {
  const source = await readSource(sql, readId(c, 'source'));
  if (source === undefined) throw notFound('source');
  return source;
}

/** The request to the API that does it. */
function requestOf(action: SourceAction, id: string): { method: string; path: string; body?: object } {
  const path = `/v1/sources/${id}`;
  switch (action) {
    case 'run':
      return { method: 'POST', path: `${path}/run` };
    case 'pause':
      return { method: 'PATCH', path, body: { status: 'paused' } };
    case 'enable':
      return { method: 'PATCH', path, body: { status: 'active' } };
  }
}

async function showSource(c: Context<ApiEnv>, { runtime }: ConsoleContext) {
  const { config, database, queues } = runtime;
  const moment = v.optional(Moment(config.zone));
  const Query = v.object({
    status: v.optional(v.picklist(RUN_STATUSES)),
    since: moment,
    until: moment,
    before: v.optional(Id),
  });
  const { status, since, until, before } = readFilters(c, Query);
  const source = await requireSource(database, c);
  const { id, customer_id: customerId } = source;
  const filters = { status: status ?? null, since: since ?? null, until: until ?? null };
  const [found, failingSince, wrongFiles, job, row] = await Promise.all([
    listRuns(database, id, { ...filters, before: before ?? BEYOND_NEWEST }, RUNS + 1),
    readFailingSince(database, id),
    readWrongFiles(database, id, WRONG_FILES),
    findSourceJob(queues, id),
    source.status === 'deleted' ? null : findSource(database, callerFor(c, runtime, customerId), id),
  ]);
  const runs = found.slice(0, RUNS);
  const imports = await findRunImports(
    database,
    runs.map((run) => run.id),
  );
  const query = c.req.query();
  const older = found.length > RUNS ? runs.at(-1)?.id : undefined;
  return sendPage(
    c,
    { title: `Source ${id}`, section: 'Sources' },
    <SourcePage
      source={source}
      settings={row === null ? null : viewSource(runtime, row)}
      failingSince={failingSince}
      runs={runs.map((run) => ({ ...run, imports: imports.get(run.id) ?? [] }))}
      older={
        older === undefined
          ? null
          : pathWith(`/ops/sources/${id}`, { ...query, done: undefined, before: older })
      }
      filters={query}
      wrongFiles={wrongFiles}
      job={job === null ? null : `${DASHBOARD_PATH}/queue/sources/${encodeURIComponent(job)}`}
      done={query.done}
      now={new Date()}
    />,
  );
}
