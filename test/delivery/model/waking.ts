import { type WakePort, wake } from '../../../src/delivery/wake.ts';
import { isLeaseFree } from './reads.ts';
import { addJob, ask, happens, latency, note, type World } from './world.ts';

/** Wakes the webhook after a commit, as the api and the importer do. */
export function wakeWebhook(world: World, reread: boolean): void {
  if (happens(world, world.faults.wake)) {
    world.needsReconciler = true;
    note(world, 'api', 'dies before it wakes the webhook');
    return;
  }
  world.wakeUps += 1;
  void wake(createWakePort(world), ['1'], reread).then(() => {
    world.wakeUps -= 1;
  });
}

function createWakePort(world: World): WakePort {
  const { tables, timeline } = world;
  const later = (happen: () => void) =>
    new Promise<void>((resolve) => {
      timeline.after(latency(world), null, () => {
        happen();
        resolve();
      });
    });
  return {
    publish: (_, reread) => later(() => world.publish(reread)),
    addJobs: () => later(() => void addJob(world, 0)),
    readLeases: ([id = '']) =>
      ask(
        world,
        null,
        () => {
          const { now } = timeline;
          const { openUntil } = tables.cursor.health;
          return [
            {
              id,
              isActive: tables.webhook.status === 'active',
              isPull: false,
              isLeased: !isLeaseFree(tables, now),
              isOpen: openUntil !== null && openUntil > now,
            },
          ];
        },
        { canFail: false },
      ),
  };
}
