import { beforeAll, expect, it } from 'vitest';
import { removeOld } from '../../../src/upkeep/retention/retention.ts';
import { createSteps } from '../../../src/upkeep/retention/steps.ts';
import { explainOwn, findScans } from '../../support/explain.ts';
import { useOwnService } from '../../support/service.ts';
import { recordDeliveries } from '../../support/stored.ts';
import { createSubscriber, NOWHERE } from '../../support/subscriber.ts';
import { addCrowd } from './crowd.ts';
import { NOW } from './kept.ts';

const service = useOwnService({ because: 'MySQL plans by the size of the tables', roles: ['api'] });

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

/** One customer has old rows of every kind. */
beforeAll(async () => {
  const { customerId, webhookIds, store } = await createSubscriber(service, NOWHERE, {}, {});
  const ids = await store(300);
  for (const id of webhookIds) {
    await recordDeliveries(
      service.runtime.database,
      { id, customerId },
      ids.map((transactionId, at) => ({ transactionId, status: at % 2 === 0 ? 'failed' : 'delivered' })),
    );
    await query(
      `INSERT INTO replays (customer_id, webhook_id, statuses, position, until_id, finished_at)
       VALUES (?, ?, 'failed', 0, 0, '2026-01-15')`,
      customerId,
      id,
    );
    await query(
      `INSERT INTO webhook_filters (webhook_id, from_id, customer_id, event) VALUES (?, 1, ?, NULL) ON DUPLICATE KEY UPDATE event = NULL`,
      id,
      customerId,
    );
  }
  await query("UPDATE webhooks SET status = 'deleted' WHERE id = ?", webhookIds[1]);
  for (const status of ['active', 'deleted']) {
    await query(
      `INSERT INTO sources (customer_id, title, kind, settings, schedule, format, create_accounts, status, created_at)
       VALUES (?, 'Klasör', 'folder', '{}', '{}', 'auto', 0, ?, '2026-01-15')`,
      customerId,
      status,
    );
  }
  await query(
    `INSERT INTO imports (customer_id, source_id, format, status, received_at, finished_at)
     SELECT customer_id, id, 'mt940', 'failed', '2026-01-15', '2026-01-15' FROM sources WHERE customer_id = ?`,
    customerId,
  );
  await query(
    `INSERT INTO source_files (source_id, customer_id, run_id, fingerprint, name, version, import_id, outcome)
     SELECT source_id, customer_id, 1, '', 'a', '1', id, 'done' FROM imports WHERE customer_id = ?`,
    customerId,
  );
  await query(
    'INSERT INTO import_parts (import_id, seq, bytes) SELECT id, 0, ? FROM imports WHERE customer_id = ?',
    'body',
    customerId,
  );
  await addCrowd(service.runtime.database);
});

it('every statement of retention walks an index', async () => {
  const { result, steps } = await explainOwn(service.runtime.config.databaseUrl, (database) =>
    removeOld({
      database,
      retention: { deliveries: 90, attempts: 90, imports: 90, movements: 90 },
      steps: createSteps({ pauses: false }),
      now: NOW,
    }),
  );
  expect(result).toMatchObject({
    deliveries: 600,
    imports: 2,
    movements: 300,
    replays: 2,
    webhooks: 1,
    sources: 1,
  });
  expect(steps.length).toBeGreaterThan(50);
  expect(findScans(steps, ['sources'])).toEqual([]);
});
