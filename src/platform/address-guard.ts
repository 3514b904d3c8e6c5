import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Address, contains, parseCidr, SPECIAL_RANGES } from './address-ranges.ts';
import { createResolver, type Resolve } from './addresses/resolver.ts';

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
