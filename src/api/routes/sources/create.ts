import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readJson } from '../../../http/input.ts';
import type { AddressGuard } from '../../../platform/address-guard.ts';
import { NewSource } from '../../../sources/source-input.ts';
import { SourceView, viewSource } from '../../../sources/source-view.ts';
import { createSource } from '../../../sources/sources.ts';
import { createRoute, requireWholeKey } from '../route.ts';

/** POST /v1/sources */
export const createSourceRoute = (runtime: Runtime, guard: AddressGuard) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'import',
      idempotent: true,
      operationId: 'createSource',
      summary: 'Create a source',
      description:
        'Collects statement files from a place on a schedule, and imports them. A source with an interval runs immediately for the first time, one with a cron expression when it is due. The kind decides which settings and credentials there are. Needs a key for all accounts.',
      body: { 'application/json': NewSource },
      answer: {
        schema: v.object({ source: SourceView }),
        description: 'The source, without its credentials.',
      },
      problems: ['limited-api-key', 'source-limit-reached'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Create sources with a key for all accounts.');
      const source = await createSource(runtime, guard, caller, await readJson(c, NewSource));
      return c.json({ source: viewSource(runtime, source) });
    },
  );
