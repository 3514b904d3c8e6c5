import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An address range, as ipaddr.js matches against it: the address, and how many of its first bits count. */
export type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Reads one range: "10.0.0.0/8" or "::1/128". Stricter than ipaddr.js, which reads "10/8" as 0.0.0.10/8 and
 * "010.0.0.0/8" as 8.0.0.0/8.
 * @throws {Error} that names what is no range.
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
 * Splits a comma-separated list of ranges, each of them checked. Blank text is the empty list.
 * @throws {Error} that names the first item that is no range.
 */
export function parseCidrs(text: string): string[] {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  for (const item of items) parseCidr(item);
  return items;
}
