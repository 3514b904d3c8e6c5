import type { Runtime } from '../database/runtime.ts';
import type { Sql } from '../database/transaction.ts';
import type { Queues } from '../platform/queues.ts';
import { LEASE_IS_HELD } from './runs/source-files.ts';
import { intervalOf, isTooFarAhead, nextSlot, type SourceSchedule } from './source-schedule.ts';

/** Jobs of sources. A requested run adds a job. A job scheduler adds a job whenever the source is due. */

/** The data of an active source that its scheduler needs. */
interface ScheduledSource {
  id: string;
  schedule: SourceSchedule;
  /** The moment from which intervals are counted. */
  createdAt: Date;
}

const nameOf = (sourceId: string): string => `source-${sourceId}`;

/** Adds a job for each source. A source that already has such a job, waiting or active, keeps it. */
export async function queueSources(queues: Queues, sourceIds: readonly string[]): Promise<void> {
  await queues.sources.addBulk(
    sourceIds.map((sourceId) => ({
      name: 'collect',
      data: { sourceId },
      opts: { jobId: nameOf(sourceId), removeOnComplete: true, removeOnFail: true },
    })),
  );
}

/** Makes or replaces the scheduler of a source. The scheduler adds jobs at the times when the source is due. */
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
 * Finds the id of the source's next job: a requested job, or the next job of its scheduler.
 * @returns null when there is no job, or Redis cannot be reached.
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
 * Sources that need a run: overdue sources, sources whose run lost its process, sources with a requested run, and sources with files whose
 * imports have ended since. A source is overdue 5 s after its time, so that its scheduler comes first. There are few sources, so the table
 * is read as a whole. Index for the files: source_files_outcome.
 */
const FIND_DUE_SOURCES = `
  SELECT s.id, s.schedule, s.created_at AS createdAt,
    (s.status = 'active' AND s.next_run_at < NOW(6) - INTERVAL 5 SECOND) AS isOverdue
  FROM sources s
  WHERE s.status <> 'deleted' AND NOT COALESCE(${LEASE_IS_HELD}, 0)
    AND (s.is_requested OR s.run_id IS NOT NULL OR (s.status = 'active' AND (s.next_run_at < NOW(6) - INTERVAL 5 SECOND
      OR (s.consecutive_failures = 0 AND s.id IN (
        SELECT f.source_id FROM source_files f JOIN imports i ON i.id = f.import_id
        WHERE f.outcome = 'pending' AND i.status IN ('done', 'failed'))))))`;

/** Sources that wait for longer than a failing source can. */
const FIND_SOURCES_FAR_AHEAD = `
  SELECT id, schedule, created_at AS start, next_run_at AS next, NOW(6) AS now FROM sources
  WHERE status = 'active' AND next_run_at > NOW(6) + INTERVAL 7 HOUR`;
const MAKE_SOURCES_DUE = 'UPDATE sources SET next_run_at = NOW(6) WHERE id IN (?) AND next_run_at > NOW(6)';

/** Makes sources due whose time was set before the clock was set back. */
async function healClock(sql: Sql): Promise<void> {
  const far =
    await sql.query<{ id: string; schedule: string; start: Date; next: Date; now: Date }[]>(
      FIND_SOURCES_FAR_AHEAD,
    );
  const wrong = far.filter(({ schedule, ...moments }) => isTooFarAhead(JSON.parse(schedule), moments));
  if (wrong.length > 0) await sql.query(MAKE_SOURCES_DUE, [wrong.map(({ id }) => id)]);
}

/**
 * Queues sources that are due and have no run. If a source is overdue, its scheduler was lost, for example because Redis was emptied, or
 * follows an old schedule. Such a scheduler is made again.
 * @returns the number of sources.
 */
export async function reconcileSources({
  database,
  queues,
  log,
}: Pick<Runtime, 'database' | 'queues' | 'log'>): Promise<number> {
  await healClock(database);
  const due =
    await database.query<
      { id: string; schedule: string; createdAt: Date; isOverdue: number | string | null }[]
    >(FIND_DUE_SOURCES);
  const now = new Date();
  for (const { id, schedule, createdAt, isOverdue } of due) {
    if (Number(isOverdue) !== 1) continue;
    // A failure for one source must not hold up the others.
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
