import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { DNS_FAILED } from '../dns-watch.ts';

/** Asks DNS for the addresses of one name. */

const SECOND = 1_000;

/** Milliseconds that each DNS server gets for the first try. c-ares doubles them for each further round. */
const FIRST_TRY = 1 * SECOND;
const TRIES = 3;

/** With a TTL of 0, every connection would ask DNS. A very long TTL would keep a mistake for days. */
const MIN_TTL = 1 * SECOND;
const MAX_TTL = 300 * SECOND;
/** Node does not report the TTL of a negative answer. Shorter than the first opening of a circuit, which lasts at least 4 s. */
const FAILURE_TTL = 2 * SECOND;

/** The owner of a name decides how many addresses it has. An answer over TCP has room for thousands. */
const MAX_ADDRESSES_PER_FAMILY = 16;

/** Errors of c-ares that mean "there is no such address" and not "DNS failed". */
const NO_ADDRESS = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

export interface DnsAnswer {
  addresses: LookupAddress[];
  /** Null if and only if there are addresses. Otherwise `ENOTFOUND` (no A and no AAAA) or `EAI_AGAIN` (DNS failed). */
  error: NodeJS.ErrnoException | null;
  /** Milliseconds for which this answer may be used. */
  ttl: number;
}

export interface DnsQueryOptions {
  /** Addresses of DNS servers, each with an optional port; undefined: the servers in /etc/resolv.conf. */
  servers: readonly string[] | undefined;
  /** Milliseconds after which an unanswered query fails. */
  timeout: number;
}

/**
 * Asks for A and AAAA together. If one fails, the other is the answer. Never rejects; a failure is in `error`.
 *
 * Each query has its own c-ares channel, which takes about 30 µs. So it can be cancelled alone, follows changes of /etc/resolv.conf
 * and has its own source port (RFC 5452). Quick answers for other names do not shorten its timeout.
 */
export async function queryDns(name: string, { servers, timeout }: DnsQueryOptions): Promise<DnsAnswer> {
  const resolver = new Resolver({ timeout: FIRST_TRY, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  const deadline = setTimeout(() => resolver.cancel(), timeout);
  const results = await Promise.allSettled([
    resolver.resolve4(name, { ttl: true }),
    resolver.resolve6(name, { ttl: true }),
  ]);
  clearTimeout(deadline);

  const records = results.flatMap((result) =>
    result.status === 'fulfilled' ? result.value.slice(0, MAX_ADDRESSES_PER_FAMILY) : [],
  );
  if (records.length > 0) {
    const ttl = Math.min(...records.map((record) => record.ttl)) * SECOND;
    return {
      addresses: records.map(({ address }) => ({ address, family: isIP(address) })),
      error: null,
      ttl: Math.min(Math.max(ttl, MIN_TTL), MAX_TTL),
    };
  }
  const failure = results
    .map((result) => (result.status === 'rejected' ? codeOf(result.reason) : 'ENODATA'))
    .find((code) => !NO_ADDRESS.has(code));
  const error = failure === undefined ? noAddress(name) : dnsFailure(name, failure);
  return { addresses: [], error, ttl: FAILURE_TTL };
}

/** The error for a name without addresses, with the code that `dns.lookup` uses. */
export function noAddress(name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${name} has no address in DNS`), { code: 'ENOTFOUND' });
}

function dnsFailure(name: string, code: string): NodeJS.ErrnoException {
  const reason = code === 'ECANCELLED' ? 'ETIMEOUT' : code; // Only the deadline cancels.
  return Object.assign(new Error(`DNS gave no answer for ${name} (${reason})`), { code: DNS_FAILED });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
