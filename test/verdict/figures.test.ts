import { beforeAll, describe, expect, it } from 'vitest';
import { readFigures } from '../../src/verdict/state/figures.ts';
import { watchReads } from '../support/reads.ts';
import { useOwnService } from '../support/service.ts';
import { createSubscriber, NOWHERE, type Subscriber, setCursor } from '../support/subscriber.ts';

const service = useOwnService({ because: 'the queries read what all customers have', roles: ['api'] });
const query = (sql: string, values?: unknown[]) => service.runtime.database.query(sql, values);
const readState = () => readFigures(service.runtime.database);

const setStatus = (id: string, status: string, reason: string | null = null) =>
  query('UPDATE webhooks SET status = ?, status_reason = ? WHERE id = ?', [status, reason, id]);

/** Moves the movements of a subscriber into the past. */
const age = (ids: readonly string[], seconds: number) =>
  query('UPDATE transactions SET date_readed = NOW(6) - INTERVAL ? SECOND WHERE id IN (?)', [seconds, ids]);

const about = (seconds: number) =>
  expect.toSatisfy((it) => it >= seconds && it < seconds + 60, `about ${seconds}`);

const addImport = ({ customerId }: Subscriber, status: string, receivedAgo: number) =>
  query(
    `INSERT INTO imports (customer_id, api_key_id, format, status, received_at)
     VALUES (?, 1, 'ndjson', ?, NOW(6) - INTERVAL ? SECOND)`,
    [customerId, status, receivedAgo],
  );

describe('the state of an installation', () => {
  it('is all zeros in an empty installation', async () => {
    expect(await readState()).toEqual({
      webhooks: { active: 0, paused: 0, quarantined: 0, disabled: 0 },
      circuits: { closed: 0, half_open: 0, open: 0 },
      failing: 0,
      pending: { healthy: 0, failing: 0, held: 0, pulled: 0 },
      toCome: 0,
      oldestPending: null,
      oldestPendingSeconds: 0,
      longestFailing: 0,
      imports: { receiving: 0, queued: 0, running: 0, failed: 0 },
      importsGivenUp: 0,
      importsFailedLately: 0,
      importsStuck: 0,
      oldestImport: 0,
      sources: { failing: 0, withWrongFile: 0 },
      statements: { incomplete: 0, contradictory: 0, late: 0 },
      openConflicts: 0,
    });
  });

  it('counts webhooks, circuits, pending deliveries and imports of all customers', async () => {
    const one = await createSubscriber(service, NOWHERE, ...Array.from({ length: 7 }, () => ({})));
    const other = await createSubscriber(service, NOWHERE, { event: 'NEW_DEBIT' });
    const [failing = '', open = '', paused = '', quarantined = '', disabled = '', deleted = '', done = ''] =
      one.webhookIds;
    const newest = (await one.store(3)).at(-1) ?? '';
    const [first = '', debit = ''] = await other.store([{ dc: 'Credit' }, { dc: 'Debit' }, { dc: 'Debit' }]);
    await age([first], 9_000);
    await age([debit], 600);
    await setCursor(
      service,
      failing,
      `failing_since = NOW(6) - INTERVAL 7200 SECOND, recovery_successes = 0, circuit_openings = 1,
        circuit_open_until = NOW(6) - INTERVAL 1 SECOND`,
    );
    await setCursor(
      service,
      open,
      'failing_since = NOW(6) - INTERVAL 60 SECOND, circuit_open_until = NOW(6) + INTERVAL 60 SECOND',
    );
    await setCursor(
      service,
      done,
      `sent_through = ${newest}, delivered_count = 3, recovery_successes = NULL`,
    );
    await setStatus(paused, 'paused');
    await setStatus(quarantined, 'paused', 'Its delivery runs have ended');
    await setStatus(disabled, 'disabled', 'gone');
    await setStatus(deleted, 'deleted');
    for (const [status, ago] of [
      ['queued', 50],
      ['running', 400],
      ['running', 30],
      ['failed', 90_000],
      ['done', 90_000],
      ['receiving', 2],
    ] as const)
      await addImport(one, status, ago);

    expect(await readState()).toEqual({
      webhooks: { active: 4, paused: 1, quarantined: 1, disabled: 1 },
      circuits: { closed: 2, half_open: 1, open: 1 },
      failing: 2,
      pending: { healthy: 2, failing: 6, held: 9, pulled: 0 },
      toCome: 0,
      oldestPending: expect.any(Date),
      // The credit is older, and the webhook of that customer does not match it.
      oldestPendingSeconds: about(600),
      longestFailing: about(7_200),
      imports: { receiving: 1, queued: 1, running: 2, failed: 1 },
      importsGivenUp: 0,
      importsFailedLately: 0,
      importsStuck: 1,
      sources: { failing: 0, withWrongFile: 0 },
      oldestImport: about(400),
      statements: { incomplete: 0, contradictory: 0, late: 0 },
      openConflicts: 0,
    });
  });
});

