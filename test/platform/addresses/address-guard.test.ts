import { describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';

const strict = createAddressGuard({ allow: [] });

describe('the check of an endpoint URL', () => {
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
  ])('refuses %s', (text, reason) => {
    expect(strict.checkUrl(new URL(text))).toContain(reason);
  });

  it.each([
    `https://bank.example/${'a'.repeat(2027)}`,
    'https://bank.example:8443/hook?token=1',
    'http://notlocalhost/',
    'http://localhost.bank.example/',
    'https://şube.example/',
    'http://metadata.google.internal/',
  ])('lets %s pass until its host is resolved', (text) => {
    expect(strict.checkUrl(new URL(text))).toBeNull();
  });

  it('does not repeat the URL in its refusal', () => {
    expect(strict.checkUrl(new URL('http://anna:geheim@10.1.2.3/'))).not.toMatch(/anna|geheim|10\.1/);
    expect(strict.checkUrl(new URL('http://10.1.2.3/'))).not.toContain('10.1.2.3');
  });
});

describe('the allow list of private endpoints', () => {
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
  ])('with 127.0.0.0/8 lets %s pass', (text) => {
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
  ])('with 127.0.0.0/8 refuses %s', (text) => {
    expect(loopback.checkUrl(new URL(text))).not.toBeNull();
  });

  it('with IPv6 ranges lets their addresses pass, and refuses an IPv4 address mapped into them', () => {
    const guard = createAddressGuard({ allow: ['::ffff:10.0.0.0/104', '::1/128', 'fd00::/8'] });
    for (const host of ['[::ffff:10.1.1.1]', '[::1]', '[fd12::1]', 'localhost']) {
      expect(guard.checkUrl(new URL(`http://${host}/`)), host).toBeNull();
    }
    expect(guard.checkUrl(new URL('http://10.1.1.1/'))).toContain('private');
  });

  it('with all of IPv4 refuses the IPv6 loopback', () => {
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
  ])('refuses the invalid range %s by its text', (item) => {
    expect(() => createAddressGuard({ allow: ['::1/128', item] })).toThrow(`"${item}"`);
  });
});
