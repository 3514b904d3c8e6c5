import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  createResolver,
  type Resolve,
  type ResolverOptions,
} from '../../../src/delivering/posting/resolver.ts';
import { useNameServer } from '../../support/name-server.ts';

const dns = useNameServer();
const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-resolver-'));
afterAll(() => rm(folder, { recursive: true }));

beforeEach(() => {
  dns.zones.clear();
  dns.asked.length = 0;
});

/** A resolver that asks the test's DNS server, on a clock that moves only when the test moves it. */
function resolver(options: ResolverOptions = {}) {
  const clock = { ms: 1_000 };
  const resolve = createResolver({
    servers: [dns.address],
    hostsFile: join(folder, 'no such file'),
    now: () => clock.ms,
    ...options,
  });
  return { resolve, clock, find: (name: string, family = 0) => find(resolve, name, { all: true, family }) };
}

function find(resolve: Resolve, name: string, options: LookupAllOptions): Promise<string[]> {
  return new Promise((done, fail) => {
    resolve(name, options, (error, addresses: LookupAddress[]) => {
      if (error) fail(error);
      else done(addresses.map(({ address, family }) => `${address} (${family})`));
    });
  });
}

describe('without a question to DNS', () => {
  it('a literal address is its own answer', async () => {
    const { find } = resolver();
    expect(await find('192.0.2.1')).toEqual(['192.0.2.1 (4)']);
    expect(await find('2001:db8::1')).toEqual(['2001:db8::1 (6)']);
    expect(dns.asked).toEqual([]);
  });

  it.each(['localhost', 'LOCALHOST.', 'api.localhost'])('%s is loopback', async (name) => {
    expect(await resolver().find(name)).toEqual(['127.0.0.1 (4)', '::1 (6)']);
    expect(dns.asked).toEqual([]);
  });

  it('the hosts file decides about the names in it', async () => {
    const hostsFile = join(folder, 'hosts');
    await writeFile(
      hostsFile,
      '# 192.0.2.9 bank.example\r\n192.0.2.1\tBank.example  bank # the bank\r\n2001:db8::1 bank.example.\n300.1.1.1 odd.example\n127.0.0.5 localhost',
    );
    dns.zones.set('bank.example', { a: ['192.0.2.99'] });
    const { find } = resolver({ hostsFile });
    expect(await find('bank.example')).toEqual(['192.0.2.1 (4)', '2001:db8::1 (6)']);
    expect(await find('BANK.')).toEqual(['192.0.2.1 (4)']);
    expect(await find('localhost')).toEqual(['127.0.0.5 (4)']);
    expect(dns.asked).toEqual([]);
    await expect(find('odd.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });

  it('the hosts file is read again when it was changed, replaced or removed', async () => {
    const hostsFile = join(folder, 'changing');
    dns.zones.set('bank.example', { a: ['192.0.2.99'] });
    const { find } = resolver({ hostsFile });
    expect(await find('bank.example')).toEqual(['192.0.2.99 (4)']);
    await writeFile(hostsFile, '192.0.2.1 bank.example\n');
    expect(await find('bank.example')).toEqual(['192.0.2.1 (4)']);
    await writeFile(hostsFile, '192.0.2.20 bank.example\n');
    expect(await find('bank.example')).toEqual(['192.0.2.20 (4)']);
    await writeFile(`${hostsFile}.new`, '192.0.2.30 bank.example\n');
    await rename(`${hostsFile}.new`, hostsFile);
    expect(await find('bank.example')).toEqual(['192.0.2.30 (4)']);
    await rm(hostsFile);
    expect(await find('bank.example')).toEqual(['192.0.2.99 (4)']);
  });
});
