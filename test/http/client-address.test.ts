import { describe, expect, it } from 'vitest';
import { createClientFinder } from '../../src/http/app.ts';

describe('the address of a client', () => {
  const find = createClientFinder(['10.0.0.0/8', '2001:db8::/32', '::ffff:192.168.0.0/112']);

  it.each([
    ['comes from the connection', '203.0.113.7', undefined, '203.0.113.7'],
    ['is not forged by a client that is no trusted proxy', '203.0.113.7', '198.51.100.1', '203.0.113.7'],
    ['comes from a trusted proxy', '10.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['comes from a trusted proxy over IPv6', '2001:db8::1', '2001:0DB8:ffff::1, 2a00::7', '2a00::7'],
    ['is the last one that a proxy appended', '10.0.0.1', '198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['is found behind several trusted proxies', '10.0.0.1', '1.1.1.1,203.0.113.7 , 10.0.0.2', '203.0.113.7'],
    ['is found behind IPv4-mapped proxies', '::ffff:10.0.0.1', '203.0.113.7, ::ffff:10.0.0.2', '203.0.113.7'],
    ['is found behind a range of IPv4-mapped proxies', '192.168.0.1', '203.0.113.7', '203.0.113.7'],
    ['is written as IPv4 when it is IPv4-mapped', '10.0.0.1', '::ffff:203.0.113.7', '203.0.113.7'],
    ['may be in a trusted range itself', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['is the proxy when it sends no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['is the proxy when the header is empty', '10.0.0.1', '', '10.0.0.1'],
    ['is unknown when the connection is gone', undefined, '203.0.113.7', undefined],
  ])('%s', (_case, remote, header, expected) => {
    expect(find(remote, header)).toBe(expected);
  });

  it.each([
    'unknown',
    '203.0.113.7:1234',
    '[2a00::7]',
    '[2a00::7]:443',
    '203.0.113',
    '10',
    '0x7f.1',
    '203.0.113.07',
    '203.0.113.7;',
    'for=203.0.113.7',
  ])('is that of the last proxy before an invalid entry: %s', (entry) => {
    expect(find('10.0.0.1', entry)).toBe('10.0.0.1');
    expect(find('10.0.0.1', `198.51.100.1, ${entry}, 10.0.0.2`)).toBe('10.0.0.2');
  });

  it('is that of the connection when no proxy is trusted', () => {
    const findWithoutProxies = createClientFinder([]);
    expect(findWithoutProxies('10.0.0.1', '203.0.113.7')).toBe('10.0.0.1');
    expect(findWithoutProxies('::ffff:10.0.0.1', undefined)).toBe('10.0.0.1');
  });
});
