import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type Answer,
  type BatchEvent,
  createReceiver,
  createVerifier,
  type DeduplicationStore,
  type HandlerResult,
  memoryStore,
  type Notification,
  type ReceiverOptions,
  toFetchHandler,
  toNodeHandler,
} from '../../packages/sdk/src/receiver/index.ts';
import { buildBody } from '../../src/delivery/posting/body.ts';
import type { BatchVector } from './batch-vectors.ts';
import {
  batchOf,
  createTestReceiver,
  failedIn,
  find,
  idOf,
  idsOf,
  MOVEMENT,
  requestOf,
  signed,
} from './test-receiver.ts';
import { API_SECRET, MOVEMENT as CONTENT } from './vector-movements.ts';
import { batchVectors, toFile } from './vectors.ts';

const VECTORS = batchVectors();

/** A single POST of a movement. */
const singleOf = (number: number) =>
  signed(idOf(number), buildBody(CONTENT, { encoding: 'json', hashEncoding: 'hex' }, API_SECRET));

/** A receiver with onBatch, and the ids of each call. */
function createBatchReceiver(
  handle: ReceiverOptions['onBatch'] = () => {},
  options: Partial<ReceiverOptions> = {},
) {
  const calls: string[][] = [];
  const onBatch: ReceiverOptions['onBatch'] = (events) => {
    calls.push(events.map(({ id }) => id));
    return handle(events);
  };
  return { ...createTestReceiver({ onBatch, ...options }), calls };
}

const fail = () => {
  throw new Error('no');
};

describe('the vectors of batches', () => {
  it("equal those that the service's code makes", async () => {
    const file = new URL('../../packages/vectors/batches.json', import.meta.url);
    expect(await readFile(file, 'utf8')).toBe(toFile(VECTORS));
  });

  const withHandlers = (failing: () => readonly string[], handled: string[]): Partial<ReceiverOptions> => {
    const handle = ({ id }: Notification) => {
      if (failing().includes(id)) return { failed: [id] };
      handled.push(id);
      return undefined;
    };
    return {
      onMovement: handle,
      onWithdrawal: handle,
      onBalance: handle,
      onEvent: handle,
      onUnknown: handle,
    };
  };
  const withBatch = (failing: () => readonly string[], handled: string[]): Partial<ReceiverOptions> => ({
    onBatch(events) {
      const failed = events.map(({ id }) => id).filter((id) => failing().includes(id));
      handled.push(...events.map(({ id }) => id).filter((id) => !failed.includes(id)));
      return { failed };
    },
  });

  describe.each([
    ['a handler for each event', withHandlers],
    ['onBatch', withBatch],
  ])('with %s', (_, make) => {
    it.each(VECTORS.map((vector) => [vector.name, vector] as const))('%s', async (_name, vector) => {
      const { secrets, apiSecret, now, posts } = vector;
      let failing: readonly string[] = [];
      const handled: string[] = [];
      const receiver = createReceiver({
        secrets,
        now: () => now,
        log: () => {},
        ...(apiSecret === undefined ? {} : { apiSecret }),
        ...make(() => failing, handled),
      });
      for (const post of posts) {
        ({ failing } = post);
        handled.length = 0;
        const answer = await receiver.handle(post);
        expectAnswer(answer, post);
        if (post.expected.ok)
          expect(handled).toEqual(post.expected.new.filter((id) => !failing.includes(id)));
        else expect(handled).toEqual([]);
      }
    });
  });

  function expectAnswer(answer: Answer, { body, expected }: BatchVector['posts'][number]): void {
    if (!expected.ok) expect(answer.status).toBe(expected.reason === 'malformed-body' ? 400 : 401);
    else if (expected.failed.length === 0) expect(answer).toEqual({ status: 204 });
    else if (!body.startsWith('{"batch":')) expect(answer).toMatchObject({ status: 422 });
    else expect(answer).toMatchObject({ status: 200, body: JSON.stringify({ failed: expected.failed }) });
  }
});

