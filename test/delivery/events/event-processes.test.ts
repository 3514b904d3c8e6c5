import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { createCustomer } from '../../../src/customers/customers.ts';
import { createSecretBox, SEALED } from '../../../src/database/secret-box.ts';
import { inTransaction } from '../../../src/database/transaction.ts';
import { recordEvent } from '../../../src/delivery/operational-event.ts';
import { addWebhook } from '../../../src/webhooks/settings/save-webhook.ts';
import { createWebhookSecret } from '../../../src/webhooks/webhooks.ts';
import { useDatabase } from '../../support/database.ts';
import { useReceiver } from '../../support/receiver.ts';
import { useRedisDatabase } from '../../support/redis-database.ts';
import { useServiceProcesses } from '../../support/service-processes.ts';
import { until } from '../../support/until.ts';
import { openEvent } from './received-events.ts';

const EVENTS = 60;

const { database, url } = useDatabase();
const receiver = useReceiver();
const redisUrl = useRedisDatabase();
const { start } = useServiceProcesses();

it('events are sent by two processes, and by the remaining process when the other is killed', async () => {
  const secretKey = randomBytes(32).toString('base64');
  const secrets = createSecretBox(secretKey);
  const { customer } = await createCustomer({ database, secrets }, 'Kesinti');
  const secret = createWebhookSecret();
  const webhookId = await inTransaction(database, (sql) =>
    addWebhook(sql, {
      customerId: customer.id,
      event: 'OPERATIONAL',
      accountId: null,
      columns: {
        title: 'Events',
        endpoint: `${receiver.url}/events`,
        encoding: 'json',
        hash_encoding: 'hex',
        max_in_flight: 2,
      },
      seal: (id) => ({ secret: secrets.seal(secret, SEALED.webhookSecret(id)), headers: null }),
    }),
  );
  const env = {
    DATABASE_URL: url,
    REDIS_URL: redisUrl,
    SECRET_KEY: secretKey,
    OPS_WEBHOOK_URL: `${receiver.url}/operator`,
    OPS_WEBHOOK_SECRET: secret,
  };
  // Slowly, so that the process is killed while it sends.
  for (const path of ['/events', '/operator'])
    receiver.answer(path, (_, response) => void setTimeout(() => response.end('ok'), 20));
  const first = start(env);
  const second = start(env);
  await Promise.all([first.url(), second.url()]);
  const operators = await database.query<{ id: string }[]>(
    "SELECT id FROM webhooks WHERE title = 'OPS_WEBHOOK_URL' AND status <> 'deleted'",
  );
  expect(operators).toHaveLength(1);

  for (let at = 0; at < EVENTS; at += 1)
    await recordEvent(database, { type: 'import.failed', customerId: customer.id, data: { at } });
  await until('some are received', () => receiver.at('/events').length > 3);
  await first.end('SIGKILL');

  const ended = async (id: string | undefined) => {
    const rows = await database.query<{ delivered_count: string }[]>(
      'SELECT delivered_count FROM webhook_cursors WHERE webhook_id = ?',
      [id],
    );
    return Number(rows[0]?.delivered_count) === EVENTS;
  };
  await until('all delivered', async () => (await ended(webhookId)) && (await ended(operators[0]?.id)));
  for (const path of ['/events', '/operator']) {
    const received = receiver.at(path).map((it) => openEvent(it, secret));
    const ids = new Map(received.map((it) => [it.id, it.data.at]));
    expect([...ids.values()].toSorted((a, b) => a - b)).toEqual([...Array(EVENTS).keys()]);
  }
  const counts = await database.query<{ n: string }[]>('SELECT COUNT(*) AS n FROM retries');
  expect(Number(counts[0]?.n)).toBe(0);
});
