import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAccount, movement } from '../../support/movements.ts';
import { useReceiver } from '../../support/receiver.ts';
import { type SentinelCluster, startSentinelCluster } from '../../support/sentinel.ts';
import { useOwnService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { subscribe } from '../../support/webhooks.ts';

let directory: string;
let cluster: SentinelCluster;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ledgerbell-sentinel-'));
  cluster = await startSentinelCluster(directory);
});

// Registered before the service's hook, and so run after it, because hooks run in reverse order.
afterAll(async () => {
  await cluster?.stop();
  await rm(directory, { recursive: true, force: true });
});

const receiver = useReceiver();
const service = useOwnService({
  because: 'it has a Redis of its own',
  config: {
    get redisUrl() {
      return cluster.url;
    },
  },
});

it('movements are accepted and delivered while another Redis becomes the master, first by request and then after a crash', async () => {
  const { api_key: key } = await service.customer();
  const { id: account } = await createAccount(service, key);
  await subscribe(service, key, `${receiver.url}/sentinel`);
  const sent: string[] = [];
  let isOver = false;
  const client = (async () => {
    for (let i = 0; !isOver; i += 1) {
      const description = `m${i}`;
      const { status } = await service.call('POST', '/v1/imports', {
        key,
        body: { transactions: [movement(account, { unique_id: description, description })] },
      });
      expect(status).toBe(202);
      sent.push(description);
      await sleep(20);
    }
  })();
  const received = () =>
    new Set(receiver.at('/sentinel').map(({ body }) => JSON.parse(body).description as string));
  /** Waits until the next movement to be sent is delivered. */
  const goesOn = async () => {
    const next = `m${sent.length + 1}`;
    await until(`${next} is delivered`, () => received().has(next), 40_000);
  };

  try {
    await goesOn();
    await cluster.failOver();
    await goesOn();
    await cluster.killMaster();
    await goesOn();
  } finally {
    isOver = true;
    await client;
  }
  await until('all are delivered', () => received().size === sent.length, 40_000);
  const [deliveries] = service.runtime.queues.deliveries;
  await until(
    'workers take new jobs from the new master',
    async () => (await deliveries.getWorkersCount()) === 1,
    20_000,
  );
}, 180_000);
