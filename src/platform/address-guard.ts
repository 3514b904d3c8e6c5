import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { createResolver, type Resolve } from './addresses/resolver.ts';
import { checkCidr } from './config/variables.ts';

/**
 * Address ranges to which no webhook is sent unless the operator allows it. These are the ranges that the IANA special-purpose
 * registries do not list as globally reachable (https://www.iana.org/assignments/iana-ipv4-special-registry and
 * …/iana-ipv6-special-registry, as of October 2024), multicast, deprecated ranges that routers and operating systems may still
 * know, and unassigned addresses.
 *
 * The order matters: the first range that contains an address names it, so narrower ranges come first.
 */
interface SpecialRange {
  readonly cidr: string;
  /** Completes "The endpoint's address is …". */
  readonly name: string;
  readonly source: string;
  /** The position of an IPv4 address within the 16 bytes of an address of this range. */
  readonly ipv4At?: number;
  /** Whether a packet to this range reaches the IPv4 address inside it. Then that address decides. */
  readonly ipv4Decides?: boolean;
}

export const SPECIAL_RANGES: readonly SpecialRange[] = [
  { cidr: '0.0.0.0/8', name: 'on "this network"', source: 'RFC 791' },
  { cidr: '10.0.0.0/8', name: 'private', source: 'RFC 1918' },
  { cidr: '100.64.0.0/10', name: 'carrier-grade NAT space', source: 'RFC 6598' },
  { cidr: '127.0.0.0/8', name: 'loopback', source: 'RFC 1122' },
  // Not in the registry: a public address at which every Azure machine reaches its platform's control channel.
  { cidr: '168.63.129.16/32', name: 'the Azure platform channel', source: 'Azure documentation' },
  { cidr: '169.254.0.0/16', name: 'link-local, cloud metadata included', source: 'RFC 3927' },
  { cidr: '172.16.0.0/12', name: 'private', source: 'RFC 1918' },
  // Refused as a whole: .9 and .10 are globally reachable according to the registry, but the nearest NAT answers them.
  { cidr: '192.0.0.0/24', name: 'for IETF protocols', source: 'RFC 6890' },
  { cidr: '192.0.2.0/24', name: 'for documentation', source: 'RFC 5737' },
  { cidr: '192.88.99.0/24', name: '6to4 relay anycast', source: 'RFC 7526' },
  { cidr: '192.168.0.0/16', name: 'private', source: 'RFC 1918' },
  { cidr: '198.18.0.0/15', name: 'for benchmarking', source: 'RFC 2544' },
  { cidr: '198.51.100.0/24', name: 'for documentation', source: 'RFC 5737' },
  { cidr: '203.0.113.0/24', name: 'for documentation', source: 'RFC 5737' },
  { cidr: '224.0.0.0/4', name: 'multicast', source: 'RFC 5771' },
  { cidr: '255.255.255.255/32', name: 'broadcast', source: 'RFC 919' },
  { cidr: '240.0.0.0/4', name: 'reserved', source: 'RFC 1112' },

  { cidr: '::/128', name: 'unspecified', source: 'RFC 4291' },
  { cidr: '::1/128', name: 'loopback', source: 'RFC 4291' },
  { cidr: '::ffff:0:0/96', name: 'IPv4-mapped', source: 'RFC 4291', ipv4At: 12 },
  { cidr: '::ffff:0:0:0/96', name: 'IPv4-translated', source: 'RFC 2765', ipv4At: 12 },
  { cidr: '::/96', name: 'IPv4-compatible', source: 'RFC 4291', ipv4At: 12 },
  // An IPv6-only network reaches every IPv4 receiver through such an address (DNS64), including public ones.
  { cidr: '64:ff9b::/96', name: 'NAT64', source: 'RFC 6052', ipv4At: 12, ipv4Decides: true },
  { cidr: '64:ff9b:1::/48', name: 'local-use NAT64', source: 'RFC 8215' },
  { cidr: '100::/64', name: 'discard-only', source: 'RFC 6666' },
  { cidr: '100:0:0:1::/64', name: 'a dummy prefix', source: 'RFC 9780' },
  { cidr: '2001::/32', name: 'Teredo', source: 'RFC 4380' },
  { cidr: '2001:2::/48', name: 'for benchmarking', source: 'RFC 5180' },
  { cidr: '2001:10::/28', name: 'ORCHID', source: 'RFC 4843' },
  { cidr: '2001:20::/28', name: 'ORCHIDv2', source: 'RFC 7343' },
  // Refused as a whole: its few globally reachable parts (anycast of protocols) hold no web servers.
  { cidr: '2001::/23', name: 'for IETF protocols', source: 'RFC 2928' },
  { cidr: '2001:db8::/32', name: 'for documentation', source: 'RFC 3849' },
  { cidr: '2002::/16', name: '6to4', source: 'RFC 3056', ipv4At: 2 },
  { cidr: '3fff::/20', name: 'for documentation', source: 'RFC 9637' },
  { cidr: '5f00::/16', name: 'for segment routing', source: 'RFC 9602' },
  { cidr: 'fc00::/7', name: 'unique local', source: 'RFC 4193' },
  { cidr: 'fe80::/10', name: 'link-local', source: 'RFC 4291' },
  { cidr: 'fec0::/10', name: 'site-local', source: 'RFC 3879' },
  { cidr: 'ff00::/8', name: 'multicast', source: 'RFC 4291' },
  // Global unicast addresses are assigned only from 2000::/3. These three ranges cover all other addresses.
  { cidr: '::/3', name: 'outside the assigned IPv6 space', source: 'RFC 4291' },
  { cidr: '4000::/2', name: 'outside the assigned IPv6 space', source: 'RFC 4291' },
  { cidr: '8000::/1', name: 'outside the assigned IPv6 space', source: 'RFC 4291' },
];

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address range in the form that ipaddr.js matches against: the address and the prefix length in bits. */
export type Range = [Address, number];

