import { afterAll } from 'vitest';
import type { Runner, RunnerOptions } from '../../src/delivery/engine/ports.ts';
import { createRunner } from '../../src/delivery/engine/runner.ts';
import { createPoster, type Poster } from '../../src/delivery/posting/post.ts';
import { createMysqlPorts } from '../../src/delivery/worker.ts';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import { systemClock } from '../../src/platform/system-clock.ts';
import type { TestService } from './service.ts';

export interface TestRunner extends Runner {
  poster: Poster;
  /** The jobs that its runs added. */
  addedJobs: { webhookId: string; delay: number }[];
}

/** Runners whose runs the test starts itself: no worker competes with them, and nothing wakes them. Stopped after the file. */
export function useRunners(service: TestService) {
  const made: TestRunner[] = [];
  afterAll(async () => {
    for (const runner of made) {
      runner.stop();
      await runner.poster.close();
    }
  });
  return {
    create(tuning: Partial<RunnerOptions> = {}): TestRunner {
      const { database, secrets, log } = service.runtime;
      const addedJobs: TestRunner['addedJobs'] = [];
      const poster = createPoster({ guard: createAddressGuard({ allow: ['127.0.0.0/8'] }) });
      const runner = createRunner({
        ...createMysqlPorts(database, secrets),
        jobs: { add: async (webhookId, delay) => void addedJobs.push({ webhookId, delay }) },
        poster,
        clock: systemClock,
        random: Math.random,
        log,
        linger: 0,
        ...tuning,
      });
      const all = { ...runner, poster, addedJobs };
      made.push(all);
      return all;
    },
  };
}
