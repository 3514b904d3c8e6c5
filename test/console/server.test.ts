import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { startOps } from '../../src/console/server.ts';
import type { Config } from '../../src/platform/config.ts';
import { sendBytes } from '../support/raw-http.ts';
import { reservePort } from '../support/reserved-port.ts';
import { useService } from '../support/service.ts';

/** No process with the role api runs here. */
const nowhere = () => undefined;

const service = useService({ roles: ['importer'] });

async function start(config: Partial<Config>): Promise<URL> {
  const { runtime } = service;
  const ops = await startOps({ ...runtime, config: { ...runtime.config, ...config } }, nowhere);
  onTestFinished(() => ops.stop());
  return new URL(ops.url);
}

async function occupy(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
}

it("the console takes the port after the API's, or any free port when another process has that one", async () => {
  const port = await reservePort();
  const first = await start({ port: port - 1 });
  expect(Number(first.port)).toBe(port);
  const second = await start({ port: port - 1 });
  expect(second.port).not.toBe(first.port);
  for (const { href } of [first, second]) expect((await fetch(`${href}healthz`)).status).toBe(200);
});

it.each([0, 65_535])("the console takes any free port when the API's port is %d", async (port) => {
  expect((await fetch(`${(await start({ port })).href}healthz`)).status).toBe(200);
});

it('the console listens on OPS_HOST and OPS_PORT', async () => {
  const port = await reservePort();
  expect((await start({ opsHost: '0.0.0.0', opsPort: port })).host).toBe(`127.0.0.1:${port}`);
  expect((await start({ opsHost: 'localhost', opsPort: 0 })).hostname).toBe('localhost');
});

it('the console takes no port but OPS_PORT, and names it when it is taken', async () => {
  const port = await reservePort();
  await occupy(port);
  await expect(start({ opsPort: port })).rejects.toThrow(
    `OPS_PORT ${port} on 127.0.0.1 is taken: set OPS_PORT to another port, or to 0 for any free port.`,
  );
});

it('the console is closed when the service stops', async () => {
  const { runtime } = service;
  const ops = await startOps(runtime, nowhere);
  await ops.stop();
  await expect(fetch(`${ops.url}/healthz`)).rejects.toThrow();
});

it('the console answers broken requests as the API does', async () => {
  const answer = await sendBytes(service.opsUrl, 'MARKER\r\n\r\n');
  expect(answer).toMatch(/^HTTP\/1.1 400 /);
  expect(answer).toContain('application/problem+json');
  expect(answer).not.toContain('MARKER');
});
