import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { cursorOf } from '../support/subscriber.ts';
import { until } from '../support/until.ts';
import { attemptsOf, deliveriesOf, subscribe, useDeliveryWorkers } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer'] });
const receiver = useReceiver();
const workers = useDeliveryWorkers(service);

it('results are kept while a table is locked for longer than a lease lasts, and are then recorded, not sent again', async () => {
  const { api_key: key } = await service.customer();
  const { id: account } = await createAccount(service, key);
  const { id } = await subscribe(service, key, `${receiver.url}/locked`);
  const locking = service.runtime.database.createQueryRunner();
  await locking.query('LOCK TABLES deliveries WRITE');
  try {
    workers.start();
    await importMovements(service, key, [movement(account)]);
    await until('received', () => receiver.at('/locked').length === 1);
    await sleep(16_000);
  } finally {
    await locking.query('UNLOCK TABLES');
    await locking.release();
  }
  await until('recorded', async () => (await deliveriesOf(service, id))[0]?.status === 'delivered');
  expect(receiver.at('/locked')).toHaveLength(1);
  expect(await attemptsOf(service, id)).toHaveLength(1);
  expect((await cursorOf(service, id)).crash_count).toBe(0);
});
