import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, it } from 'vitest';
import { childrenOf } from './support/child-processes.ts';
import { useDatabase } from './support/database.ts';
import { processesIn } from './support/processes-in.ts';
import { useServiceProcesses } from './support/service-processes.ts';
import { until } from './support/until.ts';

const { start, newDirectory } = useServiceProcesses();
const { url: databaseUrl } = useDatabase();

it('a process answers a request that came while it was frozen for longer than the headers of a request may take', async () => {
  const service = start(
    {
      DATABASE_URL: databaseUrl,
      REDIS_URL: inject('redisUrl'),
      SECRET_KEY: randomBytes(32).toString('base64'),
    },
    ['--roles', 'api'],
  );
  const url = new URL(await service.url());
  const frozen = [service.child.pid ?? 0, ...childrenOf(service.child.pid)];
  const socket = connect(Number(url.port), url.hostname).setEncoding('utf8');
  await once(socket, 'connect');
  // The connection is known to the process that answers, as an answer to a later one shows.
  await fetch(`${url.origin}/healthz`);
  for (const pid of frozen) process.kill(pid, 'SIGSTOP');
  socket.write(`GET /healthz HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`);
  await sleep(17_000);
  for (const pid of frozen) process.kill(pid, 'SIGCONT');
  const [answer] = await once(socket, 'data');
  expect(answer).toMatch(/^HTTP\/1.1 200 /);
  socket.destroy();
});

it('SIGTERM kills a MySQL that does not react within ten seconds', async () => {
  const directory = await newDirectory();
  const service = start({ DATA_DIR: directory });
  await service.url();
  const { pid } = JSON.parse(await readFile(join(directory, 'mysql.json'), 'utf8'));
  process.kill(pid, 'SIGSTOP');
  expect(await service.end('SIGTERM')).toBe(1);
  await until('nothing left', async () => (await processesIn(directory)).length === 0);
});
