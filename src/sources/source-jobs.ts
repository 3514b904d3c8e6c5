import type { Sql } from '../platform/database/transaction.ts';
import type { Log } from '../platform/log.ts';
import type { Queues } from '../platform/queues/queues.ts';
import { LEASE_IS_HELD } from './claimed-source.ts';
import { intervalOf, nextSlot, type SourceSchedule } from './source-schedule.ts';

/** Jobs of sources: one when a run is asked for, and a job scheduler that adds one whenever the source is due. */

/** An active source, as its scheduler needs it. */
interface ScheduledSource {
  id: string;
  schedule: SourceSchedule;
  /** The moment from which intervals are counted. */
  createdAt: Date;
}

const nameOf = (sourceId: string): string => `source-${sourceId}`;

/** Adds a job for each source. A source that has such a job already, waiting or active, keeps it. */
export async function queueSources(queues: Queues, sourceIds: readonly string[]): Promise<void> {
  await queues.sources.addBulk(
    sourceIds.map((sourceId) => ({
      name: 'collect',
      data: { sourceId },
      opts: { jobId: nameOf(sourceId), removeOnComplete: true, removeOnFail: true },
    })),
  );
}

/** Makes the scheduler of a source, in place of one that may be there. Its jobs come when MySQL says that the source is due. */
export async function scheduleSource(
  queues: Queues,
  { id, schedule, createdAt }: ScheduledSource,
  now: Date,
): Promise<void> {
  await unscheduleSource(queues, id);
  const repeat =
    'cron' in schedule
      ? { pattern: schedule.cron, tz: schedule.time_zone }
      : { every: intervalOf(schedule), startDate: nextSlot(schedule, createdAt, now) };
  await queues.sources.upsertJobScheduler(nameOf(id), repeat, {
    name: 'collect',
    data: { sourceId: id },
    opts: { removeOnComplete: true, removeOnFail: true },
  });
}

/**
 * The id of the source's next job: one that was asked for, or that of its scheduler.
 * @returns null when there is none, or Redis cannot be reached.
 */
export async function findSourceJob(
  { sources }: Pick<Queues, 'sources'>,
  sourceId: string,
): Promise<string | null> {
  const name = nameOf(sourceId);
  try {
    if ((await sources.getJob(name)) !== undefined) return name;
    const next = (await sources.getJobScheduler(name))?.next;
    return next === undefined ? null : `repeat:${name}:${next}`;
  } catch {
    return null;
  }
}

export async function unscheduleSource(queues: Queues, sourceId: string): Promise<void> {
  await queues.sources.removeJobScheduler(nameOf(sourceId));
}

/**
 * Sources without a run that should have one: overdue ones, those whose run lost its process, those for which a run was asked for, and
 * those with files whose imports have ended since. A source is overdue 5 s after its time, because its scheduler comes first. There are
 * few sources, so the table is read as a whole. Index for the files: source_files_outcome.
 */
const DUE = `
  SELECT s.id, s.schedule, s.created_at AS createdAt,
    (s.status = 'active' AND s.next_run_at < NOW(6) - INTERVAL 5 SECOND) AS isOverdue
  FROM sources s
  WHERE s.status <> 'deleted' AND NOT COALESCE(${LEASE_IS_HELD}, 0)
    AND (s.is_requested OR s.run_id IS NOT NULL OR (s.status = 'active' AND (s.next_run_at < NOW(6) - INTERVAL 5 SECOND
      OR (s.consecutive_failures = 0 AND s.id IN (
        SELECT f.source_id FROM source_files f JOIN imports i ON i.id = f.import_id
        WHERE f.outcome = 'pending' AND i.status IN ('done', 'failed'))))))`;

/**
 * Queues sources that are due and have no run. The scheduler of one that is overdue has been lost, for example because Redis was
 * emptied, or fits a former schedule: it is made again.
 * @returns the number of sources.
 */
export async function reconcileSources({
  database,
  queues,
  log,
}: {
  database: Sql;
  queues: Queues;
  log: Log;
}): Promise<number> {
  const due =
    await database.query<
      { id: string; schedule: string; createdAt: Date; isOverdue: number | string | null }[]
    >(DUE);
  const now = new Date();
  for (const { id, schedule, createdAt, isOverdue } of due) {
    if (Number(isOverdue) !== 1) continue;
    // One source must not hold up the others.
    await scheduleSource(queues, { id, schedule: JSON.parse(schedule), createdAt }, now).catch(
      (err: unknown) => log.warn({ err, sourceId: id }, 'source not scheduled'),
    );
  }
  if (due.length > 0)
    await queueSources(
      queues,
      due.map(({ id }) => id),
    );
  return due.length;
}
