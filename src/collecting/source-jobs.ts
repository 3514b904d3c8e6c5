import type { Queues } from '../queues/queues.ts';
import { intervalOf, nextSlot, type SourceSchedule } from './source-schedule.ts';

/** Jobs of sources: one when a run is asked for, and a job scheduler that adds one whenever the source is due. */

/** An active source, as its scheduler needs it. */
export interface ScheduledSource {
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