describe('a verifier', () => {
  it('reads a batch, and refuses single events of it', async () => {
    const vector = VECTORS.find(({ name }) => name.startsWith('a wrong hash of one event'));
    const [post] = vector?.posts ?? [];
    if (vector?.apiSecret === undefined || post === undefined) throw new Error('There is no such vector.');
    const { secrets, apiSecret, now } = vector;
    const batch = await createVerifier({ secrets, apiSecret, now: () => now })(post);
    expect(batch).toMatchObject({
      kind: 'batch',
      id: post.headers['webhook-id'],
      events: [
        { kind: 'movement', id: idOf(101), sentAt: now, transactionId: '101', installation: null },
        { kind: 'refused', id: idOf(102), reason: 'wrong-hash' },
        { kind: 'movement', id: idOf(103) },
      ],
    });
  });
});

describe('a receiver without onBatch', () => {
  it('calls the handler for each event of a batch, in order and one at a time', async () => {
    const seen: string[] = [];
    const { receiver } = createTestReceiver({
      async onMovement({ id }) {
        seen.push(`begin ${id}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
        seen.push(`end ${id}`);
      },
    });
    expect(await receiver.handle(batchOf([2, 1]))).toEqual({ status: 204 });
    expect(seen).toEqual([`begin ${idOf(2)}`, `end ${idOf(2)}`, `begin ${idOf(1)}`, `end ${idOf(1)}`]);
  });

  it.each([
    [false, [1, 3], [2]],
    [true, [1], [2, 3]],
  ])('with ordered %s processes %j when the second of three fails', async (ordered, done, failed) => {
    let isBroken = true;
    const handled: string[] = [];
    const { receiver, logged } = createTestReceiver({
      ordered,
      onMovement({ id }) {
        if (isBroken && id === idOf(2)) fail();
        handled.push(id);
      },
    });
    expect(failedIn(await receiver.handle(batchOf([1, 2, 3])))).toEqual(idsOf(...failed));
    expect(handled).toEqual(idsOf(...done));
    expect(logged).toMatchObject([{ id: idOf(2), message: 'The handler failed.' }]);
    isBroken = false;
    expect(await receiver.handle(batchOf([1, 2, 3]))).toEqual({ status: 204 });
    expect(handled).toEqual(idsOf(...done, ...failed));
  });

  it('answers 500 when the handler throws for all events, as for a single POST', async () => {
    const { receiver } = createTestReceiver({ onMovement: fail });
    expect(await receiver.handle(batchOf([1, 2]))).toEqual({ status: 500 });
    const { secrets, now } = MOVEMENT;
    const without = createReceiver({ secrets, now: () => now, log: () => {} });
    expect(await without.handle(batchOf([1]))).toEqual({ status: 500 });
    const { receiver: unreachable } = createTestReceiver({
      store: { claim: () => Promise.reject(new Error('down')) },
    });
    expect(await unreachable.handle(batchOf([1]))).toEqual({ status: 500 });
    const { receiver: verifying, logged } = createTestReceiver({ apiSecret: 'another' });
    expect(await verifying.handle(batchOf([1, 2]))).toEqual({ status: 500 });
    expect(logged).toMatchObject(idsOf(1, 2).map((id) => ({ id, reason: 'wrong-hash' })));
  });

  it.each([false, true])(
    'names all events when the handler refuses them, with ordered %s',
    async (ordered) => {
      const { receiver, logged } = createTestReceiver({
        ordered,
        onMovement: ({ id }) => ({ failed: [id] }),
      });
      expect(failedIn(await receiver.handle(batchOf([1, 2])))).toEqual(idsOf(1, 2));
      expect(failedIn(await receiver.handle(batchOf([1])))).toEqual(idsOf(1));
      expect(logged).toEqual([]);
    },
  );

  it('answers 500 when the handler refuses one event and throws for the other', async () => {
    const { receiver } = createTestReceiver({
      onMovement: ({ id }) => (id === idOf(1) ? { failed: [id] } : fail()),
    });
    expect(await receiver.handle(batchOf([1, 2]))).toEqual({ status: 500 });
    expect(await receiver.handle(batchOf([2, 1]))).toEqual({ status: 500 });
  });

  it('answers 422 to a single POST that the handler refuses by its id, and calls it again at the next attempt', async () => {
    let calls = 0;
    const { receiver, logged } = createTestReceiver({
      onMovement: async ({ id }) => ({ failed: ++calls > 2 ? [] : [id] }),
    });
    for (const status of [422, 422, 204, 204])
      expect(await receiver.handle(singleOf(1))).toMatchObject({ status });
    expect(calls).toBe(3);
    expect(logged).toEqual([]);
  });

  it.each<[string, unknown, RegExp]>([
    ['another id', { failed: idsOf(9) }, /with an id that it did not get: msg_17-9\. Return ids of/],
    ['a number', { failed: 1 }, /not an array of ids/],
    ['a list with a hole', { failed: new Array(1) }, /with an id that it did not get: undefined/],
    ['null', { failed: null }, /not an array of ids/],
  ])('answers 500 when the handler returns %s as failed', async (_, result, message) => {
    const { receiver, logged } = createTestReceiver({ onMovement: (() => result) as never });
    expect(await receiver.handle(singleOf(1))).toEqual({ status: 500 });
    expect(await receiver.handle(batchOf([1]))).toEqual({ status: 500 });
    const entry = { id: idOf(1), error: { message: expect.stringMatching(message) } };
    expect(logged).toMatchObject([entry, entry]);
  });

  it.each([undefined, null, true, 'msg_17-1', {}, idsOf(1), { failed: undefined }])(
    'accepts an event when the handler returns %j',
    async (result) => {
      const { receiver } = createTestReceiver({ onMovement: (() => result) as never });
      expect(await receiver.handle(singleOf(1))).toEqual({ status: 204 });
    },
  );

  it('names the events that it has not reached when the time is over, and does not begin them', async () => {
    const handled: string[] = [];
    let finish = (): void => {};
    const store = memoryStore();
    const { receiver, logged } = createTestReceiver({
      store,
      // Long enough for the first event on a busy machine.
      handlerSeconds: 2,
      onMovement({ id }) {
        handled.push(id);
        return id === idOf(2) ? new Promise<void>((resolve) => (finish = resolve)) : undefined;
      },
    });
    expect(failedIn(await receiver.handle(batchOf([1, 2, 3])))).toEqual(idsOf(2, 3));
    expect(handled).toEqual(idsOf(1, 2));
    expect(logged).toMatchObject([{ message: 'The handler has not returned within 2 s.' }]);
    expect(failedIn(await receiver.handle(batchOf([1, 2])))).toEqual(idsOf(2));
    finish();
    await expect.poll(() => store.claim(idOf(2)), { timeout: 30_000 }).toBe('done');
    expect(handled).toEqual(idsOf(1, 2));
    expect(await receiver.handle(batchOf([1, 2, 3]))).toEqual({ status: 204 });
    expect(handled).toEqual(idsOf(1, 2, 3));
  });
});

describe('onBatch', () => {
  it('gets the new events only, however a retry is grouped', async () => {
    const { receiver, calls } = createBatchReceiver();
    for (const numbers of [[1, 2], [2, 3], [1, 2, 3], [4]])
      expect(await receiver.handle(batchOf(numbers))).toEqual({ status: 204 });
    expect(calls).toEqual([idsOf(1, 2), idsOf(3), idsOf(4)]);
  });

  it('gets single POSTs as batches of one, and their refusal is answered with 422', async () => {
    let isBroken = true;
    const { receiver, calls } = createBatchReceiver((events) =>
      isBroken ? { failed: events.map(({ id }) => id) } : undefined,
    );
    expect(await receiver.handle(singleOf(1))).toMatchObject({ status: 422 });
    isBroken = false;
    expect(await receiver.handle(singleOf(1))).toEqual({ status: 204 });
    expect(await receiver.handle(singleOf(1))).toEqual({ status: 204 });
    expect(await receiver.handle(batchOf([1]))).toEqual({ status: 204 });
    expect(calls).toEqual([idsOf(1), idsOf(1)]);
  });

  it('gets notifications of each kind but tests, which onTest gets', async () => {
    const kinds: string[] = [];
    const tests: string[] = [];
    const { receiver } = createBatchReceiver(
      (events) => void kinds.push(...events.map(({ kind }: BatchEvent) => kind)),
      { onTest: ({ id }) => void tests.push(id) },
    );
    for (const name of ['a movement', 'a balance', 'import.failed', 'an event of a type that is not known'])
      expect(await receiver.handle(requestOf(find('events', name)))).toEqual({ status: 204 });
    const test = requestOf(find('events', 'a test notification of a movement'));
    expect(await receiver.handle(test)).toEqual({ status: 204 });
    expect(kinds).toEqual(['movement', 'balance', 'event', 'unknown']);
    expect(tests).toHaveLength(1);
  });

  it('names what has failed: only that comes again', async () => {
    let failing = [2];
    const { receiver, calls, logged } = createBatchReceiver(() => ({ failed: failing.map(idOf) }));
    const answer = await receiver.handle(batchOf([1, 2, 3]));
    expect(answer).toEqual({
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ failed: idsOf(2) }),
    });
    failing = [];
    expect(await receiver.handle(batchOf([1, 2, 3]))).toEqual({ status: 204 });
    expect(calls).toEqual([idsOf(1, 2, 3), idsOf(2)]);
    expect(logged).toEqual([]);
  });

  it('names all events, also those of a batch of one, when it returns all their ids', async () => {
    const { receiver, calls } = createBatchReceiver((events) => ({ failed: events.map(({ id }) => id) }));
    expect(failedIn(await receiver.handle(batchOf([1, 2])))).toEqual(idsOf(1, 2));
    expect(failedIn(await receiver.handle(batchOf([1])))).toEqual(idsOf(1));
    expect(calls).toEqual([idsOf(1, 2), idsOf(1)]);
  });

  it('gets an id once that a batch has twice, and the answer names it once', async () => {
    const { receiver, calls } = createBatchReceiver(() => ({ failed: idsOf(2) }), { ordered: true });
    expect(failedIn(await receiver.handle(batchOf([1, 2, 2, 3])))).toEqual(idsOf(2));
    expect(calls).toEqual([idsOf(1, 2, 3)]);
  });

  it.each<[string, () => unknown, RegExp]>([
    ['throws', fail, /^no$/],
    [
      'names an event that it did not get',
      () => ({ failed: idsOf(9) }),
      /with an id that it did not get: msg_17-9/,
    ],
    ['names ids that are no list', () => ({ failed: 'all' }), /not an array of ids/],
  ])('fails for all events when it %s', async (_, handle, message) => {
    let isBroken = true;
    const { receiver, calls, logged } = createBatchReceiver((() =>
      isBroken ? handle() : undefined) as ReceiverOptions['onBatch']);
    const batch = batchOf([1, 2]);
    expect(await receiver.handle(batch)).toEqual({ status: 500 });
    expect(logged).toMatchObject([
      { id: batch.headers['webhook-id'], error: { message: expect.stringMatching(message) } },
    ]);
    isBroken = false;
    expect(await receiver.handle(batchOf([1, 2]))).toEqual({ status: 204 });
    expect(calls).toEqual([idsOf(1, 2), idsOf(1, 2)]);
  });

  it('that throws fails only for the events that are new', async () => {
    let isBroken = false;
    const { receiver } = createBatchReceiver(() => (isBroken ? fail() : undefined));
    await receiver.handle(batchOf([1]));
    isBroken = true;
    expect(failedIn(await receiver.handle(batchOf([1, 2])))).toEqual(idsOf(2));
  });

  it('does not get an event that another request is processing: it comes again', async () => {
    let finish = (): void => {};
    let calls = 0;
    const { receiver } = createBatchReceiver(() => {
      calls += 1;
      return calls === 1 ? new Promise<void>((resolve) => (finish = resolve)) : undefined;
    });
    const first = receiver.handle(batchOf([1, 2]));
    await expect.poll(() => calls).toBe(1);
    expect(failedIn(await receiver.handle(batchOf([2, 3])))).toEqual(idsOf(2));
    // None is accepted, but the endpoint works.
    expect(await receiver.handle(batchOf([1, 2]))).toMatchObject({ status: 200 });
    expect(await receiver.handle(singleOf(1))).toEqual({ status: 409 });
    finish();
    expect(await first).toEqual({ status: 204 });
    expect(await receiver.handle(batchOf([1, 2, 3]))).toEqual({ status: 204 });
    expect(calls).toBe(2);
  });

  it('with ordered gets nothing after an event that another request is processing', async () => {
    const store = memoryStore();
    const { receiver, calls } = createBatchReceiver(undefined, { ordered: true, store });
    const claim = await store.claim(idOf(2));
    expect(failedIn(await receiver.handle(batchOf([1, 2, 3])))).toEqual(idsOf(2, 3));
    if (typeof claim === 'object') await claim.release();
    expect(await receiver.handle(batchOf([2, 3]))).toEqual({ status: 204 });
    expect(calls).toEqual([idsOf(1), idsOf(2, 3)]);
  });

  it('that is too slow keeps its claims until it ends', async () => {
    let finish = (): void => {};
    const { receiver, calls } = createBatchReceiver(
      () => new Promise<void>((resolve) => (finish = resolve)),
      { handlerSeconds: 0.1 },
    );
    expect(await receiver.handle(batchOf([1, 2]))).toEqual({ status: 500 });
    expect(failedIn(await receiver.handle(batchOf([1, 2])))).toEqual(idsOf(1, 2));
    finish();
    await expect
      .poll(async () => (await receiver.handle(batchOf([1, 2]))).status, { timeout: 30_000 })
      .toBe(204);
    expect(calls).toHaveLength(1);
  });

  it('gets the same events of two installations, which have keys of their own', async () => {
    const keys: string[] = [];
    const store = memoryStore();
    const claim: DeduplicationStore['claim'] = (key) => {
      keys.push(key);
      return store.claim(key);
    };
    const { receiver } = createBatchReceiver(undefined, {
      secrets: undefined as never,
      installations: { shop: { secrets: MOVEMENT.secrets } },
      store: { claim },
    });
    expect(await receiver.handle(batchOf([1, 2]))).toEqual({ status: 204 });
    expect(keys).toEqual(idsOf(1, 2).map((id) => `shop:${id}`));
  });

  it('replaces the handlers for single events', () => {
    expect(() => createBatchReceiver(undefined, { onMovement: () => {} })).toThrow(/^onBatch replaces/);
  });
});

it('two copies of one POST at the same time call the handler once', async () => {
  const { receiver, calls } = createBatchReceiver(
    () => new Promise<HandlerResult>((resolve) => setTimeout(() => resolve({ failed: idsOf(2) }), 50)),
  );
  const batch = batchOf([1, 2]);
  const answers = await Promise.all([receiver.handle(batch), receiver.handle(batch)]);
  expect(answers.map(failedIn)).toEqual([idsOf(2), idsOf(2)]);
  expect(calls).toHaveLength(1);
});

describe('the adapters', () => {
  /** A batch of 1,000 events whose body has exactly this many bytes. */
  function batchOfSize(bytes: number) {
    const numbers = Array.from({ length: 1_000 }, (_, at) => at + 1);
    const short = batchOf(numbers, { description: '' }).body.length;
    const description = 'x'.repeat(Math.floor((bytes - short - 20) / 1_000));
    const { headers, body } = batchOf(numbers, { description });
    return signed(headers['webhook-id'], body.padEnd(bytes));
  }

  it('send the answer to a refusal with its text', async () => {
    const { receiver } = createTestReceiver({ onMovement: ({ id }) => ({ failed: [id] }) });
    const server = createServer(toNodeHandler(receiver)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const post = (request: { headers: Record<string, string>; body: string }) =>
      fetch(`http://127.0.0.1:${port}`, { method: 'POST', ...request });
    const single = await post(singleOf(1));
    expect([single.status, await single.text()]).toEqual([
      422,
      'The handler has refused the event: it has returned its id in failed.',
    ]);
    const batch = await post(batchOf([1, 2]));
    expect([batch.status, await batch.json()]).toEqual([200, { failed: idsOf(1, 2) }]);
  });

  it.each([
    ['toNodeHandler', (receiver: ReturnType<typeof createReceiver>) => toNodeHandler(receiver)],
    [
      'toFetchHandler',
      (receiver: ReturnType<typeof createReceiver>) => {
        const handle = toFetchHandler(receiver);
        return toNodeHandler(
          {
            async handle({ headers, body }) {
              const request = {
                method: 'POST',
                headers: headers as Record<string, string>,
                body: body as Uint8Array<ArrayBuffer>,
              };
              return { status: (await handle(new Request('http://127.0.0.1/', request))).status };
            },
          },
          { limit: 2_000_000 },
        );
      },
    ],
  ])('%s accepts a body of 1 MiB, and no larger one', async (_, make) => {
    const { receiver, calls } = createBatchReceiver();
    const server = createServer(make(receiver)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const post = async (request: { headers: Record<string, string>; body: string }) =>
      (await fetch(`http://127.0.0.1:${port}`, { method: 'POST', ...request })).status;
    expect(await post(batchOfSize(1_048_576))).toBe(204);
    expect(calls.map(({ length }) => length)).toEqual([1_000]);
    expect(await post(batchOfSize(1_048_577))).toBe(413);
  });
});
