import { once } from 'node:events';
import { expect, it } from 'vitest';
import { useServers, useServiceProcesses } from '../support/service-processes.ts';
import { until } from '../support/until.ts';
import { runHere } from './command.ts';

const processes = useServiceProcesses();
const environment = { PORT: '0', ...useServers() };

const start = async () => {
  const service = processes.start(environment);
  await service.url();
  return service;
};

/** What `status` says, once it says that no process runs. A process counts as running for 15 s after its last heartbeat. */
const expectNone = async () => {
  const { stdout } = await until('status says that no process runs', async () => {
    const answer = await runHere(['status'], environment);
    return answer.code === 1 && answer;
  });
  expect(stdout).toMatch(/^Not well: No process runs\.\n/);
};

it('no process runs once all have been killed, also after another one has stopped in order', async () => {
  const killed = await start();
  killed.child.kill('SIGKILL');
  await once(killed.child, 'exit');
  await expectNone();

  const stopped = await start();
  expect((await runHere(['status'], environment)).stdout).toMatch(/^All is well\.\n/);
  await stopped.end('SIGTERM');
  await expectNone();
});
