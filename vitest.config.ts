import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/servers.setup.ts'],
    // What never comes must end a run some time; how long anything takes is no test.
    testTimeout: 180_000,
    hookTimeout: 240_000,
    // Two cores also carry MySQL and Redis: more files at once only makes each wait longer.
    maxWorkers: 2,
  },
});
