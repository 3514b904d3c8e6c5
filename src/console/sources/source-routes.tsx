import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import type { Sql } from '../../database/transaction.ts';
import type { ApiEnv } from '../../http/app.ts';
import { readId } from '../../http/input.ts';
import { BEYOND_NEWEST } from '../../http/paging.ts';
import { Moment } from '../../platform/moment.ts';
import { Id } from '../../platform/validation.ts';
import {
  findRunImports,
  findSource,
  listRuns,
  RUN_STATUSES,
  type SourceRow,
} from '../../sources/find-source.ts';
import { findSourceJob } from '../../sources/source-jobs.ts';
import { viewSource } from '../../sources/source-view.ts';
import { sendConfirmation } from '../page/error-page.tsx';
import { sendPage } from '../page/layout.tsx';
import { type ConsoleContext, callApiFor, requireAnswer } from '../page/operator.ts';
import { pathWith, readFilters } from '../page/read-filters.ts';
import { DASHBOARD_PATH } from '../queues/dashboard.ts';
import { readFailingSince, readWrongFiles } from '../totals.ts';
import { confirmSourceAction, SOURCE_ACTIONS, type SourceAction, SourcePage } from './source-page.tsx';

const RUNS = 50;
const WRONG_FILES = 20;

/** /ops/sources/:id and its actions. Each change has its own confirmation page, which sends a POST. */
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

const requireSource = (sql: Sql, c: Context<ApiEnv>): Promise<SourceRow> =>
  findSource(sql, null, readId(c, 'source'));

/** The request to the API that carries out an action. */
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
  const { id } = source;
  const [found, failingSince, wrongFiles, job] = await Promise.all([
    listRuns(database, id, { status, since, until, before: before ?? BEYOND_NEWEST }, RUNS + 1),
    readFailingSince(database, id),
    readWrongFiles(database, id, WRONG_FILES),
    findSourceJob(queues, id),
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
      settings={source.status === 'deleted' ? null : viewSource(runtime, source)}
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
