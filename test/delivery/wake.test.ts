import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { listenForWakeUps, wakeWebhooks } from '../../src/delivery/wake.ts';
import { prefixOf, QUEUES } from '../../src/platform/queues.ts';
import { useOwnService } from '../support/service.ts';
import { createSubscriber, NOWHERE, setCursor } from '../support/subscriber.ts';
import { until } from '../support/until.ts';

const service = useOwnService({ because: 'it counts who listens, and looks at all jobs', roles: ['api'] });
const heard: { ids: readonly string[]; reread: boolean }[] = [];

beforeAll(async () => {
  const { connectWorker, prefix, redis } = service.runtime;
  listenForWakeUps(
    { connection: connectWorker(), prefix, deliveryQueues: 1 },
    (ids, reread) => void heard.push({ ids, reread }),
  );
  await until('the subscription', async () => {
    const [, subscribers] = (await redis.pubsub(
      'NUMSUB',
      `${prefixOf(prefix, QUEUES.deliveries)}:wake-ups`,
    )) as [string, number];
    return subscribers === 1;
  });
});

beforeEach(async () => {
  heard.length = 0;
  await service.runtime.queues.deliveries[0].obliterate({ force: true });
});

const wake = (ids: readonly string[], options?: { reread: boolean }) =>
  wakeWebhooks(service.runtime, ids, options);
const webhooks = async (count: number) =>
  (await createSubscriber(service, NOWHERE, ...Array.from({ length: count }, () => ({})))).webhookIds;

/** The webhooks that have a waiting or delayed job, and the delays. */
async function jobs() {
  const [deliveries] = service.runtime.queues.deliveries;
  const [waiting, delayed] = await Promise.all([deliveries.getWaiting(), deliveries.getDelayed()]);
  const idsOf = (list: typeof waiting) => list.map(({ data }) => data.webhookId).toSorted();
  return { waiting: idsOf(waiting), delayed: idsOf(delayed), delays: delayed.map(({ delay }) => delay) };
}

/** Waits until everything that was published before has arrived, and returns it. */
async function heardSoFar() {
  const { redis, prefix } = service.runtime;
  await redis.publish(`${prefixOf(prefix, QUEUES.deliveries)}:wake-ups`, 'new end');
  await until('the last message', () => heard.some(({ ids }) => ids[0] === 'end'));
  return heard.filter(({ ids }) => ids[0] !== 'end');
}

const leased = "lease_token = 't', lease_until = NOW(6) + INTERVAL 10 SECOND";

describe('waking webhooks', () => {
  it('publishes new movements in one message for all webhooks, and adds a job for each without a run', async () => {
    const ids = await webhooks(4);
    const [one = '', two = '', three = '', four = ''] = ids;
    for (const id of [two, four]) await setCursor(service, id, leased);
    await wake(ids);
    expect(await jobs()).toMatchObject({ waiting: [one, three].toSorted(), delayed: [] });
    expect(await heardSoFar()).toEqual([{ ids, reread: false }]);
  });

  it('publishes a change only to the webhooks with a run', async () => {
    const [running = '', other = ''] = await webhooks(2);
    await setCursor(service, running, leased);
    await wake([running, other], { reread: true });
    expect((await jobs()).waiting).toEqual([other]);
    expect(await heardSoFar()).toEqual([{ ids: [running], reread: true }]);
  });

  it.each([
    ['has run out', 'lease_until = NOW(6) - INTERVAL 1 SECOND'],
    ['was given back', "lease_token = 't', lease_until = NULL"],
    ['was given before the clock was set back', 'lease_until = NOW(6) + INTERVAL 1 HOUR'],
  ])('adds a job if the lease %s', async (_, assignments) => {
    const [id = ''] = await webhooks(1);
    await setCursor(service, id, assignments);
    await wake([id]);
    expect((await jobs()).waiting).toEqual([id]);
  });

  it('adds no job while the circuit is open, because the run that opened it added one', async () => {
    const [open = '', halfOpen = ''] = await webhooks(2);
    await setCursor(service, open, 'circuit_open_until = NOW(6) + INTERVAL 60 SECOND');
    await setCursor(service, halfOpen, 'circuit_open_until = NOW(6) - INTERVAL 1 SECOND');
    for (let i = 0; i < 3; i += 1) await wake([open, halfOpen]);
    expect(await jobs()).toMatchObject({ waiting: [halfOpen], delayed: [] });
  });

  it('adds a job if the circuit was opened before the clock was set back', async () => {
    const [id = ''] = await webhooks(1);
    await setCursor(service, id, 'circuit_open_until = NOW(6) + INTERVAL 1 DAY');
    await wake([id]);
    expect((await jobs()).waiting).toEqual([id]);
  });

  it.each(['paused', 'disabled', 'deleted'])('adds no job for a webhook that is %s', async (status) => {
    const [id = ''] = await webhooks(1);
    await service.runtime.database.query('UPDATE webhooks SET status = ? WHERE id = ?', [status, id]);
    await wake([id, '999999']);
    await wake([]);
    expect(await jobs()).toMatchObject({ waiting: [], delayed: [] });
  });

  it.each(['paused', 'deleted'])(
    'tells the run of a webhook that is now %s, so that the run ends',
    async (status) => {
      const [id = ''] = await webhooks(1);
      await setCursor(service, id, leased);
      await service.runtime.database.query('UPDATE webhooks SET status = ? WHERE id = ?', [status, id]);
      await wake([id], { reread: true });
      expect(await heardSoFar()).toEqual([{ ids: [id], reread: true }]);
      expect(await jobs()).toMatchObject({ waiting: [], delayed: [] });
    },
  );
});
