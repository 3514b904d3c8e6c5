import { isLeaseFree } from './reads.ts';
import { ask, happens, latency, note, type World } from './world.ts';

/**
 * Wakes the webhook after a commit, like wakeWebhooks of wake.ts. New movements are published immediately, a change to the webhook only
 * if a run has the lease. Without such a run, a job is added.
 */
export function wake(world: World, reread: boolean): void {
  if (happens(world, world.faults.wake)) {
    world.needsReconciler = true;
    note(world, 'api', 'dies before it wakes the webhook');
    return;
  }
  const { tables, timeline } = world;
  const read = () => {
    const { openUntil } = tables.cursor.health;
    const { now } = timeline;
    return {
      isActive: tables.webhook.status === 'active',
      isLeased: !isLeaseFree(tables, now),
      openFor: openUntil === null ? 0 : Math.max(0, Math.ceil(openUntil - now)),
    };
  };
  if (!reread) timeline.after(latency(world), null, () => world.publish(false));
  world.wakeUps += 1;
  ask(world, null, read, {
    done({ isActive, isLeased, openFor }) {
      timeline.after(latency(world), null, () => {
        world.wakeUps -= 1;
        if (isLeased) {
          if (reread) world.publish(true);
        } else if (isActive) addJob(world, openFor);
      });
    },
    fail: null,
  });
}

/** @returns whether Redis has confirmed that the job was added. */
export function addJob(world: World, delay: number): boolean {
  if (!happens(world, world.faults.redis)) {
    world.queue.add(delay);
    return true;
  }
  world.needsReconciler = true;
  if (world.random() < 0.5) world.queue.add(delay);
  note(world, 'redis', 'does not answer');
  return false;
}
