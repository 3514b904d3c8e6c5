import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { createAddressGuard, RefusedAddressError } from '../../../src/delivering/posting/address-guard.ts';
import type { Resolve } from '../../../src/delivering/posting/resolver.ts';
import { SPECIAL_RANGES } from '../../../src/delivering/posting/special-ranges.ts';
import { reservePort } from '../../support/reserved-port.ts';

const strict = createAddressGuard({ allow: [] });

/** A resolver that answers the n-th question with the n-th list. The last list is repeated. */
function answering(...answers: string[][]): { resolve: Resolve; asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = (hostname, _options, callback) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    callback(
      null,
      answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { resolve, asked };
}

function failing(code: string): Resolve {
  return (_hostname, _options, callback) => callback(Object.assign(new Error(code), { code }), []);
}

function lookUp(guard: { lookup: typeof strict.lookup }, all: boolean): Promise<unknown> {
  return new Promise((done, fail) => {
    guard.lookup('bank.example', { all }, (error, address, family) => {
      if (error) fail(error);
      else done(all ? address : [address, family]);
    });
  });
}

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

  it('with a zone id is no URL, and is refused when a resolver gives one', async () => {
    expect(URL.canParse('http://[fe80::1%25eth0]/')).toBe(false);
    const { resolve } = answering(['2001:4860:4860::8888%eth0']);
    const guard = createAddressGuard({ allow: ['2000::/3'], resolve });
    await expect(lookUp(guard, true)).rejects.toThrow('network interface');
  });
});

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

describe('the check at creation', () => {
  const endpoint = new URL('https://bank.example/hook');

  it.each([
    ['an internal name', ['10.0.0.5'], 'private'],
    ['cloud metadata', ['169.254.169.254'], 'metadata'],
    ['IPv6 loopback', ['::1'], 'loopback'],
    ['two refused addresses', ['127.0.0.1', 'fd00::1'], 'loopback (127.0.0.0/8, RFC 1122) or unique local'],
    ['no address at all', [], 'no address'],
  ])('refuses a name that leads to %s', async (_kind, addresses, reason) => {
    const guard = createAddressGuard({ allow: [], resolve: answering(addresses).resolve });
    const refusal = await guard.checkEndpoint(endpoint);
    expect(refusal).toContain(reason);
    for (const address of addresses) expect(refusal).not.toContain(`${address} `);
  });

  it('passes a name with a public address, the refused ones beside it being dropped at the connection', async () => {
    const { resolve, asked } = answering(['10.0.0.5', '93.184.216.34']);
    const guard = createAddressGuard({ allow: [], resolve });
    expect(await guard.checkEndpoint(endpoint)).toBeNull();
    expect(asked).toEqual(['bank.example']);
    expect(await lookUp(guard, true)).toEqual([{ address: '93.184.216.34', family: 4 }]);
  });

  it('passes a private address that is on the allow list', async () => {
    const guard = createAddressGuard({ allow: ['10.0.0.0/8'], resolve: answering(['10.0.0.5']).resolve });
    expect(await guard.checkEndpoint(endpoint)).toBeNull();
  });

  it('says that a name does not exist, and lets a failure of DNS itself pass', async () => {
    expect(
      await createAddressGuard({ allow: [], resolve: failing('ENOTFOUND') }).checkEndpoint(endpoint),
    ).toContain('does not exist');
    expect(
      await createAddressGuard({ allow: [], resolve: failing('EAI_AGAIN') }).checkEndpoint(endpoint),
    ).toBeNull();
  });

  it('does not ask DNS about a literal address or a URL that is wrong by itself', async () => {
    const { resolve, asked } = answering(['93.184.216.34']);
    const guard = createAddressGuard({ allow: [], resolve });
    expect(await guard.checkEndpoint(new URL('http://93.184.216.34/'))).toBeNull();
    expect(await guard.checkEndpoint(new URL('http://[::1]/'))).toContain('loopback');
    expect(await guard.checkEndpoint(new URL('ftp://bank.example/'))).toContain('http');
    expect(asked).toEqual([]);
  });
});

describe('the lookup of a connection', () => {
  it('hands back the very answer it checked, not a later one', async () => {
    const { resolve, asked } = answering(['93.184.216.34'], ['127.0.0.1']);
    const guard = createAddressGuard({ allow: [], resolve });
    expect(await lookUp(guard, false)).toEqual(['93.184.216.34', 4]);
    expect(asked).toHaveLength(1);
    await expect(lookUp(guard, false)).rejects.toBeInstanceOf(RefusedAddressError);
    await expect(lookUp(guard, true)).rejects.toMatchObject({ code: 'EADDRREFUSED_BY_POLICY' });
  });

  it('passes an error of the resolver on as it is', async () => {
    const guard = createAddressGuard({ allow: [], resolve: failing('EAI_AGAIN') });
    await expect(lookUp(guard, true)).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });

  it('checks what the hosts file and DNS say unless another resolver is given', async () => {
    const found = new Promise((done, fail) => {
      strict.lookup('localhost', { all: true }, (error, addresses) =>
        error ? fail(error) : done(addresses),
      );
    });
    await expect(found).rejects.toThrow('loopback');
  });
});

describe('the resolver of a guard that is given none', () => {
  it('does not use getaddrinfo, whose two threads all names of the process would share', async () => {
    const resources: string[] = [];
    const hook = createHook({ init: (_id, type) => void resources.push(type) }).enable();
    try {
      // It does not matter whether this machine has a DNS server, or what it answers.
      await strict.checkEndpoint(new URL('https://hooks.invalid/'));
    } finally {
      hook.disable();
    }
    expect(resources).toContain('QUERYWRAP');
    expect(resources).not.toContain('GETADDRINFOREQWRAP');
  });
});

describe('a request through undici', () => {
  const servers: Server[] = [];
  const agents: Agent[] = [];

  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function listen(host: string, port: number, answer: string): Promise<number> {
    const server = createServer((_request, response) => response.end(answer)).listen(port, host);
    servers.push(server);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  function post(allow: string[], resolve: Resolve) {
    const agent = new Agent({ connect: { lookup: createAddressGuard({ allow, resolve }).lookup } });
    agents.push(agent);
    return async (port: number) => {
      const { body } = await request(`http://bank.example:${port}/`, {
        method: 'POST',
        dispatcher: agent,
        reset: true,
      });
      return body.text();
    };
  }

  it('does not reach a private address, and does when the operator allows it', async () => {
    const port = await listen('127.0.0.1', 0, 'answered');
    const { resolve } = answering(['127.0.0.1']);
    await expect(post([], resolve)(port)).rejects.toMatchObject({ code: 'EADDRREFUSED_BY_POLICY' });
    expect(await post(['127.0.0.0/8'], resolve)(port)).toBe('answered');
  });

  it('reaches the address that was checked although DNS changes its answer, and is refused after that', async () => {
    const port = await reservePort();
    await listen('127.0.0.1', port, 'the checked one');
    await listen('127.0.0.2', port, 'the rebound one');
    const send = post(['127.0.0.1/32'], answering(['127.0.0.1'], ['127.0.0.2']).resolve);
    expect(await send(port)).toBe('the checked one');
    await expect(send(port)).rejects.toBeInstanceOf(RefusedAddressError);
  });
});
