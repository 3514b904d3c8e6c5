import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { Hono } from 'hono';
import { expect, it, onTestFinished } from 'vitest';
import { startServer } from '../../src/http/listener.ts';

it('the answer to a request that is running at the shutdown closes the connection, so that no further request is cut off', async () => {
  let begun: () => void = () => {};
  const received = new Promise<void>((resolve) => {
    begun = resolve;
  });
  let finish: () => void = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const app = new Hono().get('/slow', async (c) => {
    begun();
    await finished;
    return c.text('done');
  });
  const server = await startServer(app.fetch, {
    name: 'api',
    variable: 'PORT',
    keepAlive: 75,
    host: '127.0.0.1',
    port: 0,
  });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());

  const request = get(`${server.url}/slow`, { agent });
  await received;
  const stopped = server.stop();
  finish();
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  expect([answer.statusCode, answer.headers.connection]).toEqual([200, 'close']);
  answer.resume();
  await stopped;
});
