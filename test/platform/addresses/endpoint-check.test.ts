import { describe, expect, it } from 'vitest';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';
import { answering, failing, lookUp } from './fixed-answers.ts';

describe('the endpoint check at creation', () => {
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

  it('passes a name that has a public address, and the connection drops its private addresses', async () => {
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

  it('refuses a name that does not exist, and passes a name when DNS itself fails', async () => {
    expect(
      await createAddressGuard({ allow: [], resolve: failing('ENOTFOUND') }).checkEndpoint(endpoint),
    ).toContain('does not exist');
    expect(
      await createAddressGuard({ allow: [], resolve: failing('EAI_AGAIN') }).checkEndpoint(endpoint),
    ).toBeNull();
  });

  it('does not ask DNS about a literal address or an invalid URL', async () => {
    const { resolve, asked } = answering(['93.184.216.34']);
    const guard = createAddressGuard({ allow: [], resolve });
    expect(await guard.checkEndpoint(new URL('http://93.184.216.34/'))).toBeNull();
    expect(await guard.checkEndpoint(new URL('http://[::1]/'))).toContain('loopback');
    expect(await guard.checkEndpoint(new URL('ftp://bank.example/'))).toContain('http');
    expect(asked).toEqual([]);
  });
});
