import * as v from 'valibot';
import { recordChange } from '../../../customers/audit.ts';
import type { AddressGuard } from '../../../platform/addresses/address-guard.ts';
import { SEALED, type SecretBox } from '../../../platform/database/secret-box.ts';
import { notFound } from '../../../platform/problems/problem.ts';
import type { Runtime } from '../../../platform/runtime.ts';
import { findSource, type SourceRow } from '../../../sources/find-source.ts';
import { type SourceChangePlan, updateSource, wakeSource } from '../../../sources/save-source.ts';
import { createSourceChecks, SourceChange, type SourceChecks } from '../../../sources/source-input.ts';
import { SourceView, viewSource } from '../../../sources/source-view.ts';
import { readId, readJson } from '../../input.ts';
import { idParameter } from '../../openapi/openapi.ts';
import { createRoute, requireWholeKey } from '../../route.ts';

/** PATCH /v1/sources/:id */
export const changeSourceRoute = (runtime: Runtime, guard: AddressGuard) =>
  createRoute(
    {
      tag: 'Sources',
      scope: 'import',
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
      const { database, secrets } = runtime;
      const caller = c.get('caller');
      requireWholeKey(caller, 'Change sources with a key for all accounts.');
      const source = await findSource(database, caller, readId(c, 'source'));
      const change = await readJson(c, SourceChange);
      const checks = createSourceChecks(runtime, guard, caller);
      await checks.requireAccount(change.account_id ?? null);
      const plan = await planChange(change, source, { checks, secrets });
      const { status, ...others } = change;
      const isChanged = await updateSource(database, source.id, plan, (sql) =>
        recordChange(sql, caller, {
          action: 'change',
          subject: `source ${source.id}`,
          detail: [...(status === undefined ? [] : [`status: ${status}`]), ...Object.keys(others)].join(', '),
        }),
      );
      if (!isChanged) throw notFound('source');
      const changed = await findSource(database, caller, source.id);
      await wakeSource(runtime, changed);
      return c.json({ source: viewSource(runtime, changed) });
    },
  );

/** The columns of `sources` that a change sets, and what follows from it. @throws {Problem} 422 for wrong settings or credentials. */
async function planChange(
  change: SourceChange,
  source: SourceRow,
  { checks, secrets }: { checks: SourceChecks; secrets: SecretBox },
): Promise<SourceChangePlan> {
  const { settings, credentials, schedule, ...plain } = change;
  const { id, kind } = source;
  const stored =
    settings === undefined ? source.settings : await checks.requireSettings({ id, kind, settings });
  const text = credentials === undefined ? undefined : checks.requireCredentials(kind, credentials);
  const sealed =
    text === null || text === undefined ? null : secrets.seal(text, SEALED.sourceCredentials(id));
  const isForgotten = stored !== source.settings;
  return {
    columns: {
      ...plain,
      ...(isForgotten ? { settings: stored } : {}),
      ...(text === undefined ? {} : { credentials: sealed }),
      ...(schedule === undefined ? {} : { schedule: JSON.stringify(schedule) }),
    },
    schedule: schedule ?? JSON.parse(source.schedule),
    isElsewhere: isForgotten || text !== undefined,
    isForgotten,
    isRescheduled: schedule !== undefined,
    status: change.status,
  };
}
