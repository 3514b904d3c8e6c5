import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId } from '../../../http/input.ts';
import { IdView } from '../../../platform/validation.ts';
import { SourceView, viewSource } from '../../../sources/source-view.ts';
import { runSource } from '../../../sources/sources.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute } from '../route.ts';

const PreviousRun = v.pipe(
  v.nullable(IdView),
  v.description(
    'The last run that began before this request; null: none did. The run that was asked for is the first one with a higher id.',
  ),
);

/** POST /v1/sources/:id/run */
export const runSourceRoute = (runtime: Runtime) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'import',
      idempotent: true,
      operationId: 'runSource',
      summary: 'Run a source now',
      description:
        'Runs the source now, whatever its schedule, also while it waits after a failure or is paused. If a run is in progress, another one follows it. GET /v1/sources/{id}/runs shows how it ends: the run that was asked for is the first one after previous_run_id.',
      path: { id: idParameter('source') },
      answer: {
        status: 202,
        schema: v.object({ source: SourceView, previous_run_id: PreviousRun }),
        description: 'The source, which will run.',
      },
    },
    async (c) => {
      const { source, previousRun } = await runSource(runtime, c.get('caller'), readId(c, 'source'));
      const previous = previousRun === null ? null : Number(previousRun);
      return c.json({ source: viewSource(runtime, source), previous_run_id: previous }, 202);
    },
  );
