import * as v from 'valibot';
import { recordChange } from '../../../customers/audit.ts';
import type { AddressGuard } from '../../../platform/addresses/address-guard.ts';
import { SEALED } from '../../../platform/database/secret-box.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { findSource } from '../../../sources/find-source.ts';
import { insertSource, wakeSource } from '../../../sources/save-source.ts';
import { createSourceChecks, NewSource } from '../../../sources/source-input.ts';
import { SourceView, viewSource } from '../../../sources/source-view.ts';
import { readJson } from '../../input.ts';
import { createRoute, requireWholeKey } from '../../route.ts';

/** POST /v1/sources */
export const createSourceRoute = (runtime: Runtime, guard: AddressGuard) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'import',
      idempotent: true,
      summary: 'Create a source',
      description:
        'Collects statement files from a place on a schedule, and imports them. A source with an interval runs immediately for the first time, one with a cron expression when it is due. The kind decides which settings and credentials there are. Needs a key for all accounts.',
      body: { 'application/json': NewSource },
      answer: {
        schema: v.object({ source: SourceView }),
        description: 'The source, without its credentials.',
      },
      problems: ['limited-api-key'],
    },
    async (c) => {
      const { database, secrets } = runtime;
      const caller = c.get('caller');
      requireWholeKey(caller, 'Create sources with a key for all accounts.');
      const body = await readJson(c, NewSource);
      const checks = createSourceChecks(runtime, guard, caller);
      await checks.requireAccount(body.account_id);
      const credentials = checks.requireCredentials(body.kind, body.credentials);
      const settings = await checks.requireSettings({ ...body, id: '0' });
      const id = await insertSource(database, {
        columns: {
          customer_id: caller.customerId,
          title: body.title,
          kind: body.kind,
          settings,
          schedule: JSON.stringify(body.schedule),
          account_id: body.account_id,
          format: body.format,
          profile: body.profile,
          create_accounts: body.create_accounts,
        },
        schedule: body.schedule,
        seal: (sourceId) =>
          credentials === null ? null : secrets.seal(credentials, SEALED.sourceCredentials(sourceId)),
        record: (sql, sourceId) =>
          recordChange(sql, caller, { action: 'create', subject: `source ${sourceId}`, detail: body.kind }),
      });
      const source = await findSource(database, caller, id);
      await wakeSource(runtime, source);
      return c.json({ source: viewSource(runtime, source) });
    },
  );
