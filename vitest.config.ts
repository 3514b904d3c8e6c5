import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/servers.setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two cores also carry MySQL and Redis: more files at once only makes each wait longer.
    maxWorkers: 2,
  },
});
