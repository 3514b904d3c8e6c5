import { describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../../src/platform/addresses/address-guard.ts';

const strict = createAddressGuard({ allow: [] });

describe('a URL', () => {
  it.each([
    ['ftp://bank.example/', 'http or https'],
    ['file:///etc/passwd', 'http or https'],
    ['gopher://127.0.0.1:6379/_FLUSHALL', 'http or https'],
    ['javascript:alert(1)', 'http or https'],
    ['http://user@bank.example/', 'user name'],
    ['http://:password@bank.example/', 'password'],
    ['http://bank.example@127.0.0.1/', 'user name'],
    [`https://bank.example/${'a'.repeat(2028)}`, '2048'],
    ['http://./', 'name a host'],
    ['http://localhost/', 'loopback'],
    ['http://LOCALHOST:3000/', 'loopback'],
    ['http://localhost./', 'loopback'],
    ['http://localhost../', 'loopback'],
    ['http://ⓛocalhost/', 'loopback'],
    ['http://ｌｏｃａｌｈｏｓｔ/', 'loopback'],
    ['http://localho%73t/', 'loopback'],
    ['http://api.localhost/', 'loopback'],
    ['http://api.localhost./', 'loopback'],
  ])('%s is refused', (text, reason) => {
    expect(strict.checkUrl(new URL(text))).toContain(reason);
  });

  it.each([
    `https://bank.example/${'a'.repeat(2027)}`,
    'https://bank.example:8443/hook?token=1',
    'http://notlocalhost/',
    'http://localhost.bank.example/',
    'https://şube.example/',
    'http://metadata.google.internal/',
  ])('%s passes until it is resolved', (text) => {
    expect(strict.checkUrl(new URL(text))).toBeNull();
  });

  it('is not repeated in what is said about it', () => {
    expect(strict.checkUrl(new URL('http://anna:geheim@10.1.2.3/'))).not.toMatch(/anna|geheim|10\.1/);
    expect(strict.checkUrl(new URL('http://10.1.2.3/'))).not.toContain('10.1.2.3');
  });
});

describe('the allow list', () => {
  const loopback = createAddressGuard({ allow: ['127.0.0.0/8'] });

  it.each([
    'http://127.0.0.1/',
    'http://127.9.9.9/',
    'http://2130706433/',
    'http://localhost/',
    'http://api.localhost./',
    'http://[::ffff:127.0.0.1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[2002:7f00:1::1]/',
  ])('127.0.0.0/8 lets %s through', (text) => {
    expect(loopback.checkUrl(new URL(text))).toBeNull();
  });

  it.each([
    'http://[::1]/',
    'http://10.0.0.1/',
    'http://169.254.169.254/',
    'http://[::ffff:10.0.0.1]/',
    'http://[64:ff9b::10.0.0.1]/',
    'http://[64:ff9b:1::127.0.0.1]/',
    'ftp://127.0.0.1/',
    'http://user@127.0.0.1/',
  ])('127.0.0.0/8 does not let %s through', (text) => {
    expect(loopback.checkUrl(new URL(text))).not.toBeNull();
  });

  it('lets a literal IPv6 form through that it names itself', () => {
    const guard = createAddressGuard({ allow: ['::ffff:10.0.0.0/104', '::1/128', 'fd00::/8'] });
    for (const host of ['[::ffff:10.1.1.1]', '[::1]', '[fd12::1]', 'localhost']) {
      expect(guard.checkUrl(new URL(`http://${host}/`)), host).toBeNull();
    }
    expect(guard.checkUrl(new URL('http://10.1.1.1/'))).toContain('private');
  });

  it('with all of IPv4 in it lets no IPv6 loopback through', () => {
    expect(createAddressGuard({ allow: ['0.0.0.0/0'] }).checkUrl(new URL('http://[::1]/'))).toContain(
      'loopback',
    );
  });

  it.each([
    '127.0.0.1',
    '10/8',
    '010.0.0.0/8',
    '10.0.0.0/33',
    '::1/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    'fe80::1%eth0/64',
    'localhost',
  ])('refuses %s, which is no range, by its name', (item) => {
    expect(() => createAddressGuard({ allow: ['::1/128', item] })).toThrow(`"${item}"`);
  });
});
