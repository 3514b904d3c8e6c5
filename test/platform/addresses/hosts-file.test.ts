import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useResolvers } from './test-resolver.ts';

const { dns, folder, resolver } = await useResolvers();

describe('the resolver, without asking DNS,', () => {
  it('answers a literal address with the address itself', async () => {
    const { find } = resolver();
    expect(await find('192.0.2.1')).toEqual(['192.0.2.1 (4)']);
    expect(await find('2001:db8::1')).toEqual(['2001:db8::1 (6)']);
    expect(dns.asked).toEqual([]);
  });

  it.each(['localhost', 'LOCALHOST.', 'api.localhost'])(
    'answers %s with the loopback addresses',
    async (name) => {
      expect(await resolver().find(name)).toEqual(['127.0.0.1 (4)', '::1 (6)']);
      expect(dns.asked).toEqual([]);
    },
  );

  it('answers the names in the hosts file from that file', async () => {
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

  it('reads the hosts file again after the file was changed, replaced or removed', async () => {
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
