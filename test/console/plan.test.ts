import type { QueryRunner } from 'typeorm';
import { beforeAll, describe, expect, it } from 'vitest';
import { chooseWebhooks, listAcross } from '../../src/console/deliveries/delivery-rows.ts';
import { readNewestAttempts, readRecentAttempts } from '../../src/console/deliveries/newest-attempts.ts';
import { readStored } from '../../src/console/imports/imports-page.tsx';
import { search } from '../../src/console/trace/search.ts';
import { readMovement } from '../../src/console/trace/trace-page.tsx';
import { actFor } from '../../src/customers/caller.ts';
import { readAudit } from '../../src/customers/read-audit.ts';
import type { Sql } from '../../src/database/transaction.ts';
import { readAttempts } from '../../src/delivery/attempts.ts';
import { readWaitingWebhooks } from '../../src/delivery/waiting-webhooks.ts';
import { readFirstWarnings, readIssues } from '../../src/intake/import-view.ts';
import { findImport, firstImportAt, listImports } from '../../src/intake/imports.ts';
import { nameWebhookTroubles } from '../../src/verdict/webhooks.ts';
import { readWebhooks } from '../../src/webhook-record/record.ts';
import { findWebhooks } from '../../src/webhooks/find-webhook.ts';
import { watchReads } from '../support/reads.ts';
import { useOwnService } from '../support/service.ts';
import { createSubscriber, NOWHERE, type Subscriber } from '../support/subscriber.ts';

/**
 * Checks how many entries of tables and indexes MySQL reads for the pages of the console. None of them may grow with the number of
 * movements, deliveries, imports or changes.
 */
const MOVEMENTS = 50_000;
const IMPORTS = 20_000;
const CHANGES = 20_000;
const ATTEMPTED = 40_000;
/** A page of imports over the API. Each has 1,000 warnings. */
const WARNED = 100;
/** More than any page shows, and far less than there is of anything. */
const FEW = 2_500;
/** For pages that look at several webhooks, or through a bounded number of entries. */
const SOME = 9_000;

const service = useOwnService({ because: 'MySQL plans by the size of the tables', roles: ['api'] });
const watch = <T>(work: (sql: Sql) => Promise<T>) => watchReads(service.runtime.database, work);

let subscriber: Subscriber;
let webhookId: string;
let newest: string;
let firstImport: string;

const numbers = (n: number) => `
  (WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 999)
   SELECT a.n * 1000 + b.n AS n FROM s a JOIN s b WHERE a.n * 1000 + b.n < ${n})`;

