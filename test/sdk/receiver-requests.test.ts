import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runInNewContext } from 'node:vm';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createVerifier,
  type DeduplicationStore,
  memoryStore,
  type ReceivedRequest,
  toFetchHandler,
  toNodeHandler,
} from '../../packages/sdk/src/receiver/index.ts';
import { createTestReceiver, find, MOVEMENT, requestOf } from './test-receiver.ts';
import type { Vector } from './vectors.ts';

const PARSED = /^The body was parsed before the receiver has seen it\./;
const READ = 'The receiver got no body: something has read it before.';

const bytes = new TextEncoder().encode(MOVEMENT.body);
const buffer = bytes.slice().buffer;
const { headers } = MOVEMENT;
const mapHeaders = <To>(to: (value: string) => To) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, to(value)]));

describe('a request', () => {
  it.each<[string, ReceivedRequest]>([
    ['whose body is an ArrayBuffer', { headers, body: buffer }],
    ['whose body is a view in the middle of a buffer', { headers, body: Buffer.from(bytes) }],
    [
      'whose body is of another realm',
      { headers, body: runInNewContext('Uint8Array.from(bytes)', { bytes: [...bytes] }) as Uint8Array },
    ],
    [
      'whose body is a buffer of another realm',
      {
        headers,
        body: runInNewContext('Uint8Array.from(bytes).buffer', { bytes: [...bytes] }) as ArrayBuffer,
      },
    ],
    ['that has rawBody beside a parsed body', { headers, body: JSON.parse(MOVEMENT.body), rawBody: bytes }],
    ['that has rawBody as text', { headers, body: null, rawBody: MOVEMENT.body }],
    [
      'of AWS Lambda, in base64',
      { headers, body: Buffer.from(bytes).toString('base64'), isBase64Encoded: true },
    ],
    ['whose headers are arrays of one', { headers: mapHeaders((value) => [value]), body: bytes }],
    ['whose headers are a Map', { headers: new Map(Object.entries(headers)), body: bytes }],
  ])('%s is verified', async (_, request) => {
    const { receiver, logged, handled } = createTestReceiver();
    expect(await receiver.handle(request)).toEqual({ status: 204 });
    expect(handled).toEqual([headers['webhook-id']]);
    expect(logged).toEqual([]);
    const verify = createVerifier({ secrets: MOVEMENT.secrets, now: () => MOVEMENT.now });
    expect(await verify(request)).toMatchObject({ kind: 'movement', installation: null });
  });

  const verifyOf = (customer: Record<string, string>) =>
    createVerifier({ secrets: MOVEMENT.secrets, now: () => MOVEMENT.now })({
      headers: { ...headers, ...customer },
      body: bytes,
    });

  it.each<[Record<string, string>, unknown]>([
    [{}, null],
    [{ 'ledgerbell-customer': '17' }, { id: '17', externalId: null }],
    [
      { 'ledgerbell-customer': '17', 'ledgerbell-external-id': 'kunde%20%C3%BC%2F1' },
      { id: '17', externalId: 'kunde ü/1' },
    ],
    [{ 'ledgerbell-external-id': 'a' }, null],
  ])('with the headers %j is for the customer %j', async (sent, customer) => {
    expect(await verifyOf(sent)).toMatchObject({ customer });
  });

  it.each<Record<string, string>>([
    { 'ledgerbell-customer': '17; DROP' },
    { 'ledgerbell-customer': '0' },
    { 'ledgerbell-customer': '1', 'ledgerbell-external-id': '%E0%A4%A' },
    { 'ledgerbell-customer': '1', 'ledgerbell-external-id': '%' },
  ])('with the headers %j is refused', async (sent) => {
    await expect(verifyOf(sent)).rejects.toMatchObject({ reason: 'malformed-header' });
  });

  it.each<[string, unknown, unknown]>([
    ['whose body was parsed', { headers, body: JSON.parse(MOVEMENT.body) }, expect.stringMatching(PARSED)],
    ['without a body', { headers }, READ],
    [
      'whose body is a stream',
      { headers, body: new Response('a').body },
      expect.stringMatching(/got a stream/),
    ],
    ['without headers', { body: bytes }, expect.stringMatching(/got no headers/)],
    ['that is undefined', undefined, 'The request could not be verified.'],
  ])('%s is answered with 500 and the reason', async (_, request, message) => {
    const { receiver, logged, handled } = createTestReceiver();
    expect(await receiver.handle(request as ReceivedRequest)).toMatchObject({ status: 500 });
    expect(logged).toMatchObject([{ message }]);
    expect(handled).toEqual([]);
  });

  it.each([
    ['missing-header', undefined, 'The request is not signed: it has no webhook-signature.'],
    ['missing-header', [], 'The request is not signed: it has no webhook-signature.'],
    ['malformed-header', ['a', 'b'], 'The request has 2 headers webhook-signature.'],
  ])('is refused for a %s: %j', async (reason, value, message) => {
    const { receiver, logged } = createTestReceiver();
    const request = { headers: { ...headers, 'webhook-signature': value }, body: bytes };
    expect(await receiver.handle(request)).toMatchObject({ status: 401, body: message });
    expect(logged).toMatchObject([{ reason, message }]);
  });

  it('is still answered when log throws', async () => {
    const { receiver } = createTestReceiver({
      log() {
        throw new Error('The disk is full.');
      },
    });
    expect(await receiver.handle({ headers, body: null })).toMatchObject({ status: 500 });
  });
});

