import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { isIP } from 'node:net';
import { type DnsAnswer, type DnsQueryOptions, noAddress, queryDns } from './dns-query.ts';
import { createHostsFile, normalizeName } from './hosts-file.ts';

/** Resolves names to addresses without libuv's thread pool. */

/** Less than the 5 s that connecting may take (post.ts), so that the attempt log names DNS and not the connection. Milliseconds. */
const TIMEOUT = 4_000;

/** Customers choose the names, so the cache is bounded. */
const MAX_NAMES = 10_000;

/** What `localhost` names always resolve to (RFC 6761, section 6.3). */
const LOOPBACK: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * Resolves a name to all its addresses. `dns.lookup` has this type.
 * The error has the code `ENOTFOUND` when the name has no address, and another one when DNS failed.
 */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface ResolverOptions extends Partial<DnsQueryOptions> {
  /** Read again whenever it changes. */
  hostsFile?: string;
  /** How many names are cached. */
  maxNames?: number;
  /** A clock that never goes back, in milliseconds. */
  now?: () => number;
}

/**
 * Creates a replacement for `dns.lookup`, which has two threads for all names: two names whose DNS servers do not answer would
 * delay every new connection of the process.
 *
 * Looks in the hosts file, then asks DNS for A and AAAA together. An answer is cached for its TTL (1 s to 5 min), a failure
 * for 2 s. Simultaneous lookups of one name share one query. IPv4 addresses come first. The search domains of
 * /etc/resolv.conf are not applied.
 *
 * Errors: `ENOTFOUND` when the name has neither A nor AAAA; `EAI_AGAIN` when DNS failed or did not answer within `timeout`.
 */
export function createResolver({
  servers,
  hostsFile = '/etc/hosts',
  timeout = TIMEOUT,
  maxNames = MAX_NAMES,
  now = () => performance.now(),
}: ResolverOptions = {}): Resolve {
  const hosts = createHostsFile(hostsFile);
  const cache = new Map<string, { answer: Promise<DnsAnswer>; expires: number }>();

  function queryOnce(name: string): Promise<DnsAnswer> {
    const known = cache.get(name);
    if (known !== undefined && known.expires > now()) return known.answer;
    const answer = queryDns(name, { servers, timeout });
    const entry = { answer, expires: Number.POSITIVE_INFINITY };
    void answer.then(({ ttl }) => {
      entry.expires = now() + ttl;
    });
    cache.delete(name); // Setting it again makes it the newest: a Map keeps the order of insertion.
    cache.set(name, entry);
    const [oldest = name] = cache.keys();
    if (cache.size > maxNames) cache.delete(oldest);
    return answer;
  }

  async function find(name: string): Promise<Omit<DnsAnswer, 'ttl'>> {
    const family = isIP(name);
    if (family !== 0) return { addresses: [{ address: name, family }], error: null };
    const listed = hosts(name);
    if (listed !== undefined) return { addresses: listed, error: null };
    if (name === 'localhost' || name.endsWith('.localhost')) return { addresses: LOOPBACK, error: null };
    return queryOnce(name);
  }

  return (hostname, options, callback) => {
    const name = normalizeName(hostname);
    const only = Number(String(options.family ?? 0).replace('IPv', ''));
    void find(name).then(({ addresses, error }) => {
      const wanted = addresses.filter(({ family }) => only === 0 || family === only);
      callback(wanted.length > 0 ? null : (error ?? noAddress(name)), wanted);
    });
  };
}
