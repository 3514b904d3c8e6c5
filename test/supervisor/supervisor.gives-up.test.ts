import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { childrenOf } from '../support/child-processes.ts';
import { useServers, useServiceProcesses } from '../support/service-processes.ts';

const { start, newDirectory } = useServiceProcesses();
const servers = useServers();

/** The service gives up after five such deaths within a minute. On a busy machine they take longer, so its clock goes ten times as slowly. */
const SLOW_CLOCK =
  'const { now } = Date; const began = now(); Date.now = () => Math.floor(began + (now() - began) / 10);';

it('the supervisor ends with exit code 1 when a process keeps ending while it starts', async () => {
  const profiles = await newDirectory();
  const service = start({
    ...servers,
    PROCESSES: '2',
    PROFILES_DIR: profiles,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(SLOW_CLOCK)}`,
  });
  await service.url();
  writeFileSync(join(profiles, 'wrong.json'), '{');
  const [victim = 0] = childrenOf(service.child.pid);
  process.kill(victim, 'SIGKILL');
  expect(await service.ended()).toBe(1);
  expect(service.said).toMatch(/^Ledgerbell cannot go on: \S+ keeps ending while it starts, .*wrong\.json/m);
  expect(service.said).toMatch(/started again in 4 s/);
});