describe('with a large installation', () => {
  const MOVEMENTS = 20_000;
  const WEBHOOKS = 300;
  const IMPORTS = 5_000;
  let before: number;

  /** A derived table of `n` rows. @param n at most 1,000 times 1,000. */
  const numbers = (n: number) => `
    (WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 999)
     SELECT a.n * 1000 + b.n AS n FROM s a JOIN s b WHERE a.n * 1000 + b.n < ${n})`;

  beforeAll(async () => {
    const { read } = await watchReads(service.runtime.database, readFigures);
    before = read;
    const { customerId, accountId, webhookIds } = await createSubscriber(service);
    const [id = ''] = webhookIds;
    await query(
      `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed)
       SELECT ?, ?, 1, CONCAT('m', n), 'Credit', '1.00', '2026-01-15', '2026-01-15 09:00:00' FROM ${numbers(MOVEMENTS)} it`,
      [customerId, accountId],
    );
    await query(
      `UPDATE webhook_backlogs SET matched_count = ${MOVEMENTS}, matched_through = (SELECT MAX(id) FROM transactions) WHERE webhook_id = ?`,
      [id],
    );
    // Most of the log has been sent, and must not be read.
    await query(
      `UPDATE webhook_cursors SET sent_through = (SELECT MAX(id) FROM transactions) - 10,
        highest_recorded_id = (SELECT MAX(id) FROM transactions) - 10 WHERE webhook_id = ?`,
      [id],
    );
    await query(
      `INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
       SELECT ?, n + 1, ?, NOW(6), 1, 1 FROM ${numbers(MOVEMENTS)} it`,
      [id, customerId],
    );
    await query(
      `INSERT INTO imports (customer_id, api_key_id, format, status) SELECT ?, 1, 'json', IF(n % 10 = 0, 'failed', 'done') FROM ${numbers(IMPORTS)} it`,
      [customerId],
    );
    for (const [table, key, columns] of [
      [
        'webhooks',
        'id',
        'title, endpoint, event, status, secret, encoding, hash_encoding, ordered, max_in_flight',
      ],
      ['webhook_cursors', 'webhook_id', 'sent_through, highest_recorded_id'],
      ['webhook_backlogs', 'webhook_id', 'matched_through, matched_count'],
    ] as const) {
      await query(
        `INSERT INTO ${table} (${key}, customer_id, ${columns})
         SELECT w.${key} + 1000 + it.n, w.customer_id, ${columns} FROM ${table} w JOIN ${numbers(WEBHOOKS)} it WHERE w.${key} = ?`,
        [id],
      );
    }
    // The copies of webhook_cursors took over the health, and the backlogs the counts.
    await query('ANALYZE TABLE webhooks, webhook_cursors, webhook_backlogs, transactions, imports');
  });

  it('the state is read from a few rows for each webhook with a backlog, and from the index of failed imports', async () => {
    const { result, read } = await watchReads(service.runtime.database, readFigures);
    expect(result.pending.healthy).toBeGreaterThan(WEBHOOKS * MOVEMENTS);
    expect(result.oldestPendingSeconds).toBeGreaterThan(0);
    expect(result.imports.failed).toBeGreaterThanOrEqual(IMPORTS / 10);
    expect(read - before).toBeLessThan(WEBHOOKS * 27 + IMPORTS / 10 + 500);
  });
});
