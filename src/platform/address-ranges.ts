import ipaddr from 'ipaddr.js';
import { checkCidr } from './config/variables.ts';

/** The special ranges of addresses, and whether an address lies in a range. */

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
