import { describe, expect, it } from 'vitest';
import { cancelPending } from '../../src/delivering/cancel.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';

const { database } = useDatabase();

const WEBHOOK = '7';

const WAITING = `
  SELECT id FROM information_schema.processlist
  WHERE db = DATABASE() AND id <> CONNECTION_ID() AND info LIKE '%cancelled%'`;

describe('cancelling', () => {
  it('begins again when it loses a deadlock against results that are being written', async () => {
    await database.query('INSERT INTO deliveries (webhook_id, transaction_id) VALUES ?', [
      Array.from({ length: 20 }, (_, n) => [WEBHOOK, n + 1]),
    ]);
    const delivered =
      "UPDATE deliveries SET status = 'delivered' WHERE webhook_id = ? AND transaction_id = ?";
    const results = database.createQueryRunner();
    await results.startTransaction();
    // Whoever has changed more is not chosen as the victim.
    await results.query(
      'INSERT INTO attempts (delivery_id, number, outcome, started_at, duration_ms) VALUES ?',
      [Array.from({ length: 1_000 }, (_, n) => [n + 1, 1, 'delivered', '2026-01-31', 1])],
    );
    await results.query(delivered, [WEBHOOK, 20]);

    const cancelled = cancelPending(database, WEBHOOK);
    cancelled.catch(() => {}); // Reported where it is awaited.
    await until('the cancelling waits for the last row', async () => {
      const [waiting] = await database.query<{ id: string }[]>(WAITING);
      return waiting;
    });
    await results.query(delivered, [WEBHOOK, 1]);
    await results.commitTransaction();
    await results.release();

    expect(await cancelled).toBe(18);
  });
});
