import { beforeAll, describe, expect, it } from 'vitest';
import { readRetries } from '../../../src/delivery/engine/retries.ts';
import { recordEvent } from '../../../src/delivery/operational-event.ts';
import { reportFailedDeliveries } from '../../../src/delivery/report-failed-deliveries.ts';
import { reportStuckImports } from '../../../src/intake/stuck-imports.ts';
import { dispatchEvents } from '../../../src/upkeep/events/dispatch-events.ts';
import { watchOwnReads, watchReads } from '../../support/reads.ts';
import { useOwnService } from '../../support/service.ts';
import { createSubscriber, type Subscriber, setCursor } from '../../support/subscriber.ts';

/** How much MySQL reads, where there are many events, dead letters and imports. */

const service = useOwnService({ because: 'MySQL plans by the size of the tables', roles: ['api'] });

const ROWS = 20_000;
const NUMBERS = `
  SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n AS n
  FROM ${['a', 'b', 'c', 'd']
    .map(
      (name) =>
        `(SELECT 0 AS n ${Array.from({ length: 9 }, (_, at) => `UNION ALL SELECT ${at + 1}`).join(' ')}) ${name}`,
    )
    .join(' CROSS JOIN ')} CROSS JOIN (SELECT 0 AS n UNION ALL SELECT 1) e`;

let subscriber: Subscriber;
let events: string;
let movements: string;
beforeAll(async () => {
  subscriber = await createSubscriber(service, 'http://127.0.0.1:9/', { event: 'OPERATIONAL' }, {});
  [events = '', movements = ''] = subscriber.webhookIds;
  const { database } = service.runtime;
  const { customerId } = subscriber;
  await database.query(
    `INSERT INTO operational_events (customer_id, type, occasion, data, created_at, dispatched_at)
     SELECT ?, 'import.failed', CONCAT('stored ', n), '{}', NOW(6) - INTERVAL 2 DAY - INTERVAL n SECOND, NOW(6) FROM (${NUMBERS}) numbers`,
    [customerId],
  );
  await database.query(
    `INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
     SELECT ?, id, customer_id, NOW(6) - INTERVAL 1 MINUTE, 1, 1 FROM operational_events`,
    [events],
  );
  await database.query(
    `INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
     SELECT ?, n + 1, ?, NULL, 12, 12 FROM (${NUMBERS}) numbers`,
    [movements, customerId],
  );
  await database.query(
    `INSERT INTO imports (customer_id, api_key_id, format, status, received_at)
     SELECT ?, (SELECT MIN(id) FROM api_keys WHERE customer_id = ?), 'ndjson', IF(n = 0, 'queued', 'done'), NOW(6) - INTERVAL 1 HOUR
     FROM (${NUMBERS}) numbers`,
    [customerId, customerId],
  );
  await database.query(
    'UPDATE import_locks SET last_date_readed = NOW(6) - INTERVAL 1 HOUR WHERE customer_id = ?',
    [customerId],
  );
  await database.query('ANALYZE TABLE operational_events, retries, webhooks, webhook_cursors, imports');
});

const url = () => service.runtime.config.databaseUrl;

describe('with many events and imports, MySQL reads few rows', () => {
  it('when an event is recorded', async () => {
    const { read, result } = await watchReads(service.runtime.database, (sql) =>
      recordEvent(sql, {
        type: 'import.failed',
        customerId: subscriber.customerId,
        occasion: 'new',
        data: {},
      }),
    );
    expect(result).toBe(true);
    expect(read).toBeLessThan(50);
  });

  it('when an event is dispatched', async () => {
    const { read, result } = await watchOwnReads(url(), (database) => dispatchEvents(database));
    expect(result).toEqual([events]);
    expect(read).toBeLessThan(100);
  });

  it('when the due event deliveries are read', async () => {
    const { read, result } = await watchReads(service.runtime.database, (sql) =>
      readRetries(sql, events, { ordered: false, limit: 100, ofEvents: true }),
    );
    expect(result.deliveries).toHaveLength(100);
    expect(read).toBeLessThan(1_500);
  });

  it('when failed deliveries are reported, and the report lists the newest of them', async () => {
    await setCursor(service, movements, 'unreported_failures = 3');
    const { read } = await watchOwnReads(url(), (database) => reportFailedDeliveries(database));
    expect(read).toBeLessThan(200);
    const [event] = await service.runtime.database.query<{ data: string }[]>(
      "SELECT data FROM operational_events WHERE type = 'delivery.failed'",
    );
    const newest = Array.from({ length: 10 }, (_, at) => `${movements}-${ROWS - at}`);
    expect(JSON.parse(event?.data ?? '')).toMatchObject({ failed: 3, delivery_ids: newest });
  });

  it('when a stuck import is reported', async () => {
    const { read } = await watchOwnReads(url(), (database) => reportStuckImports(database));
    expect(read).toBeLessThan(100);
    const [event] = await service.runtime.database.query<{ data: string }[]>(
      "SELECT data FROM operational_events WHERE type = 'import.stuck'",
    );
    expect(JSON.parse(event?.data ?? '')).toMatchObject({ imports: 1 });
  });
});
