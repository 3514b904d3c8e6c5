import { createDataSource } from '../src/database/data-source.ts';
import type { Runtime } from '../src/database/runtime.ts';
import { reconcileDeliveries } from '../src/delivery/reconcile.ts';
import { reconcileImports } from '../src/intake/worker.ts';
import { dropDeadUploads } from '../src/ledger/earlier-uploads.ts';
import { makeSegments } from '../src/movements/segments.ts';
import { createLog } from '../src/platform/log.ts';
import { reconcileSources } from '../src/sources/source-jobs.ts';
import { runDeletions } from '../src/upkeep/deletions.ts';
import { dispatchEvents } from '../src/upkeep/events/dispatch-events.ts';
import { pruneIdempotencyKeys } from '../src/upkeep/retention/retention.ts';
import { createSteps } from '../src/upkeep/retention/steps.ts';
import { EVENT_TASKS } from '../src/upkeep/worker.ts';
import { forgetPeak, memoryOf } from './usage.ts';

/**
 * Runs the tasks that maintenance repeats, without that of each hour, once, in a process of its own. Jobs are counted, and not added. The parent sends
 * { databaseUrl }, and gets { milliseconds, megabytes, jobs } of the pass: how long it took, by how much it raised the peak of resident memory,
 * and how many webhooks had something due.
 */
process.on('message', async ({ databaseUrl }: { databaseUrl: string }) => {
  const database = await createDataSource(databaseUrl).initialize();
  await database.query('SELECT 1');
  await forgetPeak(process.pid);
  const before = await memoryOf(process.pid);
  const began = performance.now();
  const nothing = async () => {};
  // No source is due and nothing is being deleted, so that neither needs a queue.
  const runtime = { database, log: createLog('silent') } as Runtime;
  await reconcileImports(database, nothing);
  const jobs = await reconcileDeliveries(database, nothing);
  await reconcileSources(runtime);
  for (const { run } of EVENT_TASKS) await run(runtime);
  await dispatchEvents(database);
  await dropDeadUploads(database);
  await runDeletions(runtime, createSteps({ signal: new AbortController().signal }));
  await pruneIdempotencyKeys(database, createSteps());
  await makeSegments(database);
  const milliseconds = performance.now() - began;
  const { peak } = await memoryOf(process.pid);
  await database.destroy();
  process.send?.({ milliseconds, megabytes: peak - before.now, jobs });
});
