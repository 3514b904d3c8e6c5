import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { readEphemeralPorts, reservePort } from './reserved-port.ts';

const FIXTURE = fileURLToPath(new URL('./reserved-port.fixture.ts', import.meta.url));

it('a reserved port is never an ephemeral port, and never reserved twice', async () => {
  const [from, to] = readEphemeralPorts();
  const ports = await Promise.all(Array.from({ length: 50 }, () => reservePort()));
  for (const port of ports) expect(port < from || port > to).toBe(true);
  expect(new Set(ports).size).toBe(ports.length);
});

it('a port that fetch refuses to call is not reserved', async () => {
  const cause = await fetch('http://127.0.0.1:10080/').catch((error: Error) => error.cause);
  expect(cause).toMatchObject({ message: 'bad port' });
  await expect(reservePort([[10_080, 10_080]])).rejects.toThrow('no port is free');
});

it('a port on which a server listens is not reserved', async () => {
  const port = await reservePort();
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  await expect(reservePort([[port, port]])).rejects.toThrow('no port is free');
});

it('a port that another process has reserved is not reserved', async () => {
  const port = await reservePort();
  const reserveElsewhere = async () => {
    const child = spawn(process.execPath, ['--import', 'tsx', FIXTURE, String(port), String(port)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(createInterface(child.stdout), 'line');
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
    return line;
  };
  expect(await reserveElsewhere()).toBe('none');
});