describe('toNodeHandler and toFetchHandler', () => {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  /** Posts a vector to a server of node:http, in parts that split characters. */
  async function post(
    listener: (request: IncomingMessage, response: ServerResponse) => unknown,
    vector: Vector = MOVEMENT,
  ): Promise<{ status: number | undefined; text: string }> {
    const server = createServer(listener);
    stops.push(() => server.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = sendRequest({
      port,
      host: '127.0.0.1',
      method: 'POST',
      headers: vector.headers,
      agent: false,
    });
    const responded = once(client, 'response');
    const body = Buffer.from(vector.body);
    for (let at = 0; at < body.length; at += 50) {
      client.write(body.subarray(at, at + 50));
      await new Promise((resolve) => setImmediate(resolve));
    }
    client.end();
    const [response] = (await responded) as [IncomingMessage];
    response.setEncoding('utf8');
    const parts = await response.toArray();
    return { status: response.statusCode, text: parts.join('') };
  }
  const express = async () => (await import('express' as string)).default;

  it.each(['utf8', 'utf-8', 'latin1', 'hex', 'base64', 'utf16le'] as const)(
    'restore the bytes after setEncoding(%j)',
    async (encoding) => {
      const { receiver, handled } = createTestReceiver();
      const handle = toNodeHandler(receiver);
      const { status } = await post((request, response) => {
        request.setEncoding(encoding);
        return handle(request, response);
      });
      expect(status).toBe(204);
      expect(handled).toHaveLength(1);
    },
  );

  it('answer 500 and the reason when something has read a part of the body', async () => {
    const { receiver, logged } = createTestReceiver();
    const handle = toNodeHandler(receiver);
    const { status, text } = await post(async (request, response) => {
      await once(request, 'data');
      request.pause();
      await handle(request, response);
    });
    expect(status).toBe(500);
    expect(text).toBe(READ);
    expect(logged).toMatchObject([{ message: READ, id: headers['webhook-id'] }]);
  });

  it('verify rawBody, which Firebase and Google Cloud Functions set', async () => {
    const { receiver, handled } = createTestReceiver();
    const app = (await express())();
    const keep = (request: { rawBody: Buffer }, _response: unknown, raw: Buffer) => {
      request.rawBody = raw;
    };
    app.use((await express()).json({ verify: keep }));
    app.post('/', toNodeHandler(receiver));
    expect(await post(app)).toMatchObject({ status: 204 });
    expect(handled).toHaveLength(1);
  });

  it('answer 500 and the reason when express.json has parsed the body', async () => {
    const { receiver, logged } = createTestReceiver();
    const app = (await express())();
    app.use((await express()).json());
    app.post('/', toNodeHandler(receiver));
    const { status, text } = await post(app);
    expect(status).toBe(500);
    expect(text).toMatch(PARSED);
    expect(logged).toMatchObject([{ message: text }]);
  });

  it('answer 500 and the reason when the body of a web request was read or is locked', async () => {
    const { receiver, logged } = createTestReceiver();
    const handle = toFetchHandler(receiver);
    for (const use of [(it: Request) => it.text(), (it: Request) => it.body?.getReader()]) {
      const request = new Request('http://127.0.0.1/', { method: 'POST', ...requestOf(MOVEMENT) });
      await use(request);
      const response = await handle(request);
      expect(response.status).toBe(500);
      expect(await response.text()).toBe(READ);
    }
    expect(logged).toMatchObject([{ message: READ }, { message: READ }]);
  });

  it('accept chunks of text, and answer 400 when the body of a web request breaks off', async () => {
    const { receiver, handled } = createTestReceiver();
    const handle = toFetchHandler(receiver);
    const send = (pull: (controller: ReadableStreamDefaultController) => void) =>
      handle({
        method: 'POST',
        headers: new Headers(headers),
        body: new ReadableStream({ pull }),
      } as Request);
    const whole = await send((controller) => {
      controller.enqueue(MOVEMENT.body);
      controller.close();
    });
    expect(whole.status).toBe(204);
    expect(handled).toHaveLength(1);
    expect((await send((controller) => controller.error(new Error('reset')))).status).toBe(400);
  });
});

describe('a handler', () => {
  it.each(['a movement', 'a test notification of a movement'])(
    'of %s that never ends is answered with 500',
    async (name) => {
      const forever = () => new Promise<void>(() => {});
      const { receiver, logged } = createTestReceiver({
        handlerSeconds: 0.1,
        onMovement: forever,
        onTest: forever,
      });
      expect(await receiver.handle(requestOf(find('events', name)))).toEqual({ status: 500 });
      expect(logged).toMatchObject([{ message: 'The handler has not returned within 0.1 s.' }]);
    },
  );

  it('that never ends keeps its claim until the lease ends', async () => {
    let calls = 0;
    const { receiver } = createTestReceiver({
      store: memoryStore({ leaseSeconds: 3 }),
      handlerSeconds: 0.1,
      onMovement: () => {
        calls += 1;
        return calls === 1 ? new Promise<void>(() => {}) : undefined;
      },
    });
    const statusOf = async () => (await receiver.handle(requestOf(MOVEMENT))).status;
    expect(await statusOf()).toBe(500);
    expect(await statusOf()).toBe(409);
    expect(calls).toBe(1);
    await expect.poll(statusOf, { timeout: 30_000 }).toBe(204);
    expect(calls).toBe(2);
  });

  it.each([
    ['returns', (): void => {}, 204, 1],
    [
      'throws',
      (): void => {
        throw new Error('no');
      },
      500,
      2,
    ],
  ])('that is slow and then %s gives its claim back at its end', async (_, end, status, total) => {
    let calls = 0;
    let finish = (): void => {};
    const { receiver } = createTestReceiver({
      handlerSeconds: 0.1,
      onMovement: async () => {
        calls += 1;
        if (calls === 1) await new Promise<void>((resolve) => (finish = resolve));
        end();
      },
    });
    const statusOf = async () => (await receiver.handle(requestOf(MOVEMENT))).status;
    expect(await statusOf()).toBe(500);
    expect(await statusOf()).toBe(409);
    finish();
    await expect.poll(statusOf, { timeout: 30_000 }).toBe(status);
    expect(calls).toBe(total);
  });

  it('has a time above 0', () => {
    for (const handlerSeconds of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => createTestReceiver({ handlerSeconds })).toThrow(/^handlerSeconds is above 0/);
  });

  it('is not called when the store returns nothing', async () => {
    const store = { claim: async () => undefined } as unknown as DeduplicationStore;
    const { receiver, handled, logged } = createTestReceiver({ store });
    expect(await receiver.handle(requestOf(MOVEMENT))).toEqual({ status: 500 });
    expect(handled).toEqual([]);
    expect(logged).toMatchObject([{ message: expect.stringMatching(/^The store returned no claim/) }]);
  });
});

describe('installations', () => {
  const OTHER = `whsec_${Buffer.alloc(24, 'o').toString('base64')}`;
  const THIRD = `whsec_${Buffer.alloc(24, 't').toString('base64')}`;
  /** The same movement with the same id, as another installation signs it. */
  const signedWith = (secret: string): ReceivedRequest => {
    const [id = '', time = 0] = [headers['webhook-id'], Number(headers['webhook-timestamp'])];
    const signature = new Webhook(secret).sign(id, new Date(time * 1_000), MOVEMENT.body);
    return { headers: { ...headers, 'webhook-signature': signature }, body: bytes };
  };

  it.each([
    ['one after the other', 0],
    ['at the same time', 50],
  ])('may send the same id %s: each notification is processed once', async (_, wait) => {
    const seen: (string | null)[] = [];
    const { receiver } = createTestReceiver({
      installations: { shop: { secret: OTHER }, 'erp-2': { secrets: [THIRD] } },
      onMovement: async ({ installation }) => {
        await new Promise((resolve) => setTimeout(resolve, wait));
        seen.push(installation);
      },
    });
    const requests = [requestOf(MOVEMENT), signedWith(OTHER), signedWith(THIRD)];
    const answers = [];
    for (const request of [...requests, ...requests]) {
      const answer = receiver.handle(request);
      if (wait === 0) await answer;
      answers.push(answer);
    }
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(6).fill(204));
    expect(seen.toSorted()).toEqual(['erp-2', null, 'shop'].toSorted());
  });

  it('have keys of their own in the store, which a rotation does not change', async () => {
    const keys: string[] = [];
    const store = memoryStore();
    const claim = (key: string) => {
      keys.push(key);
      return store.claim(key);
    };
    const { receiver } = createTestReceiver({
      store: { claim },
      installations: { shop: { secrets: [OTHER, THIRD] } },
    });
    for (const request of [requestOf(MOVEMENT), signedWith(OTHER), signedWith(THIRD)])
      expect(await receiver.handle(request)).toEqual({ status: 204 });
    const id = headers['webhook-id'];
    expect(keys).toEqual([id, `shop:${id}`, `shop:${id}`]);
  });

  it('may have secret and secrets: each of them is tried', async () => {
    const [secret = ''] = MOVEMENT.secrets;
    const requests = [requestOf(MOVEMENT), signedWith(OTHER), signedWith(THIRD)];
    for (const installation of [
      { secret, secrets: [OTHER, THIRD] },
      { secret: THIRD, secrets: [secret, OTHER, OTHER] },
      { secrets: [OTHER, THIRD, secret] },
    ]) {
      const { receiver: first } = createTestReceiver({ ...{ secrets: [] }, ...installation });
      const { receiver: named } = createTestReceiver({
        secrets: undefined as never,
        installations: { shop: installation },
      });
      for (const receiver of [first, named])
        for (const request of requests) expect(await receiver.handle(request)).toEqual({ status: 204 });
    }
    expect(() => createVerifier({ secret, secrets: [OTHER, 'whsec_short'] })).toThrow(
      /^secrets\[1\] is not "whsec_"/,
    );
    const both = { secret, installations: { shop: { secret: OTHER, secrets: [secret] } } };
    expect(() => createVerifier(both)).toThrow(/^Two installations have the same webhook secret/);
  });

  it('have API secrets of their own', async () => {
    const verify = createVerifier({
      installations: { shop: { secrets: MOVEMENT.secrets, apiSecret: 'another' }, erp: { secret: OTHER } },
      now: () => MOVEMENT.now,
    });
    await expect(verify(requestOf(MOVEMENT))).rejects.toMatchObject({ reason: 'wrong-hash' });
    expect(await verify(signedWith(OTHER))).toMatchObject({ installation: 'erp' });
    await expect(verify(signedWith(THIRD))).rejects.toMatchObject({ reason: 'wrong-signature' });
  });

  it.each([
    [{ a: {} }, 'A receiver needs the secret of a webhook: secret or secrets of the installation "a".'],
    [{ a: { secret: OTHER.slice(6) } }, /^secret of the installation "a" is not "whsec_" followed by base64/],
    [
      { a: { secret: OTHER }, b: { secrets: [THIRD, OTHER] } },
      /^Two installations have the same webhook secret/,
    ],
    [{ 'a:b': { secret: OTHER } }, /^The installation "a:b" needs a name of 1 to 32 letters/],
    [{}, /^A receiver needs the secret of a webhook: secret or secrets\.$/],
  ])('are checked: %j', (installations, message) => {
    expect(() => createVerifier({ installations })).toThrow(message);
    try {
      createVerifier({ installations });
    } catch (error) {
      expect(String(error)).not.toContain(OTHER.slice(6));
    }
  });
});
