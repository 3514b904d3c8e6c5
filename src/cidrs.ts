import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address range in the form that ipaddr.js matches against: the address and the prefix length in bits. */
export type Range = [Address, number];

/** Whether a listener on this host can be reached from this machine only. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && ipaddr.process(host).range() === 'loopback');

/** Whether the address is in the range. An IPv4 address is in no IPv6 range, and the other way round. */
export function contains([range, bits]: Range, address: Address): boolean {
  return range.kind() === address.kind() && address.match(range, bits);
}

/**
 * Parses one range, such as "10.0.0.0/8" or "::1/128". Stricter than ipaddr.js, which reads "10/8" as 0.0.0.10/8 and
 * "010.0.0.0/8" as 8.0.0.0/8.
 * @throws {Error} that quotes the text when it is not a range.
 */
export function parseCidr(text: string): Range {
  const [address = '', bits = ''] = text.split('/');
  if (isIP(address) === 0 || address.includes('%') || !/^\d{1,3}$/.test(bits) || !ipaddr.isValidCIDR(text)) {
    throw new Error(
      `must be address ranges such as 10.0.0.0/8 or ::1/128, separated by commas; "${text}" is none`,
    );
  }
  return ipaddr.parseCIDR(text);
}

/**
 * Splits a comma-separated list of ranges and checks each one. Blank text is an empty list.
 * @throws {Error} that quotes the first item that is not a range.
 */
export function parseCidrs(text: string): string[] {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  for (const item of items) parseCidr(item);
  return items;
}