/** Whether the address is in the range. An IPv4 address is never in an IPv6 range, nor an IPv6 address in an IPv4 range. */
export function contains([range, bits]: Range, address: Address): boolean {
  return range.kind() === address.kind() && address.match(range, bits);
}

/** Parses one range, such as "10.0.0.0/8" or "::1/128". @throws {Error} that quotes the text when it is not a range. */
export function parseCidr(text: string): Range {
  checkCidr(text);
  return ipaddr.parseCIDR(text);
}

/** Guards against server-side request forgery. Checks that the URLs and hosts that customers name lead to public addresses only. */

/** The longest URL that can be stored, in characters. */
const MAX_URL_LENGTH = 2048;

/** The name of the checked thing in a refusal, and the rule that it breaks. */
const SUBJECTS = {
  endpoint: { name: 'The endpoint', rule: 'Webhooks go to public addresses only' },
  source: { name: 'The source', rule: 'Sources are read from public addresses only' },
};

export interface AddressGuard {
  /**
   * Checks the URL itself: its protocol, credentials and length, and its host if that is a literal address or `localhost`.
   * undici does not call `lookup` for a literal address, so this check must precede every request.
   * @returns null if the URL is allowed, otherwise one sentence for the owner of the webhook or source. The sentence contains no
   * input.
   */
  checkUrl(url: URL): string | null;
  /**
   * Checks a host without a URL, for another protocol, if it is a literal address or `localhost`. IPv6 comes without brackets. Node
   * does not call `lookup` for a literal address, so this check must precede every connection.
   */
  checkHost(host: string): string | null;
  /**
   * Does `checkUrl`, then resolves the name and checks its current addresses. At least one must be allowed. For creating or
   * changing a webhook or a source. Refuses a name that does not exist. Accepts the URL if DNS fails, because `lookup` checks it at
   * each connection.
   * @returns null or one sentence, as `checkUrl` does. The sentence names the kind of address, never the address,
   * so that nobody can read the operator's internal DNS through it.
   */
  checkEndpoint(url: URL): Promise<string | null>;
  /** Does `checkHost`, then resolves the name as `checkEndpoint` does. */
  resolveHost(host: string): Promise<string | null>;
  /**
   * For undici's `new Agent({ connect: { lookup } })` and Node's `connect({ lookup })`. Resolves once and returns only allowed
   * addresses. The connection uses the checked address, so a second DNS answer cannot replace it. A name with only refused
   * addresses fails with `RefusedAddressError`.
   */
  lookup: LookupFunction;
}

/** The name has no allowed address. The message names the kind of address, not the address. */
export class RefusedAddressError extends Error {
  override readonly name = 'RefusedAddressError';
  readonly code = 'EADDRREFUSED_BY_POLICY';
}

const RANGES = SPECIAL_RANGES.map((range) => ({ ...range, parsed: ipaddr.parseCIDR(range.cidr) }));

/**
 * Creates the guard.
 * @param options.allow CIDR ranges that are allowed although they are special (ALLOW_PRIVATE_ENDPOINTS). An IPv4 range
 * also allows the IPv6 forms that visibly carry one of its addresses (mapped, NAT64, 6to4 and the like).
 * @param options.subject the thing that refusals name.
 * @param options.onDnsAnswer called when a DNS server has answered.
 * @param options.resolve how names are resolved. Default: by the hosts file and DNS.
 * @throws {Error} when an item of `allow` is not a CIDR range. The message names the item.
 */
