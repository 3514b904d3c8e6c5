import type { LookupAddress } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';

/** Finds the addresses that the hosts file lists for a normalized name; undefined when it lists none. */
export type HostsFile = (name: string) => LookupAddress[] | undefined;

/** Reads a hosts file (hosts(5)), and again whenever it has changed. A file that cannot be read lists no names. */
export function createHostsFile(path: string): HostsFile {
  let hosts = new Map<string, LookupAddress[]>();
  let version = '';
  return (name) => {
    try {
      // Takes a few µs, and only before a new connection. The asynchronous call would wait for libuv's thread pool.
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
export function normalizeName(name: string): string {
  return name.toLowerCase().replace(/\.+$/, '');
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
