import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { mt940, type TestEntry } from '../../intake/statement-files.ts';
import { createTestSource } from '../../sources/test-source.ts';
import { importMovements, movement } from '../../support/movements.ts';
import { setCursor } from '../../support/subscriber.ts';
import { until } from '../../support/until.ts';
import { subscribe } from '../../support/webhooks.ts';
import { useEventService } from './event-service.ts';
import { storedEvents, subscribeToEvents } from './received-events.ts';

const { service, receiver, report, toldOperator, newCustomer } = useEventService();

describe('operational events reach the customer and the operator, signed:', () => {
  it('webhook.disabled', async () => {
    const customer = await newCustomer('/disabled');
    receiver.answer('/gone?token=secret', (_, response) => response.writeHead(410).end());
    const gone = await subscribe(service, customer.key, `${receiver.url}/gone?token=secret`, {
      title: 'ERP',
    });
    await importMovements(service, customer.key, [movement(customer.account)]);
    await until('disabled', async () => (await storedEvents(service, customer.id, 'webhook.disabled'))[0]);
    await report();

    const event = await customer.subscription.next('webhook.disabled');
    const data = {
      customer_id: Number(customer.id),
      webhook: { id: Number(gone.id), title: 'ERP', event: 'NEW_TRANSACTION', origin: receiver.url },
      reason: 'The endpoint answered 410 Gone.',
    };
    expect(event).toEqual({
      id: expect.stringMatching(new RegExp(`^msg_${customer.subscription.id}-[1-9][0-9]*$`)),
      type: 'webhook.disabled',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      data,
    });
    expect((await toldOperator(customer.id, 'webhook.disabled')).data).toEqual(data);
  });

  it('webhook.failing, once for each percentage of a period of failures', async () => {
    const customer = await newCustomer('/failing');
    const ids: string[] = [];
    // 50 % of five days are 60 hours, 70 % 84, 90 % 108. A day without an attempt does not count.
    for (const [hours, days] of [
      [59, 3],
      [61, 3],
      [85, 4],
      [109, 5],
      [85, 2],
    ] as const) {
      const { id } = await subscribe(service, customer.key, 'http://127.0.0.1:9/');
      await setCursor(
        service,
        id,
        `failing_since = NOW(6) - INTERVAL ${hours} HOUR, failing_days = ${days}, last_error = 'answered 500'`,
      );
      ids.push(id);
    }
    await Promise.all([report(), report(), report()]);
    await report();
    const stored = await storedEvents(service, customer.id, 'webhook.failing');
    const told = stored.map(({ webhook_id, data }) => [webhook_id, JSON.parse(data).percent]);
    expect(told.toSorted(([, one], [, other]) => one - other)).toEqual([
      [ids[1], 50],
      [ids[2], 70],
      [ids[3], 90],
    ]);
    await until('all received', () => customer.subscription.events('webhook.failing').length === 3);
    const { data } = await customer.subscription.next('webhook.failing');
    expect(data).toMatchObject({ last_error: 'answered 500', webhook: { origin: 'http://127.0.0.1:9' } });
    expect(Date.parse(data.disabled_at) - Date.parse(data.failing_since)).toBe(5 * 86_400_000);
    await toldOperator(customer.id, 'webhook.failing');
  });

  it('webhook.quarantined', async () => {
    const customer = await newCustomer('/quarantined');
    const poison = await subscribe(service, customer.key, `${receiver.url}/poison`, { title: 'ERP' });
    // As after ten runs that have ended their process.
    await setCursor(service, poison.id, 'crash_count = 10');
    await importMovements(service, customer.key, [movement(customer.account)]);
    await until('quarantined', async () => {
      const events = await storedEvents(service, customer.id, 'webhook.quarantined');
      return events.length > 0;
    });
    await report();
    await report();

    const { data } = await customer.subscription.next('webhook.quarantined');
    const { body } = await service.call('GET', `/v1/webhooks/${poison.id}`, { key: customer.key });
    expect(body.webhook).toMatchObject({
      status: 'paused',
      status_reason: expect.stringContaining('10 times'),
    });
    expect(data).toEqual({
      customer_id: Number(customer.id),
      webhook: { id: Number(poison.id), title: 'ERP', event: 'NEW_TRANSACTION', origin: receiver.url },
      reason: body.webhook.status_reason,
    });
    expect((await toldOperator(customer.id, 'webhook.quarantined')).data).toEqual(data);
    expect(await storedEvents(service, customer.id, 'webhook.quarantined')).toHaveLength(1);
  });

  it('delivery.failed, immediately and then once an hour with the failures since', async () => {
    const customer = await newCustomer('/failed-deliveries');
    receiver.answer('/refusing', (_, response) => response.writeHead(422).end());
    const { id } = await subscribe(service, customer.key, `${receiver.url}/refusing`);
    const send = (movements: number) =>
      importMovements(
        service,
        customer.key,
        Array.from({ length: movements }, () => movement(customer.account, { unique_id: randomUUID() })),
      );
    const failed = (count: number) =>
      until(`${count} failed`, async () => {
        const { body } = await service.call('GET', `/v1/webhooks/${id}`, { key: customer.key });
        return body.webhook.deliveries.failed === count;
      });
    await send(25);
    await failed(25);
    await report();
    const first = await customer.subscription.next('delivery.failed');
    expect(first.data).toMatchObject({ webhook: { id: Number(id) }, failed: 25, last_error: 'answered 422' });
    expect(first.data.delivery_ids).toHaveLength(10);
    const { body } = await service.call('GET', `/v1/deliveries/${first.data.delivery_ids[0]}`, {
      key: customer.key,
    });
    expect(body.delivery).toMatchObject({ status: 'failed', event_id: null });

    await send(5);
    await failed(30);
    await report();
    expect(await storedEvents(service, customer.id, 'delivery.failed')).toHaveLength(1);
    await setCursor(service, id, 'failures_reported_at = NOW(6) - INTERVAL 61 MINUTE');
    await report();
    await report();
    const stored = await storedEvents(service, customer.id, 'delivery.failed');
    expect(stored.map(({ data }) => JSON.parse(data).failed)).toEqual([25, 5]);
    await toldOperator(customer.id, 'delivery.failed');
  });

  it('import.failed', async () => {
    const customer = await newCustomer('/failed-import');
    const entries = Array.from(
      { length: 5_000 },
      (_, at): TestEntry => ({ day: (at % 28) + 1, amount: at + 1 }),
    );
    const whole = gzipSync(mt940(entries));
    const { body } = await service.call('POST', '/v1/imports', {
      key: customer.key,
      body: whole.subarray(0, whole.length - 500),
      type: 'application/octet-stream',
    });
    const [stored] = await until('failed', async () => {
      const events = await storedEvents(service, customer.id, 'import.failed');
      return events.length > 0 && events;
    });
    await report();
    const { data } = await customer.subscription.next('import.failed');
    expect(data).toEqual(JSON.parse(stored?.data ?? ''));
    const { body: shown } = await service.call('GET', `/v1/imports/${body.import.id}`, { key: customer.key });
    expect(shown.import.status).toBe('failed');
    expect(data.import).toMatchObject({ id: shown.import.id, error: shown.import.error, source_id: null });
    await toldOperator(customer.id, 'import.failed');
  });

  it('import.stuck, once for the oldest import of a customer until the customer has a row stored', async () => {
    const customer = await newCustomer('/stuck-import');
    const { database } = service.runtime;
    const addImport = async (minutesAgo: number) => {
      const { insertId } = await database.query<{ insertId: number }>(
        `INSERT INTO imports (customer_id, api_key_id, format, status, checkpoint, received_at)
         VALUES (?, (SELECT id FROM api_keys WHERE customer_id = ?), 'ndjson', 'running', 2000, NOW(6) - INTERVAL ? MINUTE)`,
        [customer.id, customer.id, minutesAgo],
      );
      return Number(insertId);
    };
    const stuck = async () =>
      (await storedEvents(service, customer.id, 'import.stuck')).map(
        ({ data }) => JSON.parse(data).import.id,
      );
    const fresh = await addImport(4);
    await report();
    expect(await stuck()).toEqual([]);
    await database.query('UPDATE imports SET received_at = NOW(6) - INTERVAL 6 MINUTE WHERE id = ?', [fresh]);
    await addImport(6);
    await Promise.all([report(), report(), report()]);
    await report();
    expect(await stuck()).toEqual([fresh]);
    const { data } = await customer.subscription.next('import.stuck');
    expect(data).toEqual({
      customer_id: Number(customer.id),
      import: { id: fresh, format: 'ndjson', source_id: null, rows_stored: 2000 },
      received_at: expect.stringMatching(/Z$/),
      imports: 2,
    });
    expect((await toldOperator(customer.id, 'import.stuck')).data).toEqual(data);
    // Something was stored, and then nothing again.
    await database.query(
      'UPDATE import_locks SET last_date_readed = NOW(6) - INTERVAL 6 MINUTE WHERE customer_id = ?',
      [customer.id],
    );
    await report();
    expect(await stuck()).toEqual([fresh, fresh]);
  });

  it('source.failing, at the third failure in a row', async () => {
    const source = await createTestSource(service, {
      // biome-ignore lint/correctness/useYield: a source that fails yields nothing.
      async *files() {
        throw new Error('The bank does not answer.');
      },
    });
    const subscription = await subscribeToEvents(service, receiver, source.key, '/failing-source');
    const { customer_id } = (await source.row()) as { customer_id: string };
    for (const expected of [0, 0, 1, 1, 1]) {
      await source.isDue();
      await source.run();
      expect(await storedEvents(service, customer_id, 'source.failing')).toHaveLength(expected);
    }
    await report();
    const { data } = await subscription.next('source.failing');
    expect(data).toMatchObject({
      source: { id: Number(source.id), title: 'Deneme', kind: 'test' },
      consecutive_failures: 3,
      next_run_at: expect.stringMatching(/Z$/),
    });
    await toldOperator(customer_id, 'source.failing');
  });
});
