import { describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';
import type { ResolverOptions } from '../../../src/platform/addresses/resolver.ts';
import { useResolvers } from './test-resolver.ts';

const { dns, resolver } = await useResolvers();

describe('a DNS answer', () => {
  it('has the addresses of both families, IPv4 first', async () => {
    dns.zones.set('bank.example', { a: ['192.0.2.1', '192.0.2.2'], aaaa: ['2001:db8::1'] });
    const { find } = resolver();
    expect(await find('bank.example')).toEqual(['192.0.2.1 (4)', '192.0.2.2 (4)', '2001:db8::1 (6)']);
    expect(dns.asked.sort()).toEqual(['a bank.example', 'aaaa bank.example']);
    expect(await find('bank.example', 6)).toEqual(['2001:db8::1 (6)']);
  });

  it.each(['silence', 'servfail', 'nxdomain'] as const)(
    'of one family is used although the other family is %s',
    async (failure) => {
      dns.zones.set('four.example', { a: ['192.0.2.1'], aaaa: failure });
      dns.zones.set('six.example', { a: failure, aaaa: ['2001:db8::1'] });
      const { find } = resolver({ timeout: 500 });
      const found = Promise.all([find('four.example'), find('six.example')]);
      expect(await found).toEqual([['192.0.2.1 (4)'], ['2001:db8::1 (6)']]);
      await expect(find('four.example', 6)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    },
  );

  it("follows a chain of CNAMEs, and is kept no longer than any of the chain's records", async () => {
    dns.zones.set('bank.example', { cname: 'cdn.example', ttl: 20 });
    dns.zones.set('cdn.example', { cname: 'edge.example', ttl: 90 });
    dns.zones.set('edge.example', { a: ['192.0.2.1'], aaaa: ['2001:db8::1'], ttl: 90 });
    const { find, clock } = resolver();
    expect(await find('bank.example')).toEqual(['192.0.2.1 (4)', '2001:db8::1 (6)']);
    clock.ms += 19_999;
    await find('bank.example');
    expect(dns.asked).toHaveLength(2);
    clock.ms += 1;
    await find('bank.example');
    expect(dns.asked).toHaveLength(4);
  });

  it.each([
    ['its TTL', { ttl: 60 }, 60_000],
    ['the shorter TTL of its two families', { ttl: 60, aaaaTtl: 30, aaaa: ['2001:db8::1'] }, 30_000],
    ['1 s when its TTL is 0', { ttl: 0 }, 1_000],
    ['5 minutes when its TTL is a day', { ttl: 86_400 }, 300_000],
  ])('is kept for %s', async (_kind, zone, ms) => {
    dns.zones.set('bank.example', { a: ['192.0.2.1'], ...zone });
    const { find, clock } = resolver();
    await find('bank.example');
    dns.zones.set('bank.example', { a: ['192.0.2.2'] });
    clock.ms += ms - 1;
    expect(await find('bank.example', 4)).toEqual(['192.0.2.1 (4)']);
    clock.ms += 1;
    expect(await find('bank.example', 4)).toEqual(['192.0.2.2 (4)']);
  });

  it('is shared by all simultaneous lookups of the name, however the name is spelled', async () => {
    dns.zones.set('bank.example', { a: ['192.0.2.1'] });
    const { find } = resolver();
    const spellings = ['bank.example', 'BANK.example', 'bank.example.'];
    await Promise.all(Array.from({ length: 30 }, (_, index) => find(spellings[index % 3] ?? '')));
    expect(dns.asked.sort()).toEqual(['a bank.example', 'aaaa bank.example']);
  });

  it('is dropped when it is the oldest and there are too many answers', async () => {
    for (const name of ['one', 'two', 'three']) dns.zones.set(`${name}.example`, { a: ['192.0.2.1'] });
    const { find } = resolver({ maxNames: 2 });
    for (const name of ['one', 'two', 'three', 'three', 'two', 'one']) await find(`${name}.example`);
    const asked = dns.asked.filter((question) => question.startsWith('a '));
    expect(asked).toEqual(['a one.example', 'a two.example', 'a three.example', 'a one.example']);
  });

  it('keeps 16 addresses of each family', async () => {
    const a = Array.from({ length: 20 }, (_, index) => `192.0.2.${index}`);
    dns.zones.set('bank.example', { a, aaaa: ['2001:db8::1'] });
    expect(await resolver().find('bank.example')).toHaveLength(17);
  });
});

describe('a name without an address', () => {
  const check = (options: ResolverOptions = {}) =>
    createAddressGuard({ allow: [], resolve: resolver(options).resolve }).checkEndpoint(
      new URL('https://bank.example/hook'),
    );

  it('that does not exist is not found, and is asked again after 2 s', async () => {
    const { find, clock } = resolver();
    await expect(find('bank.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    dns.zones.set('bank.example', { a: ['192.0.2.1'] });
    clock.ms += 1_999;
    await expect(find('bank.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    clock.ms += 1;
    expect(await find('bank.example')).toEqual(['192.0.2.1 (4)']);
  });

  it.each([
    ['does not exist', 'nxdomain'],
    ['exists without addresses', {}],
    ['leads to a name that does not exist', { cname: 'gone.example' }],
  ] as const)('is refused at creation when it %s', async (_kind, zone) => {
    dns.zones.set('bank.example', zone);
    expect(await check()).toContain('does not exist');
  });

  it.each([
    ['SERVFAIL', 'servfail'],
    ['silence', 'silence'],
    ['SERVFAIL for one family', { aaaa: 'servfail' }],
    ['silence for one family', { a: 'silence', aaaa: 'nxdomain' }],
  ] as const)('passes at creation when DNS failed with %s', async (_kind, zone) => {
    dns.zones.set('bank.example', zone);
    expect(await check({ timeout: 100 })).toBeNull();
  });

  it('passes at creation when no DNS server answers', async () => {
    expect(await check({ servers: ['127.0.0.1:1'], timeout: 100 })).toBeNull();
  });

  it.each(['bank..example', `${'a'.repeat(64)}.example`])(
    'is not found when it is not a valid name: %s',
    (name) => expect(resolver().find(name)).rejects.toMatchObject({ code: 'ENOTFOUND' }),
  );
});

describe('a name without a dot', () => {
  it('is asked as it is, without search domains', async () => {
    process.env.LOCALDOMAIN = 'corp.example';
    try {
      dns.zones.set('receiver.corp.example', { a: ['192.0.2.1'] });
      const { find, clock } = resolver();
      await expect(find('receiver')).rejects.toMatchObject({ code: 'ENOTFOUND' });
      dns.zones.set('receiver', { a: ['192.0.2.2'] });
      clock.ms += 2_000;
      expect(await find('receiver')).toEqual(['192.0.2.2 (4)']);
    } finally {
      delete process.env.LOCALDOMAIN;
    }
  });
});
