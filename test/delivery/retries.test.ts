import { beforeEach, describe, expect, it } from 'vitest';
import { readRetries } from '../../src/delivery/engine/retries.ts';
import { readStates } from '../../src/delivery/webhook-state.ts';
import { useService } from '../support/service.ts';
import { createSubscriber, NOWHERE, type Subscriber } from '../support/subscriber.ts';

const service = useService({ roles: ['api'] });
let subscriber: Subscriber;
let ids: string[];

beforeEach(async () => {
  subscriber = await createSubscriber(service, NOWHERE, {}, {});
  ids = await subscriber.store(6);
});

/** @param due seconds until each retry is due; null: the delivery has failed for good. */
async function addRetries(due: Record<string, number | null>, webhookId = subscriber.webhook.id) {
  for (const [id, seconds] of Object.entries(due)) {
    await service.runtime.database.query(
      `INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
       VALUES (?, ?, ?, NOW(6) + INTERVAL ? SECOND, 4, 3)`,
      [webhookId, id, subscriber.customerId, seconds],
    );
  }
}

const read = ({ ordered = false, limit = 100 } = {}) =>
  readRetries(service.runtime.database, subscriber.webhook.id, { ordered, limit });
const id = (at: number) => ids[at] ?? '';
const numbers = (...at: number[]) => at.map((it) => Number(id(it)));
const idsOf = ({ deliveries }: Awaited<ReturnType<typeof read>>) =>
  deliveries.map(({ subjectId }) => subjectId);
const about = (milliseconds: number) =>
  expect.toSatisfy((it) => it <= milliseconds && it > milliseconds - 10_000);

describe('the retries of a webhook', () => {
  it('are those that are due, the longest due first, together with when the next retry is due', async () => {
    await addRetries({ [id(0)]: -10, [id(1)]: -30, [id(2)]: 3_600, [id(3)]: 60, [id(4)]: -20 });
    const found = await read();
    expect(idsOf(found)).toEqual(numbers(1, 4, 0));
    expect(found.nextIn).toEqual(about(60_000));
    expect(found.deliveries[0]).toEqual({
      subjectId: Number(id(1)),
      source: 'retries',
      attempts: 4,
      failures: 3,
      content: expect.objectContaining({
        transaction_id: id(1),
        amount: '1.000',
        account_id: subscriber.accountId,
        account: 'Ana Hesap',
        bank: 'Garanti BBVA',
        currency: 'TRY',
        date_issue: '2026-01-15',
      }),
    });
  });

  it('are due if they were scheduled before the clock was set back by a day', async () => {
    // The third failure is followed by two minutes, or by an hour if the endpoint asks for it.
    await addRetries({ [id(0)]: 24 * 3_600 + 120, [id(1)]: 3_600 });
    const found = await read();
    expect(idsOf(found)).toEqual(numbers(0));
    expect(found.nextIn).toEqual(about(3_600_000));
    const [state] = await readStates(service.runtime.database, [subscriber.webhook.id]);
    expect(state?.retryIn).toEqual(about(3_600_000));
    await service.runtime.database.query('DELETE FROM retries WHERE transaction_id = ?', [id(1)]);
    const [alone] = await readStates(service.runtime.database, [subscriber.webhook.id]);
    expect(alone?.retryIn).toBeLessThanOrEqual(0);
  });

  it('say that more retries are due when not all were read', async () => {
    await addRetries({ [id(0)]: -10, [id(1)]: -30, [id(2)]: -20 });
    expect(await read({ limit: 2 })).toMatchObject({ nextIn: 0 });
    expect(idsOf(await read({ limit: 2 }))).toEqual(numbers(1, 2));
    expect((await read({ limit: 4 })).nextIn).toBeNull();
  });

  it('leave out deliveries that have failed for good, and those of other webhooks', async () => {
    await addRetries({ [id(0)]: null, [id(1)]: null });
    await addRetries({ [id(2)]: -10 }, subscriber.webhookIds[1]);
    expect(await read()).toEqual({ deliveries: [], nextIn: null });
    expect(await read({ ordered: true, limit: 1 })).toEqual({ deliveries: [], nextIn: null });
  });

  it('are only the first in its order when the webhook is ordered, due or not', async () => {
    await addRetries({ [id(0)]: null, [id(2)]: -1, [id(1)]: 60, [id(3)]: -30 });
    const waiting = await read({ ordered: true, limit: 1 });
    expect(waiting).toEqual({ deliveries: [], nextIn: about(60_000) });
    await service.runtime.database.query('UPDATE retries SET due_at = NOW(6) WHERE transaction_id = ?', [
      id(1),
    ]);
    expect(idsOf(await read({ ordered: true, limit: 1 }))).toEqual(numbers(1));
  });

  it('come without their movement when the movement is gone', async () => {
    await addRetries({ [id(0)]: -10, [id(1)]: -5 });
    await service.runtime.database.query('DELETE FROM transactions WHERE id = ?', [id(0)]);
    const { deliveries } = await read();
    expect(deliveries).toEqual([
      { subjectId: Number(id(0)), source: 'retries', attempts: 4, failures: 3, content: null },
      expect.objectContaining({ content: expect.objectContaining({ transaction_id: id(1) }) }),
    ]);
  });
});
