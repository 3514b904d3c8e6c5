import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';

const SECOND = 1_000;

/** How long each DNS server has for its first try; c-ares doubles it for each further round. */
const FIRST_TRY = 1 * SECOND;
const TRIES = 3;

/** A TTL of 0 would ask DNS before every connection; a very long one would keep a mistake for days. */
const MIN_TTL = 1 * SECOND;
const MAX_TTL = 300 * SECOND;
/** Node does not tell the TTL of a negative answer. Shorter than the first pause of an endpoint, 4 s at the least. */
const FAILURE_TTL = 2 * SECOND;

/** An answer over TCP has room for thousands, and whoever owns the name decides. */
const MAX_ADDRESSES_PER_FAMILY = 16;

/** Errors of c-ares that mean "there is no such address", not "DNS failed". */
const NO_ADDRESS = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

export interface DnsAnswer {
  addresses: LookupAddress[];
  /** Null exactly when there are addresses; else `ENOTFOUND` (no A and no AAAA), or `EAI_AGAIN` (DNS failed). */
  error: NodeJS.ErrnoException | null;
  /** How long this may be used, in milliseconds. */
  ttl: number;
}

export interface DnsQueryOptions {
  /** DNS servers, each an address with an optional port; undefined: those of /etc/resolv.conf. */
  servers: readonly string[] | undefined;
  /** Milliseconds until what has not been answered fails. */
  timeout: number;
}

/**
 * Asks DNS for A and AAAA together. If one of them fails, the other one is the answer. Failures are answers too.
 *
 * Each query has a c-ares channel of its own, about 30 µs: it can be cancelled alone, follows changes of /etc/resolv.conf,
 * has a source port of its own (RFC 5452), and takes no shorter timeout from how quickly other names were answered.
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

/** What `dns.lookup` says of a name without addresses. */
export function noAddress(name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${name} has no address in DNS`), { code: 'ENOTFOUND' });
}

function dnsFailure(name: string, code: string): NodeJS.ErrnoException {
  const reason = code === 'ECANCELLED' ? 'ETIMEOUT' : code; // Only the deadline cancels.
  return Object.assign(new Error(`DNS gave no answer for ${name} (${reason})`), { code: 'EAI_AGAIN' });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
