import { describe, expect, it } from 'vitest';
import { movementHash } from '../../src/delivery/posting/signature.ts';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';

const service = useService({ roles: ['api', 'importer', 'delivery'] });
const receiver = useReceiver();

const read = (key: string) => service.call('GET', '/v1/settings/api', { key });
const rotate = (key: string) => service.call('POST', '/v1/settings/api/rotate', { key });

describe('the API secret', () => {
  it('is shown to its own customer', async () => {
    const [one, two] = [await service.customer(), await service.customer()];
    expect([(await read(one.api_key)).body, (await read(two.api_key)).body]).toEqual([
      { api_secret: one.api_secret },
      { api_secret: two.api_secret },
    ]);
  });

  it('is replaced for this customer alone, stored sealed, and used for the hashes of later notifications', async () => {
    const [{ api_key: key, api_secret: former }, other] = [
      await service.customer(),
      await service.customer(),
    ];
    const account = await createAccount(service, key);
    const { id } = await subscribe(service, key, `${receiver.url}/hashed`);
    const revision = async () =>
      (
        await service.runtime.database.query<{ revision: number }[]>(
          'SELECT revision FROM webhooks WHERE id = ?',
          [id],
        )
      )[0]?.revision;
    const before = await revision();
    const { status, body } = await rotate(key);
    expect([status, body]).toEqual([200, { api_secret: expect.stringMatching(/^[\w-]{43}$/) }]);
    expect(body.api_secret).not.toBe(former);
    expect((await read(key)).body).toEqual(body);
    expect((await read(other.api_key)).body).toEqual({ api_secret: other.api_secret });
    expect(await revision()).toBe((before ?? 0) + 1);
    const rows = await service.runtime.database.query<object[]>('SELECT * FROM customers');
    expect(JSON.stringify(rows)).not.toContain(body.api_secret);

    await importMovements(service, key, [movement(account.id)]);
    const post = await until('a POST', () => receiver.at('/hashed')[0]);
    const { hash, ...fields } = JSON.parse(post.body);
    expect(hash).toBe(movementHash(fields, body.api_secret, 'hex'));
    expect(hash).not.toBe(movementHash(fields, former, 'hex'));
  });

  it('is neither shown to a limited key nor replaced by it', async () => {
    const { api_key: key, api_secret } = await service.customer();
    const account = await createAccount(service, key);
    const { body } = await service.call('POST', '/v1/apikeys', {
      key,
      body: { title: 'Dar', account: [account.id] },
    });
    expectProblem(await read(body.apikey.apikey), 403);
    expectProblem(await rotate(body.apikey.apikey), 403);
    expect((await read(key)).body).toEqual({ api_secret });
  });
});
