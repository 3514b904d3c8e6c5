import { BlockList, isIP } from 'node:net';

/** Checks addresses in the configuration without ipaddr.js, which would delay every command. */

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether a listener on this host can be reached from this machine only. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && LOOPBACK.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4'));

/**
 * Checks one range, such as "10.0.0.0/8" or "::1/128". Stricter than ipaddr.js, which reads "10/8" as 0.0.0.10/8 and
 * "010.0.0.0/8" as 8.0.0.0/8.
 * @throws {Error} that quotes the text when it is not a range.
 */
export function checkCidr(text: string): void {
  const [, address = '', bits = ''] = /^([^/%]+)\/(\d{1,3})$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0 || Number(bits) > (version === 6 ? 128 : 32)) {
    throw new Error(
      `must be address ranges such as 10.0.0.0/8 or ::1/128, separated by commas; "${text}" is not a range`,
    );
  }
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
  for (const item of items) checkCidr(item);
  return items;
}
