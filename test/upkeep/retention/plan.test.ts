import { beforeAll, expect, it } from 'vitest';
import { deleteMovements } from '../../../src/movements/delete-movements.ts';
import { removeOld } from '../../../src/upkeep/retention/retention.ts';
import { createSteps, FIRST_ROWS } from '../../../src/upkeep/retention/steps.ts';
import { watchOwnReads } from '../../support/reads.ts';
import { useOwnService } from '../../support/service.ts';
import { createSubscriber, NOWHERE, type Subscriber } from '../../support/subscriber.ts';
import { FOREVER, NOW } from './kept.ts';

/** Checks how many entries of tables and indexes MySQL reads. */
const MOVEMENTS = 20_000;
/** The number of old rows among them. */
const OLD = 1_000;

const service = useOwnService({ because: 'MySQL plans by the size of the tables', roles: ['api'] });

let subscriber: Subscriber;

/** As right after an import, when MySQL has not yet updated its statistics. */
beforeAll(async () => {
  const { database } = service.runtime;
  subscriber = await createSubscriber(service, NOWHERE, {}, {}, {});
  const { customerId, accountId, webhookIds } = subscriber;
  for (const table of ['transactions', 'attempts', 'deliveries', 'imports']) {
    await database.query(`ALTER TABLE ${table} STATS_AUTO_RECALC = 0`);
    await database.query(`ANALYZE TABLE ${table}`);
  }
  const numbers = `
    (WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 999)
     SELECT a.n * 1000 + b.n AS n FROM s a JOIN s b WHERE a.n * 1000 + b.n < ${MOVEMENTS})`;
  const at = (n: string) => `IF(${n} < ${OLD}, '2026-01-15 09:00:00', '2026-05-15 09:00:00')`;
  await database.query(
    `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed)
     SELECT ?, ?, 1, CONCAT('m', n), 'Credit', '1.00', DATE(${at('n')}), ${at('n')} FROM ${numbers} it ORDER BY n`,
    [customerId, accountId],
  );
  await database.query(
    `UPDATE import_locks SET last_transaction_id = (SELECT MAX(id) FROM transactions) WHERE customer_id = ?`,
    [customerId],
  );
  for (const id of webhookIds) {
    await database.query(
      `INSERT INTO deliveries (webhook_id, transaction_id, customer_id, status, attempts, outcome, started_at, duration_ms)
       SELECT ?, id, customer_id, 'delivered', 2, 'delivered', date_readed, 1 FROM transactions`,
      [id],
    );
    await database.query(
      `INSERT INTO attempts (webhook_id, transaction_id, number, customer_id, outcome, started_at, duration_ms)
       SELECT ?, id, 1, customer_id, 'failed', date_readed, 1 FROM transactions`,
      [id],
    );
    await database.query(
      `UPDATE webhook_cursors SET sent_through = (SELECT MAX(id) FROM transactions), highest_recorded_id = sent_through
       WHERE webhook_id = ?`,
      [id],
    );
  }
  await database.query(
    `INSERT INTO imports (customer_id, api_key_id, format, status, received_at, finished_at)
     SELECT ?, 1, 'json', 'done', ${at('n')}, ${at('n')} FROM ${numbers} it ORDER BY n`,
    [customerId],
  );
});

const readsOf = (retention: object) =>
  watchOwnReads(service.runtime.config.databaseUrl, (database) =>
    removeOld({
      database,
      retention: { ...FOREVER, ...retention },
      steps: createSteps({ pauses: false }),
      now: NOW,
    }),
  );

it('retention finds and removes old rows without reading young ones', async () => {
  // A few entries of an index for each row that goes: it is found, and each of its indexes has an entry.
  const imports = await readsOf({ imports: 90 });
  expect(imports.result.imports).toBe(OLD);
  expect(imports.read).toBeLessThan(OLD * 10 + FIRST_ROWS * 2);
  const attempts = await readsOf({ attempts: 90 });
  expect(attempts.result.attempts).toBe(OLD * 3);
  expect(attempts.read).toBeLessThan(OLD * 3 * 5);
  const deliveries = await readsOf({ deliveries: 90 });
  expect(deliveries.result.deliveries).toBe(OLD * 3);
  expect(deliveries.read).toBeLessThan(OLD * 3 * 10);
  const movements = await readsOf({ movements: 90 });
  expect(movements.result.movements).toBe(OLD);
  expect(movements.read).toBeLessThan(OLD * 15);
});

it('retention reads few rows if none are old', async () => {
  const { result, read } = await readsOf({ deliveries: 365, attempts: 365, imports: 365, movements: 365 });
  expect(Object.values(result).every((count) => count === 0)).toBe(true);
  expect(read).toBeLessThan(FIRST_ROWS * 2);
});

it('retention deletes movements by their ids', async () => {
  const { database } = service.runtime;
  const rows = await database.query<{ id: string }[]>(
    'SELECT id FROM transactions ORDER BY id DESC LIMIT 100',
  );
  const ids = rows.map(({ id }) => id).reverse();
  const { result, read } = await watchOwnReads(service.runtime.config.databaseUrl, (own) =>
    own.transaction(async (manager) =>
      deleteMovements({ query: (sql, values) => manager.query(sql, values) }, subscriber.customerId, ids),
    ),
  );
  expect(result.deleted).toBe(100);
  expect(read).toBeLessThan(1_500);
});
