import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createPoster } from '../../../src/delivery/posting/post.ts';
import { createAddressGuard } from '../../../src/platform/address-guard.ts';
import { useResolvers } from './test-resolver.ts';

const { dns, resolver } = await useResolvers();

/** Names whose DNS server never answers. */
function silentNames(count: number): string[] {
  const names = Array.from({ length: count }, (_, index) => `silent${index}.example`);
  for (const name of names) dns.zones.set(name, 'silence');
  return names;
}

describe('a name that DNS never answers', () => {
  it('does not delay a name that DNS answers', async () => {
    dns.zones.set('bank.example', { a: ['192.0.2.1'] });
    const { find } = resolver();
    let ended = 0;
    const silent = silentNames(50).map((name) =>
      find(name).finally(() => {
        ended += 1;
      }),
    );
    const outcomes = Promise.allSettled(silent);
    expect(await find('bank.example')).toEqual(['192.0.2.1 (4)']);
    expect(ended).toBe(0);
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'EAI_AGAIN' } });
    }
  });

  it('fails as a DNS failure after the timeout, and is asked again after 2 s', async () => {
    const [name = ''] = silentNames(1);
    const { find, clock } = resolver({ timeout: 100 });
    const failure = { code: 'EAI_AGAIN', message: expect.stringContaining('ETIMEOUT') };
    await expect(find(name)).rejects.toMatchObject(failure);
    await expect(find(name)).rejects.toMatchObject(failure);
    expect(dns.asked).toHaveLength(2);
    dns.zones.set(name, { a: ['192.0.2.1'] });
    clock.ms += 2_000;
    expect(await find(name)).toEqual(['192.0.2.1 (4)']);
  });

  it('delays only the POSTs to itself', async () => {
    const server = createServer((_request, response) => response.end('stored')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    dns.zones.set('bank.example', { a: ['127.0.0.1'] });
    dns.zones.set('internal.example', { a: ['10.0.0.5'] });
    const guard = createAddressGuard({ allow: ['127.0.0.0/8'], resolve: resolver().resolve });
    const poster = createPoster({ guard });
    const post = (name: string) =>
      poster.post({ origin: `http://${name}:${port}`, path: '/', headers: {}, body: '{}' });
    try {
      let ended = 0;
      const silent = silentNames(50).map(async (name) => {
        const answer = await post(name);
        ended += 1;
        return answer;
      });
      expect(await post('bank.example')).toMatchObject({ status: 200, body: 'stored', error: null });
      expect(await post('bank.example.')).toMatchObject({ status: 200, error: null });
      expect(await post('internal.example')).toMatchObject({ status: null, refused: true });
      expect(ended).toBe(0);
      for (const answer of await Promise.all(silent)) {
        expect(answer).toMatchObject({ status: null, refused: false });
        expect(answer.error).toMatch(/^EAI_AGAIN: .*ETIMEOUT/);
      }
    } finally {
      await poster.close();
      server.close();
    }
  });
});
