import { randomBytes, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { createCustomer } from '../../src/customers/customers.ts';
import { createSecretBox } from '../../src/database/secret-box.ts';
import { useDatabase } from '../support/database.ts';
import { movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useRedisDatabase } from '../support/redis-database.ts';
import { useServiceProcesses } from '../support/service-processes.ts';
import { until } from '../support/until.ts';

const receiver = useReceiver();
const processes = useServiceProcesses();
const { url: DATABASE_URL, database } = useDatabase();
const REDIS_URL = useRedisDatabase();
const SECRET_KEY = randomBytes(32).toString('base64');

const SLOW_WEBHOOKS = 20;
const EVENTS = 500;
const BATCH = { max: 5, wait_ms: 0 };

it('the batches of a customer whose endpoints answer nobody do not hold up those of another, in two delivery processes', async () => {
  const service = processes.start({
    ...{ DATABASE_URL, REDIS_URL, SECRET_KEY, ALLOW_PRIVATE_ENDPOINTS: '127.0.0.0/8', PROCESSES: '4' },
  });
  const url = await service.url();

  /** A customer with webhooks that are sent batches. */
  async function createSubscriber(name: string, paths: readonly string[]) {
    const { api_key: key } = await createCustomer({ database, secrets: createSecretBox(SECRET_KEY) }, name);
    const post = async (path: string, body: object) => {
      const headers = { Authentication: key, 'Content-Type': 'application/json' };
      const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
      expect(answer.ok).toBe(true);
      return (await answer.json()) as { account: { id: number } };
    };
    const { account } = await post('/v1/accounts', { bank: 'Akbank', title: 'Kasa', currency: 'TRY' });
    for (const path of paths)
      await post('/v1/webhooks', {
        ...{ title: name, event: 'NEW_TRANSACTION', account: 'all', endpoint: receiver.url + path },
        ...{ batch: BATCH, max_in_flight: 16 },
      });
    return async () => {
      for (let left = EVENTS; left > 0; left -= 100) {
        const rows = Array.from({ length: 100 }, () =>
          movement(String(account.id), { unique_id: randomUUID() }),
        );
        await post('/v1/imports', { transactions: rows });
      }
    };
  }

  const eventsAt = (path: string) =>
    receiver.at(path).flatMap(({ body }) => JSON.parse(body).events.map(({ id }: { id: string }) => id));
  const storeSlow = await createSubscriber('Slow', Array(SLOW_WEBHOOKS).fill('/slow'));
  const store = await createSubscriber('Fast', ['/fast']);
  // Endpoints that have answered for a while may have as many POSTs in flight as they allow.
  await Promise.all([storeSlow(), store()]);
  await until('all are well', () => {
    return (
      new Set(eventsAt('/slow')).size === SLOW_WEBHOOKS * EVENTS && new Set(eventsAt('/fast')).size === EVENTS
    );
  });
  const held: ServerResponse[] = [];
  receiver.answer('/slow', (_, response) => void held.push(response));
  await storeSlow();
  await until('the slow ones have POSTs in flight', () => held.length >= SLOW_WEBHOOKS);
  await store();
  await until('all events of the other customer', () => new Set(eventsAt('/fast')).size === 2 * EVENTS);
  for (const response of held) response.end('ok');
});