beforeAll(async () => {
  const { database } = service.runtime;
  subscriber = await createSubscriber(service, NOWHERE, {}, {}, {});
  webhookId = subscriber.webhookIds[0] ?? '';
  const { customerId, accountId } = subscriber;
  await database.query(
    `INSERT INTO imports (customer_id, api_key_id, format, status, received_at, started_at, finished_at, first_readed, last_readed)
     SELECT ?, 1, 'json', IF(n % 1000 = 0, 'failed', 'done'), '2026-01-01' + INTERVAL n SECOND, '2026-01-01' + INTERVAL n SECOND,
       '2026-01-01' + INTERVAL n SECOND, '2026-01-01' + INTERVAL n SECOND, '2026-01-01' + INTERVAL (n + 60) SECOND FROM ${numbers(IMPORTS)} it ORDER BY n`,
    [customerId],
  );
  const [first] = await database.query<{ id: string }[]>('SELECT MIN(id) AS id FROM imports');
  firstImport = first?.id ?? '';
  await database.query(
    `INSERT INTO transactions (customer_id, account_id, import_id, unique_id, dc, amount, date_issue, date_readed)
     SELECT ?, ?, ? + n % ${IMPORTS}, CONCAT('m', n), 'Credit', '1.00', '2026-01-15', '2026-01-01' + INTERVAL n SECOND
     FROM ${numbers(MOVEMENTS)} it ORDER BY n`,
    [customerId, accountId, firstImport],
  );
  const [last] = await database.query<{ id: string }[]>('SELECT MAX(id) AS id FROM transactions');
  newest = last?.id ?? '';
  await database.query(
    `INSERT INTO deliveries (webhook_id, transaction_id, customer_id, status, attempts, outcome, started_at, duration_ms)
     SELECT w.id, t.id, t.customer_id, 'delivered', 1, 'delivered', NOW(6), 20
     FROM (SELECT id FROM transactions ORDER BY id LIMIT ${ATTEMPTED}) t0 JOIN transactions t ON t.id = t0.id JOIN webhooks w`,
  );
  await database.query(
    `INSERT INTO retries (webhook_id, transaction_id, customer_id, due_at, attempts, failures)
     SELECT ?, id, customer_id, IF(id % 2 = 0, NULL, NOW(6) + INTERVAL 1 HOUR), 1, 1
     FROM transactions ORDER BY id LIMIT 5000`,
    [webhookId],
  );
  await database.query(
    `UPDATE deliveries d JOIN retries r ON r.webhook_id = d.webhook_id AND r.transaction_id = d.transaction_id
     SET d.status = IF(r.due_at IS NULL, 'failed', 'pending')`,
  );
  await database.query('UPDATE webhook_backlogs SET matched_count = ?, matched_through = ?', [
    MOVEMENTS,
    newest,
  ]);
  await database.query(
    `UPDATE webhook_cursors SET delivered_count = ${ATTEMPTED}, failed_count = 10,
      sent_through = (SELECT id FROM transactions ORDER BY id LIMIT 1 OFFSET ${ATTEMPTED - 1}),
      highest_recorded_id = (SELECT id FROM transactions ORDER BY id LIMIT 1 OFFSET ${ATTEMPTED - 1})`,
  );
  await database.query('UPDATE webhook_cursors SET failing_since = NOW(6) WHERE webhook_id = ?', [webhookId]);
  await database.query(
    `INSERT INTO audit_events (customer_id, source, actor, action, subject)
     SELECT ?, 'api', 'lb_abc… k', 'change', CONCAT('webhook ', n % 50) FROM ${numbers(CHANGES)} it`,
    [customerId],
  );
  await database.query(
    `INSERT INTO import_errors (import_id, severity, line, path, message)
     SELECT ?, 'error', n, 'amount', 'must be an amount' FROM ${numbers(10_000)} it`,
    [firstImport],
  );
  await database.query(
    `INSERT INTO import_errors (import_id, severity, line, path, message)
     SELECT ? + n % ${WARNED}, 'warning', n, '', 'The closing balance is 1.00.' FROM ${numbers(WARNED * 1_000)} it`,
    [firstImport],
  );
});

const callerOf = (customerId: string) =>
  actFor(customerId, { source: 'console', name: 'test', role: 'admin' });
const ANY = {
  accountId: null,
  status: null,
  before: '999999999999999999',
} as const;
const NO_FILTER = {
  viewer: null,
  before: '999999999999999999',
  from: '1',
} as const;
const NO_AUDIT_FILTER = {
  subject: null,
  customerId: null,
  source: null,
  before: '999999999999999999',
} as const;

const list = (filters: Partial<Parameters<typeof listAcross>[2]>) => async (sql: Sql) => {
  const webhooks = await readWebhooks(sql, await chooseWebhooks(sql, { ...ANY, ...filters }));
  const { deliveries } = await listAcross(sql, webhooks, { ...ANY, ...filters }, { perPage: 50, callerOf });
  return deliveries;
};

