import { expect, it } from 'vitest';
import { FAULT_KINDS } from './plan.ts';
import { run } from './run.ts';

const MINUTE = 60_000;

/** Everything that `npm run chaos` does, with outages of seconds instead of a minute. It starts its own servers. */
it(
  'the service loses nothing, and repeats nothing without a cause, while every part is killed, stopped and cut off',
  async ({ signal }) => {
    const said: string[] = [];
    const { table, findings } = await run({
      seed: 20_261_121,
      minutes: 1.5,
      kinds: FAULT_KINDS,
      gap: 2.5,
      rate: 30,
      waitLimit: 120,
      keep: false,
      announce: (line) => said.push(line),
      signal,
    });
    expect(findings, `\n${[...findings, ...said, table].join('\n')}`).toEqual([]);
  },
  8 * MINUTE,
);
