import { afterAll, expect, it } from 'vitest';
import { createPoster } from '../../src/delivery/posting/post.ts';
import { createAddressGuard } from '../../src/platform/address-guard.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { attemptsOf, deliveriesOf, subscribe, useDeliveryWorkers } from '../support/webhooks.ts';

const HANGING = 500;
const HEALTHY = 10;
const MOVEMENTS = 20;

const service = useOwnService({
  because: 'its customer has many webhooks',
  roles: ['api', 'importer'],
  config: { webhooksPerCustomer: HANGING },
});
const receiver = useReceiver();
const workers = useDeliveryWorkers(service);

/** Its deadline lies beyond the test: a webhook that waits for a hanging neighbour makes the test fail. */
const poster = createPoster({
  guard: createAddressGuard({ allow: ['127.0.0.0/8'] }),
  totalTimeout: 600_000,
});
afterAll(() => poster.abort());

it(`healthy webhooks get their deliveries while ${HANGING} others hang`, async () => {
  workers.start({ poster });
  const { api_key: hangingKey } = await service.customer();
  const hangingAccount = await createAccount(service, hangingKey);
  const hanging: string[] = [];
  for (let i = 0; i < HANGING; i += 1) {
    receiver.answer(`/hang/${i}`, () => {});
    hanging.push((await subscribe(service, hangingKey, `${receiver.url}/hang/${i}`)).id);
  }
  await importMovements(service, hangingKey, [movement(hangingAccount.id)]);
  const hang = () => receiver.received.filter(({ path }) => path.startsWith('/hang/'));
  await until('all of them hang', () => hang().length === HANGING);

  const { api_key: key } = await service.customer();
  const { id: accountId } = await createAccount(service, key);
  const healthy: string[] = [];
  for (let i = 0; i < HEALTHY; i += 1) {
    healthy.push((await subscribe(service, key, `${receiver.url}/healthy/${i}`)).id);
  }
  for (let i = 0; i < MOVEMENTS; i += 1) {
    await importMovements(service, key, [movement(accountId, { unique_id: `m${i}` })]);
  }
  for (const webhookId of healthy) {
    await until('delivered', async () => {
      const rows = await deliveriesOf(service, webhookId);
      return rows.length === MOVEMENTS && rows.every(({ status }) => status === 'delivered');
    });
  }
  expect(hang()).toHaveLength(HANGING);
  expect(await attemptsOf(service, hanging[0] ?? '')).toEqual([]);
});
