import type { Role, Runtime } from '../database/runtime.ts';
import { reconcileDeliveries } from '../delivery/reconcile.ts';
import { reportFailedDeliveries } from '../delivery/report-failed-deliveries.ts';
import { reportFailingWebhooks } from '../delivery/report-failing-webhooks.ts';
import { reportStalledDeliveries } from '../delivery/report-stalled-deliveries.ts';
import { wakeWebhooks } from '../delivery/wake.ts';
import { reportStuckImports } from '../intake/stuck-imports.ts';
import { reconcileImports } from '../intake/worker.ts';
import { dropDeadUploads } from '../ledger/earlier-uploads.ts';
import { makeSegments } from '../movements/segments.ts';
import {
  addDeliveryJobs,
  countCustomersWithoutJob,
  countWebhooksWithoutJob,
  queueImports,
} from '../platform/queues.ts';
import { reconcileSources } from '../sources/source-jobs.ts';
import { watchWebhooks } from '../verdict/watch-webhooks.ts';
import { replayTemplates } from '../webhooks/template-replays.ts';
import { keepTemplates, sumTemplates } from '../webhooks/template-webhooks.ts';
import { runDeletions } from './deletions.ts';
import { checkStatements } from './events/check-accounts.ts';
import { dispatchEvents } from './events/dispatch-events.ts';
import { tellBalances } from './events/tell-balances.ts';
import { pruneIdempotencyKeys, removeOld } from './retention/retention.ts';
import { createSteps } from './retention/steps.ts';
import { startLeader } from './tasks/leader.ts';

/** The role `maintenance`: its tasks, and how often each runs. */

const SECOND = 1_000;
const RECONCILE_EVERY = 10 * SECOND;

/**
 * Queues unfinished imports, due webhooks and due sources, as recorded in MySQL. Reports operational events. Removes old data and carries
 * out requested deletions. Makes listing segments. One of the maintenance processes does all of this. It uses no jobs, so all work except
 * queuing continues while Redis is unreachable.
 */
export function startMaintenance(runtime: Runtime): Role {
  const { database, queues, redis, metrics } = runtime;
  const leader = startLeader(runtime, 'maintenance', [
    {
      name: 'imports',
      every: RECONCILE_EVERY,
      run: () =>
        reconcileImports(database, async (ids) => {
          const missing = await countCustomersWithoutJob(queues, redis, ids);
          await queueImports(queues, ids);
          metrics.reconciler.repaired('imports', missing);
        }),
    },
    {
      name: 'webhooks',
      every: RECONCILE_EVERY,
      run: () =>
        reconcileDeliveries(database, async (ids) => {
          const missing = await countWebhooksWithoutJob(queues, redis, ids);
          await addDeliveryJobs(queues, ids);
          metrics.reconciler.repaired('deliveries', missing);
        }),
    },
    {
      name: 'templates',
      every: 5 * SECOND,
      after: SECOND,
      run: (signal) => lookAtTemplates(runtime, signal),
    },
    { name: 'sources', every: RECONCILE_EVERY, run: () => reconcileSources(runtime) },
    ...EVENT_TASKS.map(({ name, run }) => ({ name, every: RECONCILE_EVERY, run: () => run(runtime) })),
    { name: 'notifications', every: 5 * SECOND, run: () => dispatch(runtime) },
    { name: 'dead uploads', every: RECONCILE_EVERY, run: () => dropDeadUploads(database) },
    { name: 'deletions', every: 5 * SECOND, run: (signal) => runDeletions(runtime, createSteps({ signal })) },
    {
      name: 'idempotency keys',
      every: 60 * SECOND,
      run: (signal) => pruneIdempotencyKeys(database, createSteps({ signal })),
    },
    { name: 'segments', every: 60 * SECOND, run: (signal) => makeSegments(database, { signal }) },
    { name: 'retention', every: 3_600 * SECOND, run: (signal) => passRetention(runtime, signal) },
  ]);
  return { name: 'maintenance', stop: leader.stop };
}

/** Makes and adapts the webhooks of templates, gives them their replays, and adds up their deliveries. */
async function lookAtTemplates(runtime: Runtime, signal: AbortSignal): Promise<void> {
  await keepTemplates(runtime.database, signal);
  await replayTemplates(runtime, signal);
  await sumTemplates(runtime.database);
}

/** Operational events that are found by regular checks. Other events are recorded in the transaction of the change that they report. */
export const EVENT_TASKS: { name: string; run(runtime: Pick<Runtime, 'database'>): Promise<unknown> }[] = [
  { name: 'failing webhooks', run: ({ database }) => reportFailingWebhooks(database) },
  { name: 'failed deliveries', run: ({ database }) => reportFailedDeliveries(database) },
  { name: 'stalled deliveries', run: ({ database }) => reportStalledDeliveries(database) },
  { name: 'standings of webhooks', run: ({ database }) => watchWebhooks(database) },
  { name: 'stuck imports', run: ({ database }) => reportStuckImports(database) },
  { name: 'statements', run: ({ database }) => checkStatements(database) },
  { name: 'balances', run: ({ database }) => tellBalances(database) },
];

/** Makes the deliveries of all events. @returns the number of webhooks that now have deliveries of events. */
async function dispatch(runtime: Runtime): Promise<number> {
  const { database, log } = runtime;
  const webhookIds = await dispatchEvents(database);
  // The reconciler finds webhooks that are not woken here.
  await wakeWebhooks(runtime, webhookIds, { reread: true }).catch((err: unknown) =>
    log.warn({ err }, 'webhooks with operational events not woken yet'),
  );
  return webhookIds.length;
}

/** Runs all event tasks once and dispatches the events. @returns the number of webhooks that now have deliveries of events. */
export async function reportEvents(runtime: Runtime): Promise<number> {
  for (const { run } of EVENT_TASKS) await run(runtime);
  return dispatch(runtime);
}

/**
 * Makes one complete pass of retention, and counts it.
 * @param signal ends the pass after the current step. A pass that was stopped counts neither as done nor as failed.
 * @throws what MySQL throws.
 */
export async function passRetention(
  {
    database,
    config,
    metrics: { retention: metrics },
    log,
  }: Pick<Runtime, 'database' | 'config' | 'metrics' | 'log'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    const steps = createSteps({ signal });
    const removed = await removeOld({ database, retention: config.retention, steps, metrics });
    if (signal.aborted) return;
    metrics.ended('done');
    // A service that has nothing to remove yet says nothing at its start.
    if (Object.values(removed).some((count) => count > 0)) log.info(removed, 'retention done');
  } catch (error) {
    metrics.ended('failed');
    throw error;
  }
}
