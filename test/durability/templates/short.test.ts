import { expect, it } from 'vitest';
import { runTemplates } from './run.ts';

const MINUTE = 60_000;

/** `npm run chaos:templates` with fewer customers, and without waiting for the schedule. It starts its own servers. */
it(
  'the webhooks of a template lose nothing while processes are killed, their endpoint fails, their secret is rotated and they are paused',
  async ({ signal }) => {
    const said: string[] = [];
    const { table, findings } = await runTemplates({
      ...{ seed: 20_261_130, customers: 300, few: 60, probes: 3, hurry: true, waitLimit: 120, keep: false },
      announce: (line) => said.push(line),
      signal,
    });
    expect(findings, `\n${[...findings, ...said, table].join('\n')}`).toEqual([]);
  },
  8 * MINUTE,
);
