import { beforeAll, expect, it } from 'vitest';
import type { Sql } from '../../src/database/transaction.ts';
import { readDue } from '../../src/delivering/due.ts';
import { takeLeases } from '../../src/delivering/lease.ts';
import { reconcileDeliveries } from '../../src/delivering/reconcile.ts';
import { waitsUntilDue } from '../../src/delivering/wait.ts';
import { createAccount, movement } from '../support/movements.ts';
import { watchReads } from '../support/reads.ts';
import { useService } from '../support/service.ts';
import { subscribe } from '../support/webhooks.ts';

const MOVEMENTS = 5_000;

const service = useService({ roles: ['api'] });
/** Is owed all movements, now. */
let owed: string;
/** Is owed them as well, each of them in an hour. */
let failing: string;

/** As right after an import: MySQL has not yet counted anew. */
beforeAll(async () => {
  const { database } = service.runtime;
  const { api_key: key, customer } = await service.customer();
  const account = await createAccount(service, key);
  owed = (await subscribe(service, key, 'http://127.0.0.1:9/hook')).id;
  failing = (await subscribe(service, key, 'http://127.0.0.1:9/hook')).id;
  for (const table of ['transactions', 'deliveries']) {
    await database.query(`ALTER TABLE ${table} STATS_AUTO_RECALC = 0`);
    await database.query(`ANALYZE TABLE ${table}`);
  }
  const { dc, amount, description, date_issue } = movement(account.id);
  await database.query(
    `INSERT INTO transactions
     (customer_id, account_id, import_id, unique_id, dc, amount, description, date_issue, date_readed) VALUES ?`,
    [
      Array.from({ length: MOVEMENTS }, (_, i) => [
        ...[customer.id, account.id, 0, `m${i}`],
        ...[dc, amount, description, date_issue, '2026-01-15 09:00:00'],
      ]),
    ],
  );
  for (const [id, dueAt] of [
    [owed, "'1970-01-01'"],
    [failing, 'NOW(6) + INTERVAL 1 HOUR'],
  ]) {
    await database.query(
      `INSERT INTO deliveries (webhook_id, transaction_id, due_at) SELECT ?, id, ${dueAt} FROM transactions WHERE account_id = ? ORDER BY id`,
      [id, account.id],
    );
  }
});

const watch = <T>(work: (sql: Sql) => Promise<T>) => watchReads(service.runtime.database, work);

it('reads a batch without looking at all movements', async () => {
  const { result, read } = await watch((sql) => readDue(sql, owed));
  expect(result.rows).toHaveLength(300);
  expect(read).toBeLessThan(MOVEMENTS);
});

it('finds out who is owed something now, and how long others have to wait, without looking at all that they are owed', async () => {
  const woken: string[] = [];
  const due = await watch((sql) => reconcileDeliveries(sql, async (ids) => void woken.push(...ids)));
  expect(woken).toEqual([owed]);
  const waits = await watch((sql) => waitsUntilDue(sql, [failing, owed]));
  expect(waits.result).toEqual([expect.toSatisfy((wait) => wait > 3_000_000), 0]);
  const leases = await watch((sql) => takeLeases(sql, [failing, owed]));
  expect(leases.result).toEqual([null, expect.objectContaining({ webhookId: owed })]);
  for (const { read } of [due, waits, leases]) expect(read).toBeLessThan(100);
});
