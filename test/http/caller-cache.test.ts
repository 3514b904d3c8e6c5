import { describe, expect, it } from 'vitest';
import { insertApiKey } from '../../src/customers/api-keys.ts';
import type { Caller } from '../../src/customers/caller.ts';
import { createCallerCache } from '../../src/http/admission.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';

const SECOND = 1_000;

/** A cache whose clock the test moves, and the number of its reads. */
function makeCache() {
  const time = { now: 0 };
  const cache = createCallerCache(() => time.now);
  let reads = 0;
  const caller = (apiKeyId: string): Caller => ({
    customerId: '1',
    actor: { apiKeyId },
    accountIds: 'all',
    scopes: ['read'],
  });
  return {
    cache,
    time,
    caller,
    reads: () => reads,
    find: (key: string, found: Caller | null = caller(key)) =>
      cache.find(Buffer.from(key), async () => {
        reads += 1;
        return found;
      }),
  };
}

describe('the cache of callers', () => {
  it('reads a caller once a second', async () => {
    const { find, time, reads, caller } = makeCache();
    for (const now of [0, 1, SECOND - 1]) {
      time.now = now;
      expect(await find('a')).toEqual(caller('a'));
      expect(reads()).toBe(1);
    }
    time.now = SECOND;
    await find('a');
    expect(reads()).toBe(2);
  });

  it('keeps a caller from the start of the read, so that a key deleted meanwhile works for at most a second', async () => {
    const { cache, time, caller, find, reads } = makeCache();
    await cache.find(Buffer.from('a'), async () => {
      time.now = 400;
      return caller('a');
    });
    time.now = SECOND;
    expect(await find('a', null)).toBeNull();
    expect(reads()).toBe(1);
  });

  it('forgets the caller of one key, and keeps those of other keys', async () => {
    const { find, cache, reads, caller } = makeCache();
    await find('a');
    await find('b');
    cache.forget('a');
    expect(await find('a', null)).toBeNull();
    expect(await find('b')).toEqual(caller('b'));
    expect(reads()).toBe(3);
  });

  it('does not keep a caller whose key was deleted during the read', async () => {
    const { cache, caller, find } = makeCache();
    await cache.find(Buffer.from('a'), async () => {
      cache.forget('a');
      return caller('a');
    });
    expect(await find('a', null)).toBeNull();
  });

  it('does not keep unknown keys, so that a key created later works immediately', async () => {
    const { find, caller } = makeCache();
    expect(await find('a', null)).toBeNull();
    expect(await find('a')).toEqual(caller('a'));
  });
});

const here = useService({ roles: ['api'] });

describe('a deleted API key', () => {
  async function usedKey() {
    const { customer, api_key: key } = await here.customer();
    const { database } = here.runtime;
    const other = await insertApiKey(database, {
      customerId: customer.id,
      title: 'Other',
      accountIds: 'all',
    });
    const use = () => here.call('GET', '/v1/accounts', { key: other.apikey });
    expect((await use()).status).toBe(200);
    return { key, other, use };
  }

  it('stops working immediately in the process that deletes it', async () => {
    const { key, other, use } = await usedKey();
    expect((await here.call('DELETE', `/v1/apikeys/${other.id}`, { key })).status).toBeLessThan(300);
    expectProblem(await use(), 401);
  });

  it('stops working within a second in another process', async () => {
    const { other, use } = await usedKey();
    // As another process does.
    const deleted = performance.now();
    await here.runtime.database.query('DELETE FROM api_keys WHERE id = ?', [other.id]);
    let lastAccepted = deleted;
    await until('a refusal', async () => {
      const sent = performance.now();
      const { status } = await use();
      if (status === 200) lastAccepted = sent;
      return status === 401;
    });
    expect(lastAccepted - deleted).toBeLessThan(SECOND);
  });
});
