import { createHook } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { createAddressGuard, RefusedAddressError } from '../../../src/platform/address-guard.ts';
import type { Resolve } from '../../../src/platform/addresses/resolver.ts';
import { reservePort } from '../../support/reserved-port.ts';
import { answering, failing, lookUp } from './fixed-answers.ts';

const strict = createAddressGuard({ allow: [] });

describe('the address lookup of a connection', () => {
  it('returns the answer that it checked, and checks again at the next lookup', async () => {
    const { resolve, asked } = answering(['93.184.216.34'], ['127.0.0.1']);
    const guard = createAddressGuard({ allow: [], resolve });
    expect(await lookUp(guard, false)).toEqual(['93.184.216.34', 4]);
    expect(asked).toHaveLength(1);
    await expect(lookUp(guard, false)).rejects.toBeInstanceOf(RefusedAddressError);
    await expect(lookUp(guard, true)).rejects.toMatchObject({ code: 'EADDRREFUSED_BY_POLICY' });
  });

  it('passes an error of the resolver on unchanged', async () => {
    const guard = createAddressGuard({ allow: [], resolve: failing('EAI_AGAIN') });
    await expect(lookUp(guard, true)).rejects.toMatchObject({ code: 'EAI_AGAIN' });
  });

  it('checks the answers of the hosts file and DNS when no resolver is given', async () => {
    const found = new Promise((done, fail) => {
      strict.lookup('localhost', { all: true }, (error, addresses) =>
        error ? fail(error) : done(addresses),
      );
    });
    await expect(found).rejects.toThrow('loopback');
  });
});

describe('the default resolver of an address guard', () => {
  it('does not use getaddrinfo, whose two threads all lookups of the process would share', async () => {
    const resources: string[] = [];
    const hook = createHook({ init: (_id, type) => void resources.push(type) }).enable();
    try {
      // It does not matter whether this machine has a DNS server, or what it answers.
      await strict.checkEndpoint(new URL('https://hooks.invalid/'));
    } finally {
      hook.disable();
    }
    expect(resources).toContain('QUERYWRAP');
    expect(resources).not.toContain('GETADDRINFOREQWRAP');
  });
});

describe('a request through undici', () => {
  const servers: Server[] = [];
  const agents: Agent[] = [];

  afterEach(async () => {
    await Promise.all(agents.splice(0).map((agent) => agent.destroy()));
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  async function listen(host: string, port: number, answer: string): Promise<number> {
    const server = createServer((_request, response) => response.end(answer)).listen(port, host);
    servers.push(server);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  function post(allow: string[], resolve: Resolve) {
    const agent = new Agent({ connect: { lookup: createAddressGuard({ allow, resolve }).lookup } });
    agents.push(agent);
    return async (port: number) => {
      const { body } = await request(`http://bank.example:${port}/`, {
        method: 'POST',
        dispatcher: agent,
        reset: true,
      });
      return body.text();
    };
  }

  it('reaches a private address only when the operator allows it', async () => {
    const port = await listen('127.0.0.1', 0, 'answered');
    const { resolve } = answering(['127.0.0.1']);
    await expect(post([], resolve)(port)).rejects.toMatchObject({ code: 'EADDRREFUSED_BY_POLICY' });
    expect(await post(['127.0.0.0/8'], resolve)(port)).toBe('answered');
  });

  it('reaches the checked address, and is refused after DNS has changed its answer to another private address', async () => {
    const port = await reservePort();
    await listen('127.0.0.1', port, 'the checked one');
    await listen('127.0.0.2', port, 'the rebound one');
    const send = post(['127.0.0.1/32'], answering(['127.0.0.1'], ['127.0.0.2']).resolve);
    expect(await send(port)).toBe('the checked one');
    await expect(send(port)).rejects.toBeInstanceOf(RefusedAddressError);
  });
});
