import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';
import { SPECIAL_RANGES } from '../../../src/platform/address-ranges.ts';
import { answering, lookUp } from './fixed-answers.ts';

const strict = createAddressGuard({ allow: [] });

describe('a literal address', () => {
  it.each([
    // Spellings of IPv4 that the URL parser turns into dotted decimal
    ['127.0.0.1', 'loopback'],
    ['127.0.0.1.', 'loopback'],
    ['127.0.0.1..', 'loopback'],
    ['127.1', 'loopback'],
    ['127.255.255.255', 'loopback'],
    ['0x7f000001', 'loopback'],
    ['0x7f.0.0.1', 'loopback'],
    ['0X7F.1', 'loopback'],
    ['2130706433', 'loopback'],
    ['017700000001', 'loopback'],
    ['0177.0.0.1', 'loopback'],
    ['0177.0.0.0x1', 'loopback'],
    ['%31%32%37.0.0.1', 'loopback'],
    ['１２７.０.０.１', 'loopback'],
    ['127。0。0。1', 'loopback'],
    ['①②⑦.⓪.⓪.①', 'loopback'],
    // IPv4
    ['0', 'this network'],
    ['0.0.0.0', 'this network'],
    ['0.255.255.255', 'this network'],
    ['10.0.0.0', 'private'],
    ['10.255.255.255', 'private'],
    ['100.64.0.0', 'carrier-grade NAT'],
    ['100.100.100.200', 'carrier-grade NAT'],
    ['100.127.255.255', 'carrier-grade NAT'],
    ['168.63.129.16', 'Azure'],
    ['169.254.0.0', 'link-local'],
    ['169.254.169.254', 'metadata'],
    ['0xa9fea9fe', 'metadata'],
    ['2852039166', 'metadata'],
    ['169.254.255.255', 'link-local'],
    ['172.16.0.0', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.0', 'IETF protocols'],
    ['192.0.0.10', 'IETF protocols'],
    ['192.0.0.192', 'IETF protocols'],
    ['192.0.0.255', 'IETF protocols'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', '6to4 relay'],
    ['192.168.0.0', 'private'],
    ['192.168.255.255', 'private'],
    ['198.18.0.0', 'benchmarking'],
    ['198.19.255.255', 'benchmarking'],
    ['198.51.100.7', 'documentation'],
    ['203.0.113.7', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.255', 'multicast'],
    ['240.0.0.0', 'reserved'],
    ['255.255.255.254', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['4294967295', 'broadcast'],
    // IPv6
    ['[::]', 'unspecified'],
    ['[0:0:0:0:0:0:0:0]', 'unspecified'],
    ['[::1]', 'loopback'],
    ['[0000:0000:0000:0000:0000:0000:0000:0001]', 'loopback'],
    ['[::2]', 'IPv4-compatible'],
    ['[::127.0.0.1]', 'IPv4-compatible'],
    ['[::8.8.8.8]', 'IPv4-compatible'],
    ['[::ffff:127.0.0.1]', 'IPv4-mapped'],
    ['[::ffff:7f00:1]', 'IPv4-mapped'],
    ['[::FFFF:A9FE:A9FE]', 'IPv4-mapped'],
    ['[0:0:0:0:0:ffff:10.0.0.1]', 'IPv4-mapped'],
    ['[::ffff:8.8.8.8]', 'IPv4-mapped'],
    ['[::ffff:0:127.0.0.1]', 'IPv4-translated'],
    ['[64:ff9b::127.0.0.1]', 'loopback'],
    ['[64:ff9b::a9fe:a9fe]', 'metadata'],
    ['[64:ff9b::192.168.1.1]', 'private'],
    ['[64:ff9b:1::8.8.8.8]', 'local-use NAT64'],
    ['[64:ff9b:2::1]', 'outside the assigned'],
    ['[100::1]', 'discard-only'],
    ['[100:0:0:1::1]', 'dummy'],
    ['[100:0:0:2::1]', 'outside the assigned'],
    ['[1fff:ffff::1]', 'outside the assigned'],
    ['[2001::1]', 'Teredo'],
    ['[2001:0:4136:e378:8000:63bf:3fff:fdd2]', 'Teredo'],
    ['[2001:1::1]', 'IETF protocols'],
    ['[2001:2::1]', 'benchmarking'],
    ['[2001:10::1]', 'ORCHID'],
    ['[2001:20::1]', 'ORCHIDv2'],
    ['[2001:1ff:ffff::1]', 'IETF protocols'],
    ['[2001:db8::1]', 'documentation'],
    ['[2002:7f00:1::1]', '6to4'],
    ['[2002:808:808::1]', '6to4'],
    ['[3fff::1]', 'documentation'],
    ['[3fff:fff:ffff::1]', 'documentation'],
    ['[4000::1]', 'outside the assigned'],
    ['[5f00::1]', 'segment routing'],
    ['[7fff::1]', 'outside the assigned'],
    ['[8000::1]', 'outside the assigned'],
    ['[fc00::1]', 'unique local'],
    ['[fd00:ec2::254]', 'unique local'],
    ['[fdff:ffff::1]', 'unique local'],
    ['[fe80::1]', 'link-local'],
    ['[febf:ffff::1]', 'link-local'],
    ['[fec0::1]', 'site-local'],
    ['[ff02::1]', 'multicast'],
    ['[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]', 'multicast'],
  ])('%s is refused as %s', (host, reason) => {
    expect(strict.checkUrl(new URL(`http://${host}:8080/hook`))).toContain(reason);
  });

  it.each([
    '1.0.0.0',
    '8.8.8.8',
    '0x08080808',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '168.63.129.15',
    '168.63.129.17',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '191.255.255.255',
    '192.0.1.0',
    '192.0.3.0',
    '192.31.196.1',
    '192.88.98.255',
    '192.88.100.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '198.51.99.255',
    '198.51.101.0',
    '203.0.112.255',
    '203.0.114.0',
    '223.255.255.255',
    '[2000::1]',
    '[2001:200::1]',
    '[2001:4860:4860::8888]',
    '[2001:db7:ffff::1]',
    '[2001:db9::1]',
    '[2003::1]',
    '[2606:4700:4700::1111]',
    '[2a00:1450:4017::1]',
    '[3ffe:ffff::1]',
    '[3fff:1000::1]',
    '[64:ff9b::8.8.8.8]',
  ])('%s is public and passes', (host) => {
    expect(strict.checkUrl(new URL(`https://${host}/hook`))).toBeNull();
  });

  it('with a zone id is refused, in a URL and from a resolver', async () => {
    expect(URL.canParse('http://[fe80::1%25eth0]/')).toBe(false);
    const { resolve } = answering(['2001:4860:4860::8888%eth0']);
    const guard = createAddressGuard({ allow: ['2000::/3'], resolve });
    await expect(lookUp(guard, true)).rejects.toThrow('network interface');
  });
});

describe('any IPv4 address in a refused range', () => {
  const ranges = SPECIAL_RANGES.map(({ cidr }) => cidr).filter((cidr) => !cidr.includes(':'));
  const refused = fc
    .tuple(fc.constantFrom(...ranges), fc.nat({ max: 0xffffffff }))
    .map(([cidr, noise]): [number, number, number, number] => {
      const [base, bits] = ipaddr.IPv4.parseCIDR(cidr);
      const host = 2 ** (32 - bits);
      const value = base.octets.reduce((sum, octet) => sum * 256 + octet, 0) + (noise % host);
      return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
    });
  const hex = (high: number, low: number) => ((high << 8) | low).toString(16);

  it('is refused in every spelling, in IPv4 and inside IPv6', () => {
    fc.assert(
      fc.property(refused, ([a, b, c, d]) => {
        const dotted = `${a}.${b}.${c}.${d}`;
        const [high, low] = [hex(a, b), hex(c, d)];
        const spellings = [
          dotted,
          `${dotted}.`,
          String(((a * 256 + b) * 256 + c) * 256 + d),
          `0x${a.toString(16)}.0x${b.toString(16)}.0${c.toString(8)}.${d}`,
          `${a}.${b}.${c * 256 + d}`,
          `[::${dotted}]`,
          `[::ffff:${dotted}]`,
          `[::ffff:${high}:${low}]`,
          `[0:0:0:0:0:ffff:${high}:${low}]`,
          `[::ffff:0:${dotted}]`,
          `[64:ff9b::${dotted}]`,
          `[64:ff9b::${high}:${low}]`,
          `[64:ff9b:1::${dotted}]`,
          `[2002:${high}:${low}::1]`,
          `[2001:0:${high}:${low}:8000::1]`,
          `[2001::8000:0:${hex(255 - a, 255 - b)}:${hex(255 - c, 255 - d)}]`,
        ];
        for (const host of spellings) {
          expect(strict.checkUrl(new URL(`http://${host}/`)), host).not.toBeNull();
        }
      }),
      { numRuns: 500 },
    );
  });
});
