import * as v from 'valibot';
import type { Runtime } from '../../database/runtime.ts';
import { readId, readJson, readQuery } from '../../http/input.ts';
import { BEYOND_NEWEST, linkNext, linkPage, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import type { AddressGuard } from '../../platform/address-guard.ts';
import { IdView, withExample } from '../../platform/validation.ts';
import { Id } from '../../platform/whole-numbers.ts';
import { collectAgain } from '../../sources/collect-again.ts';
import { findSource, listRuns, listSources } from '../../sources/find-source.ts';
import { NewSource, SourceChange } from '../../sources/source-input.ts';
import { RunView, SourceView, viewRuns, viewSource } from '../../sources/source-view.ts';
import {
  changeSource,
  createSource,
  deleteSource,
  type RequestedRun,
  runSource,
} from '../../sources/sources.ts';
import { idParameter } from '../openapi/openapi.ts';
import type { AddRoute } from './route.ts';

/** The routes of sources and of their runs. */

const Query = v.strictObject(paging('s1', MAX_PER_PAGE));

const PreviousRun = v.pipe(
  withExample(v.nullable(IdView), 4),
  v.description(
    'The last run that began before this request; null: none did. The run that was asked for is the first one with a higher id.',
  ),
);

const RUN_REQUESTED = {
  status: 202 as const,
  schema: v.object({ source: SourceView, previous_run_id: PreviousRun }),
  description: 'The source, which will run.',
};

const CollectAgain = v.strictObject({
  import_id: v.pipe(Id, v.description('The withdrawn import whose file is collected again.')),
});

const PER_PAGE = 100;

const ListRunsQuery = v.strictObject(paging('r1', PER_PAGE));

const SOURCE = {
  schema: v.object({ source: SourceView }),
  description: 'The source, without its credentials.',
};

/** Adds the routes of sources and their runs. */
export function addSourceRoutes(route: AddRoute, runtime: Runtime, guard: AddressGuard): void {
  const { database } = runtime;
  const viewRequested = ({ source, previousRun }: RequestedRun) => ({
    source: viewSource(runtime, source),
    previous_run_id: previousRun === null ? null : Number(previousRun),
  });

  route('GET /v1/sources', {
    tag: 'Sources',
    scope: 'read',
    operationId: 'listSources',
    summary: 'List your sources',
    description:
      'Lists sources, the oldest first. If there is a next page, the header Link has its path. A limited API key sees the sources of its accounts.',
    query: Query,
    answer: { schema: v.object({ sources: v.array(SourceView) }), description: 'A page of sources.' },
    handle: async (c) => {
      const { per_page, cursor = '0' } = readQuery(c, Query);
      const filters = { viewer: c.get('caller'), after: cursor };
      const { rows, next } = await listSources(runtime.database, filters, per_page);
      linkNext(c, 's1', next);
      return c.json({ sources: rows.map((source) => viewSource(runtime, source)) });
    },
  });

  route('GET /v1/sources/:id', {
    tag: 'Sources',
    scope: 'read',
    operationId: 'getSource',
    summary: 'Get a source',
    path: { id: idParameter('source') },
    answer: SOURCE,
    handle: async (c) => {
      const source = await findSource(runtime.database, c.get('caller'), readId(c, 'source'));
      return c.json({ source: viewSource(runtime, source) });
    },
  });

  route('POST /v1/sources', {
    tag: 'Sources',
    scope: 'import',
    wholeKey: 'Create sources with a key for all accounts.',
    idempotent: true,
    operationId: 'createSource',
    summary: 'Create a source',
    description:
      'Collects statement files from a place on a schedule, and imports them. A source with an interval runs immediately for the first time, one with a cron expression when it is due. The kind decides which settings and credentials there are. Needs a key for all accounts.',
    body: { 'application/json': NewSource },
    answer: SOURCE,
    problems: ['source-limit-reached'],
    handle: async (c) => {
      const caller = c.get('caller');
      const source = await createSource(runtime, guard, caller, await readJson(c, NewSource));
      return c.json({ source: viewSource(runtime, source) });
    },
  });

  route('PATCH /v1/sources/:id', {
    tag: 'Sources',
    scope: 'import',
    wholeKey: 'Change sources with a key for all accounts.',
    operationId: 'updateSource',
    summary: 'Change a source, pause it, or activate it',
    description:
      'Changes any field of the source but its kind, or its status. Settings and credentials are replaced as a whole; a run in progress ends, and the next one begins immediately. With other settings, everything in the source is collected anew; movements that are stored are not stored twice. Needs a key for all accounts.',
    body: { 'application/json': SourceChange },
    path: { id: idParameter('source') },
    answer: SOURCE,
    handle: async (c) => {
      const caller = c.get('caller');
      const source = await findSource(runtime.database, caller, readId(c, 'source'));
      const change = await readJson(c, SourceChange);
      const changed = await changeSource(runtime, guard, caller, source, change);
      return c.json({ source: viewSource(runtime, changed) });
    },
  });

  route('DELETE /v1/sources/:id', {
    tag: 'Sources',
    scope: 'import',
    wholeKey: 'Delete sources with a key for all accounts.',
    operationId: 'deleteSource',
    summary: 'Delete a source',
    description:
      'Nothing more is collected from the source, a run in progress ends, and its credentials are deleted. Its imports and movements stay. Needs a key for all accounts.',
    path: { id: idParameter('source') },
    answer: { schema: v.object({ status: v.literal('success') }), description: 'The source is deleted.' },
    handle: async (c) => {
      const caller = c.get('caller');
      await deleteSource(runtime, caller, readId(c, 'source'));
      return c.json({ status: 'success' });
    },
  });

  route('POST /v1/sources/:id/run', {
    tag: 'Sources',
    scope: 'import',
    idempotent: true,
    operationId: 'runSource',
    summary: 'Run a source now',
    description:
      'Runs the source now, whatever its schedule, also while it waits after a failure or is paused. If a run is in progress, another one follows it. GET /v1/sources/{id}/runs shows how it ends: the run that was asked for is the first one after previous_run_id.',
    path: { id: idParameter('source') },
    answer: RUN_REQUESTED,
    handle: async (c) =>
      c.json(viewRequested(await runSource(runtime, c.get('caller'), readId(c, 'source'))), 202),
  });

  route('POST /v1/sources/:id/collect-again', {
    tag: 'Sources',
    scope: 'import',
    idempotent: true,
    operationId: 'collectSourceAgain',
    summary: 'Collect a withdrawn file again',
    description:
      'Collects the file of a withdrawn import once more, for example after the account of the source was corrected, and runs the source now. A file that the source has moved is moved back by the run. If the file is not there any more, the error of the run says where it was looked for.',
    path: { id: idParameter('source') },
    body: { 'application/json': CollectAgain },
    answer: RUN_REQUESTED,
    problems: ['not-collectable-again'],
    handle: async (c) => {
      const sourceId = readId(c, 'source');
      const { import_id: importId } = await readJson(c, CollectAgain);
      return c.json(viewRequested(await collectAgain(runtime, c.get('caller'), { sourceId, importId })), 202);
    },
  });

  route('GET /v1/sources/:id/runs', {
    tag: 'Sources',
    scope: 'read',
    operationId: 'listSourceRuns',
    summary: 'List the runs of a source',
    description:
      'Lists the runs of a source, the newest first. If there is a next page, the header Link has its path. The newest 1,000 runs are kept.',
    path: { id: idParameter('source') },
    query: ListRunsQuery,
    answer: { schema: v.object({ runs: v.array(RunView) }), description: 'A page of runs.' },
    handle: async (c) => {
      const { per_page, cursor = BEYOND_NEWEST } = readQuery(c, ListRunsQuery);
      const { id } = await findSource(database, c.get('caller'), readId(c, 'source'));
      const found = await listRuns(database, id, { before: cursor }, per_page + 1);
      return c.json({ runs: await viewRuns(database, linkPage(c, 'r1', found, per_page)) });
    },
  });
}
