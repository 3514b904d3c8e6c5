import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createStatementFormats } from '../../packages/statements/src/formats.ts';
import { startApi } from '../../src/api/server.ts';
import type { Caller } from '../../src/customers/caller.ts';
import { limitGuesses } from '../../src/http/admission.ts';
import { nameClient } from '../../src/http/app.ts';
import { READ_SETTINGS } from '../../src/intake/advice.ts';
import { expectProblem } from '../support/problem.ts';
import { send } from '../support/raw-http.ts';
import { type Answer, useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useOwnService({ because: 'wrong keys are counted by address', roles: ['api'] });

/** Each test comes from addresses of its own. */
let addresses = 0;
function newAddress(): string {
  addresses += 1;
  return `127.0.1.${addresses}`;
}

const unknownKey = () => `lb_${randomBytes(32).toString('base64url')}`;

const caller: Caller = { customerId: '1', actor: { apiKeyId: '1' }, accountIds: 'all', scopes: ['read'] };

const ask = (from: string, key: string | undefined, url = service.url): Promise<Answer> =>
  send(`${url}/v1/banks`, { from, headers: key === undefined ? {} : { Authentication: key } });

const guess = (from: string, times: number) =>
  Promise.all(Array.from({ length: times }, () => ask(from, unknownKey())));

const count = (answers: Answer[], status: number) => answers.filter((it) => it.status === status).length;

/** Everything in which two answers could differ, except the seconds that pass between them. */
const told = ({ status, headers, body: { request_id: _, ...body } }: Answer) =>
  JSON.stringify([status, [...headers.keys()], body]).replace(/in \d+ s/g, 'in n s');

describe('a client that guesses API keys', () => {
  it('learns nothing after a hundred wrong keys in ten seconds, not even whether a key is right', async () => {
    const [guesser, bystander] = [newAddress(), newAddress()];
    const [{ api_key: used }, { api_key: unused }] = [await service.customer(), await service.customer()];
    expect((await ask(bystander, used)).status).toBe(200);
    expect(count(await guess(guesser, 99), 401)).toBe(99);
    expectProblem(await ask(guesser, unknownKey()), 401);

    const [wrong, right] = [await ask(guesser, unknownKey()), await ask(guesser, unused)];
    for (const answer of [wrong, right]) {
      expectProblem(answer, 429);
      expect(answer.headers.get('retry-after')).toMatch(/^([1-9]|10)$/);
    }
    expect(told(right)).toBe(told(wrong));

    // Known keys at the same address, requests without a key, and other addresses are not throttled.
    expect((await ask(guesser, used)).status).toBe(200);
    expectProblem(await ask(guesser, undefined), 401);
    expectProblem(await ask(bystander, unknownKey()), 401);
    await until('the ten seconds are over', async () => (await ask(guesser, unused)).status === 200);
  });

  it('gains nothing by sending many keys at once', async () => {
    const attempt = limitGuesses(service.runtime);
    const from = newAddress();
    // Keys are found only after all have been sent.
    const looking = new Promise((resolve) => setImmediate(resolve));
    const send = (found: Caller | null) =>
      attempt({ hash: randomBytes(32), address: from, find: () => looking.then(() => found) }).then(
        () => 'told',
        () => 'refused',
      );
    const outcomes = [...Array<null>(120).fill(null), caller].map(send);
    expect(await Promise.all(outcomes)).toEqual([...Array(100).fill('told'), ...Array(21).fill('refused')]);
  });

  it('gains nothing by using another process', async () => {
    const guesser = newAddress();
    const other = await startApi(service.runtime, createStatementFormats([], READ_SETTINGS));
    onTestFinished(() => other.stop());
    await guess(guesser, 100);
    let learned = 0;
    await until('the other one refuses as well', async () => {
      const { status } = await ask(guesser, unknownKey(), other.url);
      if (status === 401) learned += 1;
      return status === 429;
    });
    expect(learned).toBeLessThan(100);
  });

  it('is throttled while Redis is unreachable', async () => {
    const { redis } = service.runtime;
    redis.disconnect();
    onTestFinished(() => redis.connect());
    const answers = await guess(newAddress(), 110);
    expect([count(answers, 401), count(answers, 429)]).toEqual([100, 10]);
  });

  it('gains nothing from a key that was right until it was deleted', async () => {
    const guesser = newAddress();
    const { api_key: key } = await service.customer();
    const made = await service.call('POST', '/v1/apikeys', {
      key,
      body: { title: 'Second', account: 'all' },
    });
    const { id, apikey } = made.body.apikey;
    expect((await ask(guesser, apikey)).status).toBe(200);
    expect((await service.call('DELETE', `/v1/apikeys/${id}`, { key })).status).toBe(200);
    expectProblem(await ask(guesser, apikey), 401);
    expect(count(await guess(guesser, 99), 401)).toBe(99);
    expectProblem(await ask(guesser, apikey), 429);
  });

  it('cannot make a process remember more than ten thousand right keys', async () => {
    const attempt = limitGuesses(service.runtime);
    const from = newAddress();
    const right = (hash: Buffer) => attempt({ hash, address: from, find: async () => caller });
    const hashes = Array.from({ length: 10_001 }, () => randomBytes(32));
    for (const hash of hashes) await right(hash);
    for (let i = 0; i < 100; i += 1) {
      await attempt({ hash: randomBytes(32), address: from, find: async () => null });
    }
    const [first, second] = hashes;
    await expect(right(first ?? Buffer.alloc(0))).rejects.toThrow('unknown API keys');
    expect(await right(second ?? Buffer.alloc(0))).toEqual(caller);
  });
});

describe('the name of a client for the throttle', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, 'unknown'],
  ])('at %s is %s', (from, name) => {
    expect(nameClient(from)).toBe(name);
  });
});
