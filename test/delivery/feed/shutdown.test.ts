import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { createCustomer } from '../../../src/customers/customers.ts';
import { createSecretBox } from '../../../src/database/secret-box.ts';
import { useDatabase } from '../../support/database.ts';
import { openStream } from '../../support/event-stream.ts';
import { useRedisDatabase } from '../../support/redis-database.ts';
import { useServiceProcesses } from '../../support/service-processes.ts';
import { until } from '../../support/until.ts';

const { start } = useServiceProcesses();
const { url: DATABASE_URL, database } = useDatabase();
const REDIS_URL = useRedisDatabase();
const SECRET_KEY = randomBytes(32).toString('base64');

it('SIGTERM answers readers and ends streams immediately', async () => {
  const service = start({ DATABASE_URL, REDIS_URL, SECRET_KEY });
  const url = await service.url();
  const { api_key: key } = await createCustomer({ database, secrets: createSecretBox(SECRET_KEY) }, 'Okur');
  const headers = { Authentication: key, 'Content-Type': 'application/json' };
  const created = await fetch(`${url}/v1/webhooks`, {
    ...{ method: 'POST', headers },
    body: JSON.stringify({ title: 'Kasa', event: 'NEW_TRANSACTION', account: 'all', delivery: 'pull' }),
  });
  const { webhook } = (await created.json()) as { webhook: { id: number } };
  const path = `${url}/v1/webhooks/${webhook.id}/feed`;
  const stream = await openStream(path, headers);
  const waiting = Array.from({ length: 5 }, () => fetch(`${path}?wait=55`, { headers }));
  const opsUrl = await service.opsUrl();
  const signedIn = { headers: await service.signIn() };
  await until('all are waiting', async () =>
    /^ledgerbell_feed_readers(?:{.*})? 6$/m.test(await (await fetch(`${opsUrl}/metrics`, signedIn)).text()),
  );
  const began = performance.now();
  const ended = service.end('SIGTERM');
  for (const answer of await Promise.all(waiting)) {
    expect(answer.status).toBe(200);
    expect(await answer.json()).toEqual({ events: [], cursor: expect.any(String), more: false });
  }
  await stream.ended;
  // They would have waited for most of a minute, and the stream for most of its half.
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(await ended).toBe(0);
});
