import { expect, it } from 'vitest';
import { startLeader } from '../../src/upkeep/tasks/leader.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useOwnService({ because: 'one process leads', roles: ['api'] });

/** Ends when it is told to. */
const untilAborted = (signal: AbortSignal) =>
  new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));

it('one process at a time runs the tasks, and another process takes over when it ends', async () => {
  const working = new Set<string>();
  let most = 0;
  const start = (process: string) =>
    startLeader(service.runtime, 'one-at-a-time', [
      {
        name: 'task',
        every: 1,
        run: async (signal) => {
          working.add(process);
          most = Math.max(most, working.size);
          await untilAborted(signal);
          working.delete(process);
        },
      },
    ]);
  const one = start('one');
  await until('a task', () => working.has('one'));
  const two = start('two');
  await one.stop();
  await until('a task of the other process', () => working.has('two'));
  await two.stop();
  expect([most, working.size]).toEqual([1, 0]);
});

it('a task that fails or takes long is repeated, and does not keep other tasks from running', async () => {
  const runs = { failing: 0, quick: 0 };
  const leader = startLeader(service.runtime, 'side-by-side', [
    {
      name: 'failing',
      every: 1,
      run: async () => {
        runs.failing += 1;
        throw new Error('this task fails');
      },
    },
    { name: 'long', every: 1, run: untilAborted },
    {
      name: 'quick',
      every: 1,
      run: async () => {
        runs.quick += 1;
      },
    },
  ]);
  await until('three runs of each', () => runs.failing >= 3 && runs.quick >= 3);
  await leader.stop();
});

it('a leader that loses its connection ends its tasks, and leads again with another connection', async () => {
  const { database } = service.runtime;
  let begun = 0;
  let ended = 0;
  const leader = startLeader(service.runtime, 'lost-connection', [
    {
      name: 'task',
      every: 1,
      run: async (signal) => {
        begun += 1;
        await untilAborted(signal);
        ended += 1;
      },
    },
  ]);
  await until('a task', () => begun === 1);
  const processes = await database.query<{ id: string }[]>(
    "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID() AND command = 'Sleep'",
  );
  for (const { id } of processes) await database.query(`KILL ${Number(id)}`).catch(() => {});
  await until('the task once more', () => begun === 2, 20_000);
  expect(ended).toBe(1);
  await leader.stop();
  expect(ended).toBe(2);
});
