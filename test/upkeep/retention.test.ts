import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataSource } from '../../src/database/data-source.ts';
import { createMetrics, type Metrics } from '../../src/platform/metrics.ts';
import { passRetention, startMaintenance } from '../../src/upkeep/worker.ts';
import { parseExposition } from '../support/exposition.ts';
import { importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { recordDeliveries } from '../support/stored.ts';
import { createSubscriber } from '../support/subscriber.ts';
import { until } from '../support/until.ts';

const service = useOwnService({
  because: 'retention removes what any customer has',
  roles: ['api', 'importer', 'delivery'],
});
const receiver = useReceiver();

const query = <T>(sql: string, ...values: unknown[]) => service.runtime.database.query<T[]>(sql, values);

const readMetrics = async ({ registry }: Metrics = service.runtime.metrics) =>
  parseExposition(await registry.metrics()).samples;

describe('the maintenance role', () => {
  it('removes old rows when it starts, old by MySQL’s clock', async () => {
    const { webhook, store } = await createSubscriber(service);
    const [id = ''] = await store([{}]);
    await recordDeliveries(service.runtime.database, webhook, [{ transactionId: id, status: 'delivered' }]);
    await query('UPDATE transactions SET date_readed = NOW(6) - INTERVAL 91 DAY WHERE id = ?', id);
    await query('UPDATE deliveries SET started_at = NOW(6) - INTERVAL 91 DAY WHERE transaction_id = ?', id);
    const worker = startMaintenance(service.runtime);
    await until('no delivery', async () => {
      return (await query('SELECT 1 FROM deliveries WHERE webhook_id = ?', webhook.id)).length === 0;
    });
    await until('a finished pass', async () => {
      return (await readMetrics()).get('ledgerbell_retention_passes_total{outcome="done"}') === 1;
    });
    await worker.stop();
    const samples = await readMetrics();
    expect(samples.get('ledgerbell_retention_removed_total{kind="deliveries"}')).toBe(1);
    expect(samples.get('ledgerbell_retention_removed_total{kind="movements"}')).toBe(0);
    expect(samples.get('ledgerbell_retention_passes_total{outcome="failed"}')).toBe(0);
    const age = Date.now() / 1_000 - (samples.get('ledgerbell_retention_last_pass_timestamp_seconds') ?? 0);
    expect(age).toBeLessThan(3_600);
  });

  it('counts a retention pass that fails, but not one that is stopped', async () => {
    const { config, log } = service.runtime;
    const metrics = createMetrics();
    // A database without our tables.
    const database = await createDataSource(
      (config.databaseUrl ?? '').replace(/\/[^/?]*(\?|$)/, '/information_schema$1'),
      {
        poolSize: 1,
      },
    ).initialize();
    onTestFinished(() => database.destroy());
    await expect(
      passRetention({ config, log, metrics, database }, new AbortController().signal),
    ).rejects.toThrow();
    await passRetention({ ...service.runtime, metrics }, AbortSignal.abort());
    const samples = await readMetrics(metrics);
    expect(samples.get('ledgerbell_retention_passes_total{outcome="failed"}')).toBe(1);
    expect(samples.get('ledgerbell_retention_passes_total{outcome="done"}')).toBe(0);
    expect(samples.get('ledgerbell_retention_last_pass_timestamp_seconds')).toBe(0);
  });

  it('deletes an account, while its webhook goes on with other accounts', async () => {
    const { key, accountId } = await createSubscriber(service, `${receiver.url}/all`);
    const other = await service.call('POST', '/v1/accounts', {
      key,
      body: { bank: 'Ziraat', title: 'İki', currency: 'TRY' },
    });
    const otherId = String(other.body.account.id);
    await importMovements(service, key, [movement(accountId), movement(otherId)]);
    await until('two POSTs', () => receiver.at('/all').length === 2);
    await service.call('DELETE', `/v1/accounts/${accountId}`, { key });
    const worker = startMaintenance(service.runtime);
    await until('no account', async () => {
      return (await service.call('GET', `/v1/accounts/${accountId}`, { key })).status === 404;
    });
    await importMovements(service, key, [movement(otherId, { unique_id: 'after' })]);
    await until('a third POST', () => receiver.at('/all').length === 3);
    await worker.stop();
  });
});
