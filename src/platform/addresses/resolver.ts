import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { LRUCache } from 'lru-cache';
import { DNS_FAILED } from '../dns-watch.ts';
import { type DnsAnswer, type DnsQueryOptions, noAddress, queryDns } from './query-dns.ts';

/** Resolves names to addresses without libuv's thread pool. */

/**
 * Milliseconds. Less than the 5 s that connecting may take (post.ts), so that the attempt log blames DNS and not the connection.
 */
const TIMEOUT = 4_000;

/** Customers choose the names, so the cache is bounded. */
const MAX_NAMES = 10_000;

/** The addresses of `localhost` names, always (RFC 6761, section 6.3). */
const LOOPBACK: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * Resolves a name to all its addresses. `dns.lookup` has this type. The error has the code `ENOTFOUND` if the name has no address,
 * and another code if DNS failed.
 */
export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface ResolverOptions extends Partial<DnsQueryOptions> {
  /** The path of the hosts file, which is read again whenever it changes. */
  hostsFile?: string;
  /** How many names are cached. */
  maxNames?: number;
  /** A clock that never goes back, in milliseconds. */
  now?: () => number;
  /** Called when a DNS server has answered, be it that a name does not exist. */
  onAnswer?: (() => void) | undefined;
}

/**
 * Creates a replacement for `dns.lookup`. That function has two threads for all names, so two names whose DNS servers do not answer
 * would delay every new connection of the process.
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
  onAnswer = () => {},
}: ResolverOptions = {}): Resolve {
  const hosts = createHostsFile(hostsFile);
  const cache = new LRUCache<string, { answer: Promise<DnsAnswer>; expires: number }>({ max: maxNames });

  function queryOnce(name: string): Promise<DnsAnswer> {
    const known = cache.get(name);
    if (known !== undefined && known.expires > now()) return known.answer;
    const answer = queryDns(name, { servers, timeout });
    const entry = { answer, expires: Number.POSITIVE_INFINITY };
    void answer.then(({ ttl, error }) => {
      entry.expires = now() + ttl;
      if (error?.code !== DNS_FAILED) onAnswer();
    });
    cache.set(name, entry);
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

/** Finds the addresses that the hosts file lists for a normalized name; undefined when it lists none. */
type HostsFile = (name: string) => LookupAddress[] | undefined;

/** Reads a hosts file (hosts(5)), and reads it again whenever it has changed. An unreadable file lists no names. */
function createHostsFile(path: string): HostsFile {
  let hosts = new Map<string, LookupAddress[]>();
  let version = '';
  return (name) => {
    try {
      // Synchronous, because the asynchronous call would wait for libuv's thread pool. This takes a few µs, only before a new
      // connection.
      const { ino, size, ctimeMs } = statSync(path);
      if (version !== `${ino} ${size} ${ctimeMs}`) {
        hosts = parseHosts(readFileSync(path, 'utf8'));
        version = `${ino} ${size} ${ctimeMs}`;
      }
    } catch {
      hosts = new Map();
      version = '';
    }
    return hosts.get(name);
  };
}

/** In lower case and without the final dot, which only says that the name is complete. */
function normalizeName(name: string): string {
  return name.toLowerCase().replace(/(?<!\.)\.+$/, '');
}

function parseHosts(text: string): Map<string, LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names.map(normalizeName)) {
      const addresses = hosts.get(name) ?? [];
      addresses.push({ address, family });
      hosts.set(name, addresses);
    }
  }
  return hosts;
}
