import { beforeEach, describe, expect, it } from 'vitest';
import { connectFailFast } from '../../src/platform/redis.ts';
import { shareReading } from '../../src/platform/shared-reading.ts';
import { reservePort } from '../support/reserved-port.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';

const service = useOwnService({ because: 'the page shows all customers', roles: ['importer'] });

let reads: number;
let key: string;
let now: number;
/** Returns the number of reads so far. */
const read = async () => {
  reads += 1;
  return { reads };
};
const shareAs = (options: Partial<Parameters<typeof shareReading<{ reads: number }>>[0]> = {}) =>
  shareReading({ redis: service.runtime.redis, key, seconds: 10, read, clock: () => now, ...options });

let keys = 0;
beforeEach(() => {
  reads = 0;
  now = 0;
  keys += 1;
  key = `${service.runtime.prefix}:shared:${keys}`;
});

describe('a shared reading', () => {
  it('is read once for all processes, and kept for its set time', async () => {
    const [first, second] = [shareAs(), shareAs()];
    expect([await first(), await second(), await first()]).toEqual([
      { reads: 1 },
      { reads: 1 },
      { reads: 1 },
    ]);
    const left = await service.runtime.redis.pttl(key);
    expect(left).toBeGreaterThan(5_000);
    expect(left).toBeLessThanOrEqual(10_000);
  });

  it('is read once for requests at the same time', async () => {
    const get = shareAs();
    expect(await Promise.all([get(), get(), get()])).toEqual([{ reads: 1 }, { reads: 1 }, { reads: 1 }]);
  });

  it('is read again when its time is over', async () => {
    const get = shareAs();
    await get();
    await service.runtime.redis.del(key);
    now = 9_999;
    expect(await get()).toEqual({ reads: 1 });
    now = 10_000;
    expect(await get()).toEqual({ reads: 2 });
  });

  it('keeps its last value while another process reads', async () => {
    const waiting: (() => void)[] = [];
    const get = shareAs();
    const slow = shareAs({
      read: () => new Promise((resolve) => waiting.push(() => resolve({ reads: 99 }))),
    });
    await get();
    await service.runtime.redis.del(key);
    now = 10_000;
    const reading = slow();
    await until('the other process reads', () => waiting.length > 0);
    expect(await get()).toEqual({ reads: 1 });
    for (const finish of waiting) finish();
    expect(await reading).toEqual({ reads: 99 });
    now = 20_000;
    expect(await get()).toEqual({ reads: 99 });
    expect(reads).toBe(1);
  });

  it('is read by each process while Redis is unreachable, once in its set time', async () => {
    const redis = connectFailFast(`redis://127.0.0.1:${await reservePort()}`);
    try {
      const [first, second] = [shareAs({ redis }), shareAs({ redis })];
      await first();
      expect([await first(), await second()]).toEqual([{ reads: 1 }, { reads: 2 }]);
    } finally {
      redis.disconnect();
    }
  });

  it('fails when it cannot be read, and is read again the next time', async () => {
    let fails = true;
    const get = shareAs({ read: () => (fails ? Promise.reject(new Error('no MySQL')) : read()) });
    await expect(get()).rejects.toThrow('no MySQL');
    fails = false;
    expect(await get()).toEqual({ reads: 1 });
  });
});
