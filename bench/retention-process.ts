import { createDataSource } from '../src/database/data-source.ts';
import { removeOld } from '../src/upkeep/retention/retention.ts';
import { createSteps } from '../src/upkeep/retention/steps.ts';

/**
 * Removes what is old, as the maintenance role does, in a process of its own. The parent sends { databaseUrl, now }, where everything
 * is kept for 90 days before `now`, and gets what was removed. `hasBacklog`: at the pace of a pass that has lasted for half an hour.
 */
const DAYS = 90;

const HALF_AN_HOUR = 30 * 60_000;

interface Removal {
  databaseUrl: string;
  now: string;
  hasBacklog: boolean;
}

process.on('message', async ({ databaseUrl, now, hasBacklog }: Removal) => {
  const database = await createDataSource(databaseUrl).initialize();
  const removed = await removeOld({
    database,
    retention: { deliveries: DAYS, attempts: DAYS, imports: DAYS, movements: DAYS },
    steps: createSteps(hasBacklog ? { began: performance.now() - HALF_AN_HOUR } : {}),
    now: new Date(now),
  });
  await database.destroy();
  process.send?.(removed);
});
