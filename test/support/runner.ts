import { afterAll } from 'vitest';
import { createAddressGuard } from '../../src/delivering/posting/address-guard.ts';
import { createPoster, type Poster } from '../../src/delivering/posting/post.ts';
import { createRunner, type Runner, type RunnerOptions } from '../../src/delivering/runner.ts';
import type { TestService } from './service.ts';

export interface TestRunner extends Runner {
  poster: Poster;
  /** The jobs that its runs added. */
  wakes: { webhookId: string; delay: number }[];
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
      const wakes: TestRunner['wakes'] = [];
      const poster = createPoster({ guard: createAddressGuard({ allow: ['127.0.0.0/8'] }) });
      const runner = createRunner({
        database,
        secrets,
        poster,
        log,
        linger: 0,
        wake: async (webhookId, delay) => void wakes.push({ webhookId, delay }),
        ...tuning,
      });
      const all = { ...runner, poster, wakes };
      made.push(all);
      return all;
    },
  };
}