export function createAddressGuard({
  allow,
  subject = 'endpoint',
  onDnsAnswer,
  resolve = createResolver({ onAnswer: onDnsAnswer }),
}: {
  allow: readonly string[];
  subject?: keyof typeof SUBJECTS;
  onDnsAnswer?: () => void;
  resolve?: Resolve;
}): AddressGuard {
  const allowed = allow.map(parseCidr);
  const { name, rule } = SUBJECTS[subject];
  /** The end of every refusal of an address. Says what to do. */
  const remedy = `${rule}: use one, or have the operator add this range to ALLOW_PRIVATE_ENDPOINTS.`;

  function isAllowed(address: Address): boolean {
    return allowed.some((range) => contains(range, address));
  }

  /** Why the address is refused, as "loopback (127.0.0.0/8, RFC 1122)", or null. */
  function refusal(address: Address): string | null {
    if (isAllowed(address)) return null;
    const range = RANGES.find(({ parsed }) => contains(parsed, address));
    if (range === undefined) return null;
    if (range.ipv4At !== undefined) {
      const embedded = new ipaddr.IPv4(address.toByteArray().slice(range.ipv4At, range.ipv4At + 4));
      if (isAllowed(embedded)) return null;
      if (range.ipv4Decides) return refusal(embedded);
    }
    return `${range.name} (${range.cidr}, ${range.source})`;
  }

  function refusalOfText(text: string): string | null {
    // A zone selects a network interface of this machine. No public address has one.
    if (text.includes('%')) return 'bound to a network interface (RFC 4007)';
    if (isIP(text) === 0) return 'not an IP address';
    return refusal(ipaddr.parse(text));
  }

  function checkUrl(url: URL): string | null {
    if (url.protocol !== 'http:' && url.protocol !== 'https:') return `${name} must be an http or https URL.`;
    if (url.username !== '' || url.password !== '') {
      return `${name} must hold no user name and no password: send them in a custom header instead.`;
    }
    if (url.href.length > MAX_URL_LENGTH) {
      return `${name} must be no longer than ${MAX_URL_LENGTH} characters, written with percent-encoding.`;
    }
    return checkHost(hostOf(url));
  }

  function checkHost(text: string): string | null {
    const host = bareHost(text);
    if (host === '') return `${name} must name a host.`;
    if (isIP(host) !== 0) {
      const reason = refusalOfText(host);
      return reason === null ? null : `${name}'s address is ${reason}. ${remedy}`;
    }
    // These names mean loopback, whatever DNS says (RFC 6761, section 6.3).
    if (host === 'localhost' || host.endsWith('.localhost')) {
      const reason = refusalOfText('127.0.0.1');
      return reason === null || refusalOfText('::1') === null
        ? null
        : `${name}'s host is ${reason}. ${remedy}`;
    }
    return null;
  }

  function checkAddresses(addresses: readonly LookupAddress[]): { usable: LookupAddress[]; refusal: string } {
    const usable: LookupAddress[] = [];
    const reasons = new Set<string>();
    for (const address of addresses) {
      const reason = refusalOfText(address.address);
      if (reason === null) usable.push(address);
      else reasons.add(reason);
    }
    const kinds = reasons.size === 0 ? 'no address' : `an address that is ${[...reasons].join(' or ')}`;
    return { usable, refusal: `${name}'s host name leads to ${kinds}. ${remedy}` };
  }

  async function checkEndpoint(url: URL): Promise<string | null> {
    return checkUrl(url) ?? resolveHost(hostOf(url));
  }

  function resolveHost(host: string): Promise<string | null> {
    const refusal = checkHost(host);
    if (refusal !== null || isIP(bareHost(host)) !== 0) return Promise.resolve(refusal);
    return new Promise((answer) => {
      resolve(host, { all: true }, (error, addresses) => {
        if (error?.code === 'ENOTFOUND') {
          answer(
            `${name}'s host name does not exist in DNS: check its spelling, or create the record first.`,
          );
        } else if (error) {
          answer(null);
        } else {
          const checked = checkAddresses(addresses);
          answer(checked.usable.length > 0 ? null : checked.refusal);
        }
      });
    });
  }

  const lookup: LookupFunction = (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, []);
      const { usable, refusal } = checkAddresses(addresses);
      const [first] = usable;
      if (first === undefined) return callback(new RefusedAddressError(refusal), []);
      if (options.all) return callback(null, usable);
      callback(null, first.address, first.family);
    });
  };

  return { checkUrl, checkHost, checkEndpoint, resolveHost, lookup };
}

/** The host of a URL. IPv6 comes without brackets. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** In lower case, and without final dots, which do not change the addresses. */
const bareHost = (host: string): string => host.toLowerCase().replace(/(?<!\.)\.+$/, '');
