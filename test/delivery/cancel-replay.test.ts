import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { insertApiKey } from '../../src/customers/api-keys.ts';
import { expandReplay } from '../../src/delivery/engine/expand-replay.ts';
import { importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { type Recorded, recordDeliveries } from '../support/stored.ts';
import { createSubscriber, cursorOf, type Subscriber } from '../support/subscriber.ts';
import { until } from '../support/until.ts';

const service = useService();
const receiver = useReceiver();

const SINCE = '2000-01-01 00:00:00';
const BOTH = ['failed', 'delivered'];

/** A webhook with deliveries that have ended. */
async function createEnded(path: string, number: number, statusAt: (at: number) => Recorded['status']) {
  const subscriber = await createSubscriber(service, receiver.url + path, {});
  const ids = await subscriber.store(number);
  const rows = ids.map((transactionId, at) => ({ transactionId, status: statusAt(at) }));
  await recordDeliveries(service.runtime.database, subscriber.webhook, rows);
  await service.runtime.database.query(
    'UPDATE webhook_cursors SET recovery_successes = NULL WHERE webhook_id = ?',
    [subscriber.webhook.id],
  );
  return { ...subscriber, ids };
}

const at = ({ webhook }: Subscriber, rest = '') => `/v1/webhooks/${webhook.id}/${rest}`;

async function replay(it: Subscriber, status: string | string[] = BOTH): Promise<number> {
  const { key } = it;
  const answer = await service.call('POST', at(it, 'replay'), { key, body: { since: SINCE, status } });
  return answer.body.replay.id;
}

const show = async (it: Subscriber, id: number) =>
  (await service.call('GET', `/v1/replays/${id}`, { key: it.key })).body.replay;

const cancel = (it: Subscriber, id: number) =>
  service.call('POST', `/v1/replays/${id}/cancel`, { key: it.key });

const pause = (it: Subscriber, status = 'paused') =>
  service.call('PATCH', `/v1/webhooks/${it.webhook.id}`, { key: it.key, body: { status } });

const statusesOf = async ({ webhook }: Subscriber) =>
  (
    await service.runtime.database.query<{ status: string }[]>(
      'SELECT status FROM deliveries WHERE webhook_id = ? ORDER BY transaction_id',
      [webhook.id],
    )
  ).map(({ status }) => status);

const numbersOf = async (it: Subscriber) =>
  (await service.call('GET', `/v1/webhooks/${it.webhook.id}`, { key: it.key })).body.webhook.deliveries;

const runIsOver = (it: Subscriber) =>
  until('no run', async () => (await cursorOf(service, it.webhook.id)).lease_until === null);

describe('a replay', () => {
  it('says what is sent and left, which add up, and how fast it goes, until it is done', async () => {
    receiver.answer('/shown', (_, response) => setTimeout(() => response.end(), 10));
    const it = await createEnded('/shown', 3_000, () => 'delivered');
    const id = await replay(it);
    const seen: {
      state: string;
      total: number | null;
      sent: number;
      left: number | null;
      per_second: number | null;
    }[] = [];
    await until('done', async () => {
      seen.push(await show(it, id));
      return seen.at(-1)?.state === 'done';
    });
    const counted = seen.filter(({ total }) => total !== null);
    expect(counted.length).toBeGreaterThan(3);
    for (const { total, sent, left } of counted) expect([total, sent + (left ?? 0)]).toEqual([3_000, 3_000]);
    expect(seen.some(({ state, sent, left }) => state === 'running' && sent > 0 && left !== 0)).toBe(true);
    expect(seen.some(({ per_second }) => Number(per_second) > 1)).toBe(true);
    expect(seen.at(-1)).toMatchObject({ state: 'done', sent: 3_000, left: 0, per_second: null });
    const { body } = await service.call('GET', at(it, 'replays'), { key: it.key });
    expect(body.replays).toEqual([seen.at(-1)]);
    const refused = await cancel(it, id);
    expectProblem(refused, 409);
    expect(refused.body.type).toBe('/problems/replay-done');
  });

  it('cancelled while it is sent, keeps what was sent, sends nothing more, and new movements are sent', async () => {
    receiver.answer('/cancelled', (_, response) => setTimeout(() => response.end(), 10));
    const it = await createEnded('/cancelled', 4_000, () => 'delivered');
    const id = await replay(it);
    await until('half sent', () => receiver.at('/cancelled').length > 1_000);
    const importing = importMovements(service, it.key, [movement(it.accountId)]);
    const { status, body } = await cancel(it, id);
    expect(status).toBe(200);
    expect(body.replay).toMatchObject({ id, state: 'cancelled', total: 4_000 });
    await importing;
    await importMovements(service, it.key, [movement(it.accountId, { dc: 'Debit' })]);
    await until('new ones sent', async () => (await numbersOf(it)).delivered === 4_002);
    await runIsOver(it);
    const posts = receiver.at('/cancelled').length;
    expect(posts - 2).toBeGreaterThan(1_000);
    expect(posts - 2).toBeLessThan(3_000);
    expect(new Set(receiver.at('/cancelled').map(({ headers }) => headers['webhook-id'])).size).toBe(posts);
    expect(await show(it, id)).toMatchObject({
      state: 'cancelled',
      total: 4_000,
      sent: posts - 2,
      left: 4_002 - posts,
    });
    expect(await numbersOf(it)).toEqual({ pending: 0, delivered: 4_002, failed: 0, to_come: 0 });
    expect(new Set(await statusesOf(it))).toEqual(new Set(['delivered']));
    await sleep(1_000);
    expect(receiver.at('/cancelled')).toHaveLength(posts);
    // Once more, nothing changes.
    const again = await cancel(it, id);
    expect([again.status, again.body.replay]).toEqual([200, await show(it, id)]);
  });

  it('cancelled while POSTs are in flight, counts each of them once, and tries none again', async () => {
    const answers: (() => void)[] = [];
    receiver.answer('/held', ({ index }, response) => {
      answers.push(() => response.writeHead(index % 2 ? 200 : 400).end());
    });
    const it = await createEnded('/held', 12, (index) => (index < 6 ? 'delivered' : 'failed'));
    const id = await replay(it);
    await until('in flight', () => answers.length === 12);
    expect((await cancel(it, id)).body.replay).toMatchObject({ sent: 0, left: 12 });
    expect(await numbersOf(it)).toEqual({ pending: 0, delivered: 6, failed: 6, to_come: 0 });
    for (const answer of answers) answer();
    await runIsOver(it);
    const statuses = await statusesOf(it);
    const delivered = statuses.filter((one) => one === 'delivered').length;
    expect(delivered).toBe(6);
    expect(statuses.filter((one) => one === 'failed').length).toBe(6);
    expect(await numbersOf(it)).toEqual({ pending: 0, delivered: 6, failed: 6, to_come: 0 });
    expect(await show(it, id)).toMatchObject({ sent: 12, left: 0, state: 'cancelled' });
    const letters = await service.runtime.database.query<unknown[]>(
      'SELECT transaction_id FROM retries WHERE webhook_id = ? AND due_at IS NULL',
      [it.webhook.id],
    );
    expect(letters).toHaveLength(6);
  });

  it('of a paused webhook leaves deliveries as they were when it is cancelled, and never those that were pending before', async () => {
    const kinds = ['delivered', 'failed', 'pending'] as const;
    const it = await createEnded('/paused', 9, (index) => kinds[index % 3] ?? 'failed');
    const before = await statusesOf(it);
    const first = await replay(it);
    await until('sent', async () => (await show(it, first)).state === 'done');
    expect(receiver.at('/paused')).toHaveLength(6);
    await runIsOver(it);
    await pause(it);
    const id = await replay(it);
    const unstarted = await cancel(it, id);
    expect(unstarted.body.replay).toMatchObject({ state: 'cancelled', total: 6, sent: 0, left: 6 });
    await pause(it, 'active');
    await sleep(500);
    expect(receiver.at('/paused')).toHaveLength(6);
    expect((await statusesOf(it)).filter((one) => one === 'pending')).toHaveLength(3);
    expect(before.filter((one) => one === 'pending')).toHaveLength(3);
    const audit = await service.runtime.database.query<object[]>(
      "SELECT subject, detail FROM audit_events WHERE customer_id = ? AND action = 'cancel replay'",
      [it.customerId],
    );
    expect(audit).toEqual([{ subject: `webhook ${it.webhook.id}`, detail: `replay ${id}` }]);
  });

  it('with failing POSTs, is cancelled without further attempts, except of what was redelivered', async () => {
    receiver.answer('/refused', (_, response) => response.writeHead(400).end());
    const it = await createEnded('/refused', 3, () => 'delivered');
    const id = await replay(it);
    await until('attempted', () => receiver.at('/refused').length === 3);
    await runIsOver(it);
    expect(await show(it, id)).toMatchObject({ state: 'running', sent: 0, left: 3 });
    await pause(it);
    const redelivered = `${it.webhook.id}-${it.ids[0]}`;
    await service.call('POST', `/v1/deliveries/${redelivered}/redeliver`, { key: it.key });
    await cancel(it, id);
    expect(await statusesOf(it)).toEqual(['pending', 'failed', 'failed']);
    expect(await numbersOf(it)).toEqual({ pending: 1, delivered: 0, failed: 2, to_come: 0 });
  });

  it('is not seen by keys of others, nor by a limited key if it covers more accounts', async () => {
    const it = await createEnded('/hidden', 2, () => 'delivered');
    await pause(it);
    const id = await replay(it);
    const other = await service.customer();
    expectProblem(await service.call('GET', `/v1/replays/${id}`, { key: other.api_key }), 404);
    expectProblem(await service.call('POST', `/v1/replays/${id}/cancel`, { key: other.api_key }), 404);
    expectProblem(await cancel(it, id + 1_000_000), 404);
    const limited = (fields: { accountIds: string[] }) =>
      insertApiKey(service.runtime.database, { customerId: it.customerId, title: 'Dar', ...fields });
    const { apikey } = await limited({ accountIds: [it.accountId] });
    await service.call('PATCH', at(it).slice(0, -1), { key: it.key, body: { account: it.accountId } });
    const own = await service.call('POST', at(it, 'replay'), {
      key: apikey,
      body: { since: SINCE, status: 'delivered' },
    });
    const listed = await service.call('GET', at(it, 'replays'), { key: apikey });
    expect(listed.body.replays).toMatchObject([{ id: own.body.replay.id, total: 2, left: 2 }]);
    expectProblem(await service.call('GET', `/v1/replays/${id}`, { key: apikey }), 404);
    expectProblem(await service.call('POST', `/v1/replays/${id}/cancel`, { key: apikey }), 404);
    expect((await show(it, id)).state).toBe('running');
    const page = await service.call('GET', at(it, 'replays?per_page=1'), { key: it.key });
    expect(page.body.replays).toMatchObject([{ id: own.body.replay.id }]);
    const next = /<(.*)>/.exec(page.headers.get('link') ?? '')?.[1] ?? '';
    expect((await service.call('GET', next, { key: it.key })).body.replays).toMatchObject([{ id }]);
  });

  it('that is still to come is shown beside the pending deliveries, and cancelled in the console', async () => {
    const it = await createEnded('/console', 1_500, () => 'delivered');
    await pause(it);
    const small = await replay(it, 'failed');
    expect((await show(it, small)).state).toBe('done');
    const id = await replay(it, 'delivered');
    expect(await show(it, id)).toMatchObject({ state: 'running', total: null, sent: 0, left: null });
    expect(await numbersOf(it)).toEqual({ pending: 0, delivered: 1_500, failed: 0, to_come: null });
    expect(await expandReplay(service.runtime.database, it.webhook.id)).toEqual({
      added: 200,
      replaying: true,
    });
    expect(await numbersOf(it)).toEqual({ pending: 200, delivered: 1_300, failed: 0, to_come: 1_300 });
    const path = `/ops/webhooks/${it.webhook.id}`;
    const { body: page } = await service.callOps('GET', path);
    expect(page).toContain('200 deliveries are pending, and 1,300 of a replay still to come');
    expect(page).toContain(`Replay ${id} has sent 0 of 1,500, 1,500 are left`);
    const { body: question } = await service.callOps('GET', `${path}/replays/${id}/cancel`);
    expect(question).toContain('The 1,500 that are left are not sent.');
    const headers = { Accept: 'text/html', Origin: service.opsUrl };
    const answer = await service.callOps('POST', `${path}/replays/${id}/cancel`, { headers });
    expect(answer.status).toBe(303);
    expect(await show(it, id)).toMatchObject({ state: 'cancelled', total: 1_500, sent: 0, left: 1_500 });
    expect(await numbersOf(it)).toEqual({ pending: 0, delivered: 1_500, failed: 0, to_come: 0 });
  });
});
