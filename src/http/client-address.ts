import { isIP } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import ipaddr from 'ipaddr.js';
import { type Address, contains, parseCidr, type Range } from '../cidrs.ts';
import { createMiddleware } from './environment.ts';

/**
 * Sets `clientAddress`, for throttling and for the log.
 * @param trustedProxies as in {@link createClientFinder}.
 */
export function identifyClient(trustedProxies: readonly string[]) {
  const findClient = createClientFinder(trustedProxies);
  return createMiddleware(async (c, next) => {
    c.set('clientAddress', findClient(getConnInfo(c).remote.address, c.req.header('x-forwarded-for')));
    await next();
  });
}

/**
 * Creates a function that finds the address a request comes from. Each proxy appends the address of its own client to
 * `X-Forwarded-For`, and what stands before that may be forged. The list is therefore read from its end, as long as the
 * address found so far belongs to a trusted proxy. Reading ends at an entry that is not a plain IP address.
 *
 * The function takes the address of the connection and the header. It returns IPv4-mapped addresses as IPv4, and `undefined`
 * when the connection is already gone.
 * @param trustedProxies CIDR ranges of proxies whose `X-Forwarded-For` is believed (TRUSTED_PROXIES).
 */
export function createClientFinder(trustedProxies: readonly string[]) {
  const trusted = trustedProxies.map(parseCidr).map(unmapRange);
  const isTrusted = (address: Address) => trusted.some((range) => contains(range, address));
  return (remote: string | undefined, forwardedFor: string | undefined): string | undefined => {
    const entries = trusted.length === 0 ? [] : (forwardedFor?.split(',') ?? []);
    let client = parseAddress(remote);
    while (client !== undefined && isTrusted(client)) {
      const previous = parseAddress(entries.pop()?.trim());
      if (previous === undefined) break;
      client = previous;
    }
    return client?.toString();
  };
}

function parseAddress(text: string | undefined): Address | undefined {
  // ipaddr.js alone would also read "10" and "0x7f.1" as addresses.
  return text === undefined || isIP(text) === 0 ? undefined : ipaddr.process(text);
}

/** Turns a range of IPv4-mapped addresses into the IPv4 range, because addresses are compared as IPv4. */
function unmapRange([address, bits]: Range): Range {
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96;
  return isMapped ? [address.toIPv4Address(), bits - 96] : [address, bits];
}
