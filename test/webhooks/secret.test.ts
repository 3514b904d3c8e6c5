import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { movementHash } from '../../src/delivery/posting/signature.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { type Received, useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { deliveriesOf, subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer', 'delivery'] });
const receiver = useReceiver();

const arrived = (path: string, count = 1) =>
  until(`${count} POSTs to ${path}`, () => {
    const posts = receiver.at(path);
    return posts.length >= count && posts.at(-1);
  });

const verifies = (secret: string, { body, headers }: Received): boolean => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};

describe('a rotation of the secret', () => {
  const rotate = async (key: string, id: string) => {
    const { status, body } = await service.call('POST', `/v1/webhooks/${id}/rotate-secret`, { key });
    expect(status).toBe(200);
    return body.webhook;
  };

  it('makes both secrets sign for a day, and then the new secret alone', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    const made = await subscribe(service, key, `${receiver.url}/rotated`);
    const { secret: first, ...shown } = made;
    const { secret: second, ...rotated } = await rotate(key, made.id);
    expect(String(rotated.id)).toBe(shown.id);
    expect(second).toMatch(/^whsec_/);
    expect(second).not.toBe(first);

    await importMovements(service, key, [movement(account.id)]);
    const both = await arrived('/rotated');
    expect(both.headers['webhook-signature']?.split(' ')).toHaveLength(2);
    expect([verifies(first, both), verifies(second, both)]).toEqual([true, true]);
    const [row] = await service.runtime.database.query<{ hours: number }[]>(
      'SELECT ROUND(TIMESTAMPDIFF(MINUTE, NOW(6), previous_secret_until) / 60) AS hours FROM webhooks WHERE id = ?',
      [made.id],
    );
    expect(Number(row?.hours)).toBe(24);

    // A run goes by the settings that it has read when it began.
    await until('the run is over', async () => {
      const [cursor] = await service.runtime.database.query<{ lease_until: Date | null }[]>(
        'SELECT lease_until FROM webhook_cursors WHERE webhook_id = ?',
        [made.id],
      );
      return (
        cursor?.lease_until === null && (await deliveriesOf(service, made.id))[0]?.status === 'delivered'
      );
    });
    await service.runtime.database.query(
      'UPDATE webhooks SET previous_secret_until = NOW(6), revision = revision + 1 WHERE id = ?',
      [made.id],
    );
    await importMovements(service, key, [movement(account.id, { unique_id: 'a day later' })]);
    const alone = await arrived('/rotated', 2);
    expect([verifies(first, alone), verifies(second, alone)]).toEqual([false, true]);
  });

  it('keeps the last two of several secrets, sealed', async () => {
    const { api_key: key } = await service.customer();
    const account = await createAccount(service, key);
    const { id, secret: first } = await subscribe(service, key, `${receiver.url}/twice`);
    const { secret: second } = await rotate(key, id);
    const { secret: third } = await rotate(key, id);
    const [row] = await service.runtime.database.query<object[]>('SELECT * FROM webhooks WHERE id = ?', [id]);
    for (const secret of [first, second, third]) expect(JSON.stringify(row)).not.toContain(secret);
    await importMovements(service, key, [movement(account.id)]);
    const post = await arrived('/twice');
    expect([first, second, third].map((secret) => verifies(secret, post))).toEqual([false, true, true]);
  });
});

describe('a test notification', () => {
  const send = (key: string, id: string) => service.call('POST', `/v1/webhooks/${id}/test`, { key });

  it('is signed, is marked as a test, and names the account of the webhook', async () => {
    const { api_key: key, api_secret } = await service.customer();
    await createAccount(service, key);
    const account = await createAccount(service, key, { bank: 'Akbank', title: 'Dolar', currency: 'USD' });
    const { id, secret } = await subscribe(service, key, `${receiver.url}/test`, {
      account: account.id,
      event: 'NEW_DEBIT',
      headers: { 'X-Token': 'mine' },
    });
    const answer = await send(key, id);
    expect([answer.status, answer.body]).toEqual([202, { test: { status_code: 200, error: null } }]);
    const [post] = receiver.at('/test');
    if (post === undefined) throw new Error('nothing has come');
    expect(verifies(secret, post)).toBe(true);
    expect(post.headers).toMatchObject({ 'webhook-test': 'true', 'x-token': 'mine' });
    expect(post.headers['webhook-id']).toMatch(/^msg_test_/);
    const { hash, ...body } = JSON.parse(post.body);
    expect(body).toMatchObject({
      dc: 'Debit',
      account_id: Number(account.id),
      account: 'Dolar',
      bank: 'Akbank',
      currency: 'USD',
    });
    expect(hash).toBe(movementHash(body, api_secret, 'hex'));
    expect(await deliveriesOf(service, id)).toEqual([]);
  });

  it("goes to a paused webhook too, without an account and in the webhook's encoding", async () => {
    const { api_key: key } = await service.customer();
    const { id } = await subscribe(service, key, `${receiver.url}/test-form`, {
      encoding: 'form',
      event: 'WITHDRAWN_TRANSACTION',
    });
    await service.call('PATCH', `/v1/webhooks/${id}`, { key, body: { status: 'paused' } });
    receiver.answer('/test-form', (_, response) => response.writeHead(503).end());
    expect((await send(key, id)).body).toEqual({ test: { status_code: 503, error: null } });
    const [post] = receiver.at('/test-form');
    expect(new URLSearchParams(post?.body).get('dc')).toBe('Credit');
  });

  it('reports that there was no answer or that the address guard refused the endpoint', async () => {
    const { api_key: key } = await service.customer();
    const { id } = await subscribe(service, key, 'http://127.0.0.1:9/');
    const none = await send(key, id);
    expect([none.status, none.body.test]).toEqual([202, { status_code: null, error: 'no answer' }]);
    await service.runtime.database.query("UPDATE webhooks SET endpoint = 'http://10.0.0.1/' WHERE id = ?", [
      id,
    ]);
    const { test } = (await send(key, id)).body;
    expect(test).toEqual({ status_code: null, error: 'address not allowed' });
    await service.call('DELETE', `/v1/webhooks/${id}`, { key });
    expectProblem(await send(key, id), 404);
  });
});
