import { expect, it } from 'vitest';
import { childrenOf } from '../support/child-processes.ts';
import { useServers, useServiceProcesses } from '../support/service-processes.ts';
import { spin } from '../support/spin.ts';
import { until } from '../support/until.ts';

const { start } = useServiceProcesses();
const servers = useServers();

it('a process that does not answer is killed and started again, and operators see that it was', async () => {
  const service = start({ ...servers, PROCESSES: '2', LOG_LEVEL: 'info' });
  await service.url();
  const opsUrl = await service.opsUrl();
  const headers = await service.signIn();
  const [victim = 0] = childrenOf(service.child.pid, 'delivery-1');
  await spin(victim, () => service.said);
  await until('it is killed', () =>
    service.said.includes('delivery-1 has not answered for 30 s, and is killed.'),
  );
  await until('another one answers', async () => {
    const [other] = childrenOf(service.child.pid, 'delivery-1');
    return other !== undefined && other !== victim && (await fetch(`${opsUrl}/healthz`)).status === 200;
  });
  expect(service.said).toMatch(
    /"process":"supervisor".*"name":"delivery-1".*a process was killed because it did not answer/,
  );
  const page = async (path: string) => (await fetch(`${opsUrl}${path}`, { headers })).text();
  expect(await page('/metrics')).toMatch(/^ledgerbell_processes_killed_total\{process="supervisor"\} 1$/m);
  await until('the console says it', async () =>
    /delivery-1 on \S+ did not answer, and was killed by its supervisor\./.test(await page('/ops')),
  );
});
