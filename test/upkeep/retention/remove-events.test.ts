import { describe, expect, it } from 'vitest';
import { recordBalance, recordEvent } from '../../../src/delivery/operational-event.ts';
import { dispatchEvents } from '../../../src/upkeep/events/dispatch-events.ts';
import { useOwnService } from '../../support/service.ts';
import { recordDeliveries } from '../../support/stored.ts';
import { createSubscriber, NOWHERE } from '../../support/subscriber.ts';
import { removeAt } from './kept.ts';

const service = useOwnService({ because: 'retention removes what any customer has', roles: ['api'] });
const now = new Date(Date.now() + 91 * 24 * 60 * 60 * 1_000);

describe('old operational events', () => {
  it('are removed with their deliveries, unless they are still to be sent', async () => {
    const { database } = service.runtime;
    const { webhook, customerId } = await createSubscriber(service, NOWHERE, { event: 'OPERATIONAL' });
    for (let at = 0; at < 4; at += 1)
      await recordEvent(database, { type: 'import.failed', customerId, data: { at } });
    await dispatchEvents(database);
    const ids = async () =>
      (await database.query<{ id: string }[]>('SELECT id FROM operational_events ORDER BY id')).map(
        ({ id }) => id,
      );
    const [delivered = '', failed = '', pending = '', recent = ''] = await ids();
    await database.query('DELETE FROM retries WHERE transaction_id IN (?)', [[delivered, failed, recent]]);
    await recordDeliveries(database, webhook, [
      { transactionId: delivered, status: 'delivered' },
      { transactionId: failed, status: 'failed' },
      { transactionId: recent, status: 'delivered' },
    ]);
    await database.query('UPDATE deliveries SET started_at = ? WHERE transaction_id = ?', [now, recent]);

    expect(await removeAt(service, { deliveries: null, attempts: 90 }, now)).toMatchObject({ events: 0 });
    expect(await removeAt(service, { deliveries: 92 }, now)).toMatchObject({ events: 0 });
    expect(await removeAt(service, { deliveries: 90 }, now)).toMatchObject({ events: 2 });
    expect(await ids()).toEqual([pending, recent]);
    const left = async (table: string) =>
      (
        await database.query<{ transaction_id: string }[]>(
          `SELECT transaction_id FROM ${table} WHERE webhook_id = ? ORDER BY transaction_id`,
          [webhook.id],
        )
      ).map(({ transaction_id }) => transaction_id);
    expect(await left('deliveries')).toEqual([recent]);
    expect(await left('retries')).toEqual([pending]);
  });

  it.each(['BALANCE_UPDATED', 'OPERATIONAL'])(
    'are removed with a deleted %s webhook, and so are its secret and endpoint',
    async (event) => {
      const { database } = service.runtime;
      const { key, webhook, customerId, accountId } = await createSubscriber(service, NOWHERE, { event });
      const record = async () => {
        if (event === 'OPERATIONAL')
          await recordEvent(database, { type: 'import.failed', customerId, data: {} });
        else await recordBalance(database, { customerId, accountId, data: {} });
      };
      await record();
      await record();
      await dispatchEvents(database);
      const [first = ''] = (
        await database.query<{ id: string }[]>('SELECT id FROM operational_events WHERE customer_id = ?', [
          customerId,
        ])
      ).map(({ id }) => id);
      await recordDeliveries(database, webhook, [{ transactionId: first, status: 'delivered' }]);
      await service.call('DELETE', `/v1/webhooks/${webhook.id}`, { key });
      await removeAt(service, { deliveries: 90 }, now);
      for (const table of ['webhooks', 'operational_events'])
        expect(
          await database.query(`SELECT id FROM ${table} WHERE customer_id = ?`, [customerId]),
          table,
        ).toEqual([]);
      for (const table of ['deliveries', 'retries', 'attempts', 'webhook_cursors'])
        expect(
          await database.query(`SELECT 1 FROM ${table} WHERE webhook_id = ?`, [webhook.id]),
          table,
        ).toEqual([]);
    },
  );
});
