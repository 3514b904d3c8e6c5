import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startReplication } from '../support/replication.ts';
import { startSentinelCluster } from '../support/sentinel.ts';
import type { ChaosServer } from './servers.ts';

/** A primary of MySQL with a replica, and Redis with Sentinel. They are started, and run until they are killed for good. */
export async function startClusters(directory: string): Promise<{ mysql: ChaosServer; redis: ChaosServer }> {
  await mkdir(join(directory, 'data'), { mode: 0o700 });
  const [replication, sentinel] = await Promise.all([
    startReplication(join(directory, 'data')),
    startSentinelCluster(join(directory, 'data')),
  ]);
  const running = { start: async () => {}, freeze: () => {}, thaw: () => {}, disk: null };
  return {
    mysql: {
      ...running,
      url: replication.url,
      password: new URL(replication.url).password,
      kill: replication.stop,
      failOver: replication.changeRoles,
      async crash() {
        throw new Error('a replica may lack what was committed last');
      },
    },
    redis: {
      ...running,
      url: sentinel.url,
      password: null,
      kill: sentinel.stop,
      failOver: sentinel.failOver,
      crash: sentinel.replaceMaster,
    },
  };
}
