import { dispatchEvents } from '../src/deliveries/events/dispatch-events.ts';
import {
  reportFailedDeliveries,
  reportFailingWebhooks,
  reportStalledDeliveries,
} from '../src/deliveries/events/webhook-events.ts';
import { reconcileDeliveries } from '../src/deliveries/reconcile.ts';
import { reportStuckImports } from '../src/imports/fail-import.ts';
import { dropDeadUploads } from '../src/imports/stage.ts';
import { reconcileImports } from '../src/imports/worker.ts';
import { makeSegments } from '../src/movements/segment-maker.ts';
import { createDataSource } from '../src/platform/database/data-source.ts';
import { forgetPeak, memoryOf } from './usage.ts';

/**
 * Runs the tasks that maintenance repeats, once, in a process of its own. Jobs are counted, and not added. The parent sends
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
  await reconcileImports(database, nothing);
  const jobs = await reconcileDeliveries(database, nothing);
  await reportFailingWebhooks(database);
  await reportFailedDeliveries(database);
  await reportStalledDeliveries(database);
  await reportStuckImports(database);
  await dispatchEvents(database);
  await dropDeadUploads(database);
  await makeSegments(database);
  const milliseconds = performance.now() - began;
  const { peak } = await memoryOf(process.pid);
  await database.destroy();
  process.send?.({ milliseconds, megabytes: peak - before.now, jobs });
});
