import { once } from 'node:events';
import { expect, it } from 'vitest';
import { useServers, useServiceProcesses } from '../support/service-processes.ts';
import { until } from '../support/until.ts';
import { reasonOf, runHere } from './command.ts';

const processes = useServiceProcesses();
const environment = { PORT: '0', ...useServers() };

const start = async (variables: Record<string, string> = {}) => {
  const service = processes.start({ ...environment, ...variables });
  await service.url();
  return service;
};

/** What `status --offline` says, once it says that no process runs. A process counts as running for 15 s after its last heartbeat. */
const expectNone = async () => {
  const { stdout } = await until('status says that no process runs', async () => {
    const answer = await runHere(['status', '--offline'], environment);
    return answer.code === 1 && answer;
  });
  expect(stdout).toMatch(/^Not well: No process runs\.\n/);
  expect(reasonOf(await runHere(['status'], environment))).toMatch(
    /No running service .* Without the service: .*status --offline$/,
  );
};

it('no process runs once all have been killed, also after another one has stopped in order', async () => {
  const killed = await start();
  killed.child.kill('SIGKILL');
  await once(killed.child, 'exit');
  await expectNone();

  const stopped = await start();
  for (const way of [['status'], ['status', '--offline']])
    expect((await runHere(way, environment)).stdout).toMatch(/^All is well\.\n/);
  await stopped.end('SIGTERM');
  await expectNone();
});

it('processes with different values of TIME_ZONE_OFFSET are a problem until one of them has stopped', async () => {
  const first = await start();
  const second = await start({ TIME_ZONE_OFFSET: '+02:00' });
  const { stdout } = await until('status says it', async () => {
    const answer = await runHere(['status'], environment);
    return answer.code === 1 && answer;
  });
  expect(stdout).toMatch(/^Not well: TIME_ZONE_OFFSET is \+0\d in .+, but \+0\d in .+\.\n/);
  await second.end('SIGTERM');
  expect((await runHere(['status'], environment)).stdout).toMatch(/^All is well\.\n/);
  await first.end('SIGTERM');
});
