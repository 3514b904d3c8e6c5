import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../src/platform/config.ts';
import { childrenOf } from '../support/child-processes.ts';
import { useServers, useServiceProcesses } from '../support/service-processes.ts';
import { until } from '../support/until.ts';

/** Why a service of several processes ends, or does not start. */

const { start } = useServiceProcesses();
const servers = useServers();

it('the supervisor ends immediately on a second signal, but not on a signal that was sent twice', async () => {
  const service = start({ ...servers, PROCESSES: '2' });
  await service.url();
  const children = childrenOf(service.child.pid);
  for (const pid of children) process.kill(pid, 'SIGSTOP');
  service.child.kill('SIGINT');
  service.child.kill('SIGINT');
  await until('it is ending', () => service.said.includes('SIGINT: finishing what is in hand'));
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  expect(service.child.exitCode).toBeNull();
  expect(await service.end('SIGINT')).toBe(1);
  for (const pid of children) process.kill(pid, 'SIGCONT');
  await until('its processes have ended', () => children.every((pid) => !existsSync(`/proc/${pid}`)));
});

it.each([
  [{ PROCESSES: '0' }, undefined, 'PROCESSES must be a whole number of processes from 1 to 64.'],
  [{}, 'all', 'PROCESSES must be a whole number of processes from 1 to 64.'],
])('a wrong number of processes is refused: %j, %j', (env, processes, line) => {
  expect(() => readConfig(env, { processes })).toThrow(line);
});

it('--processes and --roles do not go together', async () => {
  const service = start({}, ['--processes', '2', '--roles', 'api']);
  expect(await service.ended()).toBe(1);
  expect(service.said.trim()).toBe(
    'PROCESSES and --processes do not go together with --roles, which runs one process.',
  );
});

it('the supervisor refuses a PORT that is taken, in one line', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const service = start({ ...servers, PROCESSES: '2', PORT: String(port) });
  expect(await service.ended()).toBe(1);
  expect(service.said.trim()).toBe(
    `Ledgerbell cannot start: PORT ${port} on 127.0.0.1 is taken: set PORT to another port, or to 0 for any free port.`,
  );
});
