import * as v from 'valibot';
import type { Runtime } from '../../../database/runtime.ts';
import { readId, readJson } from '../../../http/input.ts';
import type { AddressGuard } from '../../../platform/address-guard.ts';
import { findSource } from '../../../sources/find-source.ts';
import { SourceChange } from '../../../sources/source-input.ts';
import { SourceView, viewSource } from '../../../sources/source-view.ts';
import { changeSource } from '../../../sources/sources.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute, requireWholeKey } from '../route.ts';

/** PATCH /v1/sources/:id */
export const changeSourceRoute = (runtime: Runtime, guard: AddressGuard) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'import',
      operationId: 'updateSource',
      summary: 'Change a source, pause it, or activate it',
      description:
        'Changes any field of the source but its kind, or its status. Settings and credentials are replaced as a whole; a run in progress ends, and the next one begins immediately. With other settings, everything in the source is collected anew; movements that are stored are not stored twice. Needs a key for all accounts.',
      body: { 'application/json': SourceChange },
      path: { id: idParameter('source') },
      answer: {
        schema: v.object({ source: SourceView }),
        description: 'The source, without its credentials.',
      },
      problems: ['limited-api-key'],
    },
    async (c) => {
      const caller = c.get('caller');
      requireWholeKey(caller, 'Change sources with a key for all accounts.');
      const source = await findSource(runtime.database, caller, readId(c, 'source'));
      const change = await readJson(c, SourceChange);
      const changed = await changeSource(runtime, guard, caller, source, change);
      return c.json({ source: viewSource(runtime, changed) });
    },
  );