const CASES: [name: string, work: (sql: Sql) => Promise<unknown[]>, most: number][] = [
  ['webhooks in trouble', async (sql) => (await nameWebhookTroubles(sql, 50)).troubles, SOME],
  ['webhooks that wait', (sql) => readWaitingWebhooks(sql, { failing: false }), FEW],
  ['failing webhooks that wait', (sql) => readWaitingWebhooks(sql, { failing: true }), FEW],
  ['all webhooks', (sql) => findWebhooks((sql as QueryRunner).manager, null, { after: '0', limit: 50 }), FEW],
  [
    'the webhooks of a customer',
    (sql) =>
      findWebhooks((sql as QueryRunner).manager, callerOf(subscriber.customerId), { after: '0', limit: 50 }),
    FEW,
  ],
  ['the state of webhooks', (sql) => readWebhooks(sql, subscriber.webhookIds), FEW],
  ['recent attempts', (sql) => readRecentAttempts(sql, subscriber.webhookIds, 100), FEW],
  ['the attempts of a webhook', (sql) => readNewestAttempts(sql, webhookId, 50), FEW],
  ['the newest deliveries', list({}), FEW],
  ['delivered deliveries', list({ status: 'delivered' }), SOME],
  ['failed deliveries', list({ status: 'failed' }), FEW],
  ['pending deliveries', list({ status: 'pending' }), FEW],
  ['deliveries before a moment', list({ until: '2026-01-01 05:00:00' }), FEW],
  ['all imports', async (sql) => (await listImports(sql, NO_FILTER, 50)).rows, FEW],
  [
    'failed imports',
    async (sql) => (await listImports(sql, { ...NO_FILTER, status: 'failed' }, 50)).rows,
    FEW,
  ],
  [
    'imports of a customer',
    async (sql) =>
      (await listImports(sql, { ...NO_FILTER, viewer: callerOf(subscriber.customerId) }, 50)).rows,
    FEW,
  ],
  [
    'imports of an account',
    async (sql) => (await listImports(sql, { ...NO_FILTER, accountId: subscriber.accountId }, 50)).rows,
    SOME,
  ],
  ['imports since a moment', async (sql) => [await firstImportAt(sql, '2026-01-01 02:00:00')], FEW],
  ['an import', async (sql) => [await findImport(sql, null, firstImport)], FEW],
  ['the issues of an import', (sql) => readIssues(sql, firstImport, 200), FEW],
  [
    'the first warnings of a page of imports',
    async (sql) => (await readFirstWarnings(sql, warned())).get(firstImport) ?? [],
    FEW,
  ],
  [
    'the movements that an import stored',
    async (sql) => {
      const it = await findImport(sql, null, firstImport);
      return readStored(sql, it, 20);
    },
    FEW,
  ],
  ['a movement', async (sql) => [await readMovement(sql, newest)], FEW],
  [
    'the attempts of a movement',
    (sql) => readAttempts(sql, { webhookIds: subscriber.webhookIds, subjectIds: [firstMovement()] }),
    FEW,
  ],
  ['a search for an id', (sql) => search(sql, newest), FEW],
  ['a search for a unique_id', (sql) => search(sql, 'm4711'), FEW],
  ['a search for a name', (sql) => search(sql, 'Müş'), FEW],
  ['all changes', (sql) => readAudit(sql, NO_AUDIT_FILTER, 100), FEW],
  [
    'the changes of a webhook',
    (sql) => readAudit(sql, { ...NO_AUDIT_FILTER, subject: 'webhook 7' }, 100),
    FEW,
  ],
  [
    'the changes of a customer',
    (sql) => readAudit(sql, { ...NO_AUDIT_FILTER, customerId: subscriber.customerId }, 100),
    FEW,
  ],
  ['the changes over the API', (sql) => readAudit(sql, { ...NO_AUDIT_FILTER, source: 'api' }, 100), FEW],
];

const warned = () =>
  Array.from({ length: WARNED }, (_, at) => ({ id: String(Number(firstImport) + at), warnings: 1_000 }));

const firstMovement = () => String(Number(newest) - MOVEMENTS + 1);

describe('the console reads few rows', () => {
  it.each(CASES)('for %s', async (_name, work, most) => {
    const { result, read } = await watch(work);
    expect(result.length).toBeGreaterThan(0);
    expect(result[0]).toBeDefined();
    expect(read).toBeLessThanOrEqual(most);
  });
});
