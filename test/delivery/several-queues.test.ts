import { afterAll, expect, it } from 'vitest';
import { ROLES } from '../../src/platform/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { type Service, startService } from '../../src/service.ts';
import { createAccount, movement } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

const receiver = useReceiver();
/** Only accepts movements: nobody takes the jobs of its four delivery queues. */
const api = useOwnService({
  because: 'it has four delivery queues',
  roles: ['api'],
  config: { deliveryQueues: 4 },
});
let others: Service | undefined;
afterAll(() => others?.stop());

it('jobs in a queue that is no longer read are still run after DELIVERY_QUEUES has become smaller', async () => {
  const { api_key: key } = await api.customer();
  const { id: account } = await createAccount(api, key);
  for (let i = 0; i < 4; i += 1) await subscribe(api, key, `${receiver.url}/queue/${i}`);
  const { status } = await api.call('POST', '/v1/imports', {
    key,
    body: { transactions: [movement(account, { unique_id: 'm', description: 'm' })] },
  });
  expect(status).toBe(202);
  const { deliveries } = api.runtime.queues;
  await until('a job in each queue', async () => {
    const counts = await Promise.all(
      deliveries.map((queue) => queue.getJobCountByTypes('waiting', 'delayed')),
    );
    return counts.every((count) => count === 1);
  });
  others = await startService({
    config: { ...api.runtime.config, port: 0, deliveryQueues: 1 },
    roles: ROLES,
    log: createLog('silent'),
    announce: () => {},
    prefix: api.runtime.prefix,
  });
  for (let i = 0; i < 4; i += 1) await until('the delivery', () => receiver.at(`/queue/${i}`).length === 1);
});
