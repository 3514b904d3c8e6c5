import { once } from 'node:events';
import { Agent, type ClientRequest, request } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

async function answerTo(outgoing: ClientRequest): Promise<number | undefined> {
  const [response] = await once(outgoing, 'response');
  await once(response.resume(), 'end');
  return response.statusCode;
}

it('the API keeps serving a connection after it has refused a body half-way', async () => {
  const { api_key: key } = await service.customer();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const upload = request(`${service.url}/v1/webhooks`, {
    method: 'POST',
    agent,
    headers: { Authentication: key, 'Content-Type': 'application/json' },
  });
  upload.end(Buffer.alloc(2 * 1024 * 1024, ' '));
  expect(await answerTo(upload)).toBe(413);

  // Beyond the half second after which the HTTP adapter closes a connection whose body nobody reads.
  for (const end = performance.now() + 1_000; performance.now() < end; ) {
    const next = request(`${service.url}/v1/banks`, { agent, headers: { Authentication: key } }).end();
    expect(await answerTo(next)).toBe(200);
    expect(next.reusedSocket).toBe(true);
  }
});
