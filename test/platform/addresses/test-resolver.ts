import type { LookupAddress, LookupAllOptions } from 'node:dns';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach } from 'vitest';
import {
  createResolver,
  type Resolve,
  type ResolverOptions,
} from '../../../src/platform/addresses/resolver.ts';
import { useNameServer } from '../../support/name-server.ts';

/** A DNS server of the test file's own, and resolvers that ask it. Call it at the top of the file. */
export async function useResolvers() {
  const dns = useNameServer();
  const folder = await mkdtemp(join(tmpdir(), 'ledgerbell-resolver-'));
  afterAll(() => rm(folder, { recursive: true }));
  beforeEach(() => {
    dns.zones.clear();
    dns.asked.length = 0;
  });

  /** A resolver that asks the DNS server, on a clock that moves only when the test moves it. */
  function resolver(options: ResolverOptions = {}) {
    const clock = { ms: 1_000 };
    const resolve = createResolver({
      servers: [dns.address],
      hostsFile: join(folder, 'no such file'),
      now: () => clock.ms,
      ...options,
    });
    return { resolve, clock, find: (name: string, family = 0) => find(resolve, name, { all: true, family }) };
  }
  return { dns, folder, resolver };
}

export function find(resolve: Resolve, name: string, options: LookupAllOptions): Promise<string[]> {
  return new Promise((done, fail) => {
    resolve(name, options, (error, addresses: LookupAddress[]) => {
      if (error) fail(error);
      else done(addresses.map(({ address, family }) => `${address} (${family})`));
    });
  });
}
