import { queueSources, scheduleSource, unscheduleSource } from '../collecting/source-jobs.ts';
import type { Runtime } from '../runtime.ts';
import type { SourceRow } from './find.ts';

/**
 * Makes or removes the job scheduler of a source that was created or changed, and queues it if it is due. Redis may be unreachable: the
 * reconciler then finds the source when it is overdue.
 */
export async function wakeSource(
  { queues, log }: Pick<Runtime, 'queues' | 'log'>,
  it: SourceRow,
): Promise<void> {
  const { id, created_at: createdAt, next_run_at: next, status } = it;
  const now = new Date();
  try {
    if (status !== 'active') await unscheduleSource(queues, id);
    else await scheduleSource(queues, { id, schedule: JSON.parse(it.schedule), createdAt }, now);
    if (next !== null && next <= now) await queueSources(queues, [id]);
  } catch (err) {
    log.warn({ err, sourceId: id }, 'source not scheduled yet');
  }
}
