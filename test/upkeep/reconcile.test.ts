import { describe, expect, it } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { startDeliveryWorker } from '../../src/delivery/worker.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { startImporterWorker } from '../../src/intake/worker.ts';
import { scrape } from '../support/exposition.ts';
import { createAccount, importDone, largeImport } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { deliveriesOf, subscribe } from '../support/webhooks.ts';

const service = useOwnService({
  because: 'the reconciler looks at all customers',
  roles: ['api', 'maintenance'],
});
const receiver = useReceiver();

/** Forgets everything that the queues of this test know, as FLUSHALL would. */
async function emptyRedis() {
  const { redis, prefix } = service.runtime;
  // The API counts requests in the background, so that these keys may come back at any time.
  const keys = async () =>
    (await redis.keys(`*${prefix}:*`)).filter((key) => !key.startsWith(`${prefix}:rate:`));
  // The maintenance role goes on in the meantime, and may write between the two.
  await until('an empty Redis', async () => {
    const known = await keys();
    if (known.length > 0) await redis.del(...known);
    return (await keys()).length === 0;
  });
}

describe('the reconciler', () => {
  it('restores what Redis has lost: a queued import, and deliveries that are due', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    const webhook = await subscribe(service, key, `${receiver.url}/hook`);
    const { transactions } = largeImport(account.id);
    const { body } = await service.call('POST', '/v1/imports', { key, body: { transactions } });
    await emptyRedis();

    const importer = startImporterWorker(service.runtime, createStatementFormats([], READ_SETTINGS));
    await importDone(service, key, body.import.id);
    const statuses = async () => (await deliveriesOf(service, webhook.id)).map(({ status }) => status);
    await until(
      'all deliveries recorded or pending',
      async () => (await statuses()).length === transactions.length,
    );
    await importer.stop();
    await emptyRedis();

    const delivery = startDeliveryWorker(service.runtime);
    await until(
      'delivered',
      async () => (await statuses()).every((status) => status === 'delivered'),
      40_000,
    );
    await delivery.stop();
    expect(receiver.at('/hook')).toHaveLength(transactions.length);
    const { samples } = await scrape(service);
    for (const queue of ['imports', 'deliveries'])
      expect(samples.get(`ledgerbell_reconciler_repairs_total{queue="${queue}"}`)).toBeGreaterThan(0);
  });
});
