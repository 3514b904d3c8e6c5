import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { serve } from '@hono/node-server';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { Redis } from 'ioredis';
import mysql from 'mysql2/promise';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  createVerifier,
  type DeduplicationStore,
  memoryStore,
  movementHash,
  type Notification,
  type Receiver,
  type ReceiverOptions,
  redisStore,
  sqlStore,
  sqlStoreTable,
  toFetchHandler,
  toNodeHandler,
  VerificationError,
} from '../../packages/sdk/src/receiver/index.ts';
import { redisOptions } from '../../src/platform/redis.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import {
  batchOf,
  createTestReceiver,
  FILES,
  find,
  idsOf,
  MOVEMENT,
  requestOf,
  TAMPERED,
} from './test-receiver.ts';
import { toFile, type Vector } from './vectors.ts';

const VECTORS = new URL('../../packages/vectors/', import.meta.url);

/** Takes the content of a verified notification, without its envelope. */
function contentOf(notification: Notification): unknown {
  switch (notification.kind) {
    case 'movement':
    case 'withdrawal':
      return notification.movement;
    case 'balance':
      return { type: 'balance.updated', timestamp: notification.timestamp, data: notification.balance };
    case 'test':
      return notification.sample;
    default:
      return notification.event;
  }
}

describe.each(Object.entries(FILES))('the vectors %s', (file, vectors) => {
  it("equal those that the service's code makes", async () => {
    expect(await readFile(new URL(`${file}.json`, VECTORS), 'utf8')).toBe(toFile(vectors));
  });

  it.each(vectors.map((vector) => [vector.name, vector] as const))('%s', async (_, vector) => {
    const { secrets, apiSecret, now, headers, expected } = vector;
    const verify = createVerifier({
      secrets,
      now: () => now,
      ...(apiSecret === undefined ? {} : { apiSecret }),
    });
    const request = requestOf(vector);
    for (const given of [
      request,
      { ...request, headers: new Headers(headers) },
      { headers, body: vector.body },
    ]) {
      const result = await verify(given).catch((error: VerificationError) => error);
      if (!expected.ok) {
        expect(result).toBeInstanceOf(VerificationError);
        expect(result).toMatchObject({ reason: expected.reason });
        expect(String(result)).not.toContain(secrets[0]);
      } else {
        expect(result).toMatchObject({ kind: expected.kind, id: headers['webhook-id'] });
        expect(contentOf(result as Notification)).toEqual(expected.content);
      }
    }
  });
});

it('no file of the receiver imports a module of Node, other than for types', async () => {
  const folder = new URL('../../packages/sdk/src/receiver/', import.meta.url);
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts'));
  expect(names).toContain('node-handler.ts');
  for (const name of names)
    expect(await readFile(new URL(name, folder), 'utf8'), name).not.toMatch(/^import (?!type\b).*'node:/m);
});

describe('a verifier', () => {
  it('computes the hash that docs/receiving/hash.md shows', async () => {
    const fields = {
      dc: 'Credit',
      code: 'EFT',
      amount: '1250.00',
      balance: '',
      currency: 'TRY',
      description: 'FATURA 5137',
    } as const;
    expect(await movementHash(fields, 's3cr3t')).toBe(
      'ZGY5ZGE4NjY2ODczMGNkODdhNWUzY2Y0OGFhZDQ4ODBjZWViYjkwY2VhYzQ0ODg4YWY3ZDc1ZGU1YzdkMmY4NQ==',
    );
  });

  it.each([[[]], [['whsec_short']], [['whsec_====']], [[MOVEMENT.secrets[0]?.slice(6) ?? '']]])(
    'refuses the secrets %s without repeating them',
    (secrets) => {
      expect(() => createVerifier({ secrets })).toThrow(/secret/);
      try {
        createVerifier({ secrets });
      } catch (error) {
        for (const secret of secrets) expect(String(error)).not.toContain(secret);
      }
    },
  );

  it('accepts another tolerance', async () => {
    const old = find('signatures-json', 'an hour old');
    const verify = createVerifier({ secrets: old.secrets, now: () => old.now, toleranceSeconds: 3_600 });
    expect(await verify(requestOf(old))).toMatchObject({ kind: 'movement', sentAt: old.now - 3_600 });
  });

  it('refuses bytes that are not UTF-8', async () => {
    const verify = createVerifier({ secrets: MOVEMENT.secrets, now: () => MOVEMENT.now });
    await expect(verify({ ...requestOf(MOVEMENT), body: new Uint8Array([0xff]) })).rejects.toMatchObject({
      reason: 'malformed-body',
    });
  });
});

describe('a receiver', () => {
  it('calls the handler for the kind of the notification', async () => {
    const kinds: string[] = [];
    const note = ({ kind }: Notification) => void kinds.push(kind);
    const handlers = {
      onMovement: note,
      onWithdrawal: note,
      onBalance: note,
      onEvent: note,
      onUnknown: note,
      onTest: note,
    };
    const { receiver, logged } = createTestReceiver(handlers);
    for (const vector of FILES.events ?? [])
      expect(await receiver.handle(requestOf(vector)), vector.name).toEqual({ status: 204 });
    expect(kinds).toEqual(FILES.events?.map(({ expected }) => expected.ok && expected.kind));
    expect(logged).toEqual([]);
  });

  it('answers 401 to a notification that is not genuine, and logs the reason', async () => {
    const { receiver, logged, handled } = createTestReceiver();
    expect(await receiver.handle(requestOf(TAMPERED))).toMatchObject({ status: 401 });
    expect(logged).toMatchObject([{ reason: 'wrong-signature', id: TAMPERED.headers['webhook-id'] }]);
    expect(handled).toEqual([]);
  });

  it('answers 500 without a handler, and 204 to tests and unknown events', async () => {
    const { receiver, logged } = createTestReceiver();
    const answer = async (name: string) => (await receiver.handle(requestOf(find('events', name)))).status;
    expect(await answer('a balance')).toBe(500);
    expect(await answer('a withdrawal')).toBe(500);
    expect(logged).toMatchObject([
      { message: 'There is no handler for the kind balance.' },
      { message: 'There is no handler for the kind withdrawal.' },
    ]);
    expect(await answer('a test notification of a movement')).toBe(204);
    expect(await answer('an event of a type that is not known')).toBe(204);
  });

  it('answers 500 without calling the handler when the store cannot be reached', async () => {
    const store: DeduplicationStore = { claim: () => Promise.reject(new Error('down')) };
    const { receiver, logged, handled } = createTestReceiver({ store });
    expect(await receiver.handle(requestOf(MOVEMENT))).toEqual({ status: 500 });
    expect(handled).toEqual([]);
    expect(logged).toMatchObject([{ error: { message: 'down' } }]);
  });

  it('answers 204 when the work is done but the store then fails', async () => {
    const fail = () => Promise.reject(new Error('down'));
    const store: DeduplicationStore = { claim: async () => ({ complete: fail, release: fail }) };
    const { receiver, handled } = createTestReceiver({ store });
    expect(await receiver.handle(requestOf(MOVEMENT))).toEqual({ status: 204 });
    expect(handled).toHaveLength(1);
  });
});

describe('the store of a receiver', () => {
  const { url } = useDatabase({ migrated: false });
  let redis: Redis;
  let pool: mysql.Pool;
  beforeAll(async () => {
    redis = new Redis(redisOptions(inject('redisUrl')));
    pool = mysql.createPool(url);
    await pool.query(sqlStoreTable('mysql'));
  });
  afterAll(async () => {
    redis.disconnect();
    await pool.end();
  });

  const prefix = `test-${crypto.randomUUID()}:`;
  const inSql = (leaseSeconds: number) =>
    sqlStore({ dialect: 'mysql', query: (sql, params) => pool.query(sql, params), leaseSeconds });
  const STORES: [string, { shared: boolean; open: (leaseSeconds: number) => DeduplicationStore }][] = [
    ['in memory', { shared: false, open: () => memoryStore() }],
    ['in Redis', { shared: true, open: (leaseSeconds) => redisStore(redis, { prefix, leaseSeconds }) }],
    [
      'in Redis, by sendCommand',
      {
        shared: true,
        open: (leaseSeconds) =>
          redisStore(
            { sendCommand: ([command = '', ...args]) => redis.call(command, ...args) },
            { prefix: `${prefix}2:`, leaseSeconds },
          ),
      },
    ],
    ['in MySQL', { shared: true, open: inSql }],
  ];

  describe.each(STORES)('%s', (_, { shared, open }) => {
    afterEach(async () => {
      await pool.query('DELETE FROM ledgerbell_notifications');
      const keys = await redis.keys(`${prefix}*`);
      if (keys.length > 0) await redis.del(keys);
    });

    it('lets ten copies at the same time call the handler once', async () => {
      const { receiver, handled } = createTestReceiver({ store: open(60) });
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => receiver.handle(requestOf(MOVEMENT))),
      );
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(204));
      expect(handled).toHaveLength(1);
      expect(await receiver.handle(requestOf(MOVEMENT))).toEqual({ status: 204 });
      expect(handled).toHaveLength(1);
    });

    it('lets the handler be called again after it has thrown', async () => {
      let calls = 0;
      const { receiver, logged } = createTestReceiver({
        store: open(60),
        onMovement() {
          calls++;
          if (calls === 1) throw new Error('no');
        },
      });
      const statuses = [];
      for (let at = 0; at < 3; at++) statuses.push((await receiver.handle(requestOf(MOVEMENT))).status);
      expect(statuses).toEqual([500, 204, 204]);
      expect(calls).toBe(2);
      expect(logged).toMatchObject([{ message: 'The handler failed.', error: { message: 'no' } }]);
    });

    it.runIf(shared)('lets ten processes call the handler once, and answers 409 to the others', async () => {
      const handled: string[] = [];
      let refused = 0;
      const onMovement = async ({ id }: Notification) => {
        handled.push(id);
        await until('the others are answered', () => refused === 9);
      };
      const receivers = Array.from({ length: 10 }, () => createTestReceiver({ store: open(60), onMovement }));
      const answers = await Promise.all(
        receivers.map(async ({ receiver }) => {
          const answer = await receiver.handle(requestOf(MOVEMENT));
          if (answer.status === 409) refused += 1;
          return answer;
        }),
      );
      const statuses = answers.map(({ status }) => status).toSorted();
      expect(statuses).toEqual([204, ...Array(9).fill(409)]);
      expect(handled).toHaveLength(1);
      expect(await receivers[5]?.receiver.handle(requestOf(MOVEMENT))).toEqual({ status: 204 });
      expect(handled).toHaveLength(1);
    });

    it('lets overlapping batches at the same time hand each event over once, and accepts all in the end', async () => {
      const store = open(60);
      const handled: string[] = [];
      const onBatch: ReceiverOptions['onBatch'] = async (events) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        handled.push(...events.map(({ id }) => id));
      };
      const receivers = Array.from({ length: 4 }, () => createTestReceiver({ store, onBatch }).receiver);
      const send = async (receiver: Receiver, begin: number) => {
        const batch = () => batchOf(Array.from({ length: 100 }, (_, index) => begin + index));
        await expect.poll(async () => (await receiver.handle(batch())).status, { timeout: 60_000 }).toBe(204);
      };
      await Promise.all(receivers.map((receiver, index) => send(receiver, 1 + 50 * index)));
      expect(handled.toSorted()).toEqual(
        idsOf(...Array.from({ length: 250 }, (_, index) => index + 1)).toSorted(),
      );
    });

    it.runIf(shared)(
      'frees the claim of a process that has ended, and does not let that process free another claim',
      async () => {
        const store = open(5);
        const first = await store.claim('msg_1-1');
        expect(await store.claim('msg_1-1')).toBe('busy');
        const other = open(60);
        const second = await until('the lease has ended', async () => {
          const claim = await other.claim('msg_1-1');
          return typeof claim === 'object' && claim;
        });
        if (typeof first === 'object') await first.release();
        expect(await store.claim('msg_1-1')).toBe('busy');
        await second.complete();
        expect(await store.claim('msg_1-1')).toBe('done');
      },
    );
  });

  it('in memory forgets the oldest id when the limit is exceeded', async () => {
    const store = memoryStore({ limit: 2 });
    for (const id of ['a', 'b', 'c']) {
      const claim = await store.claim(id);
      if (typeof claim === 'object') await claim.complete();
    }
    expect(await store.claim('c')).toBe('done');
    expect(await store.claim('a')).toBeTypeOf('object');
  });

  it('in PostgreSQL uses numbered placeholders, and reads rows as pg returns them', async () => {
    const sent: string[] = [];
    const store = sqlStore({
      dialect: 'postgres',
      async query(sql) {
        sent.push(sql);
        return { rows: sql.startsWith('SELECT') ? [{ token: 'other', done_at: '1790000000' }] : [] };
      },
    });
    expect(await store.claim('msg_1-1')).toBe('done');
    expect(sent[0]).toContain("VALUES ($1, '', 0) ON CONFLICT DO NOTHING");
    expect(sent[1]).toMatch(/token = \$1, claimed_until = \$2 WHERE webhook_id = \$3 .* < \$4$/);
  });
});

describe('the receiver behind', () => {
  const stops: (() => unknown)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  const originOf = (server: { address(): unknown }) =>
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const listen = async (server: Server) => {
    stops.push(() => server.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return originOf(server);
  };
  // It has no types.
  const openExpress = async () => (await import('express' as string)).default;

  const SERVERS: [string, (receiver: Receiver) => Promise<string>][] = [
    ['node:http', (receiver) => listen(createServer(toNodeHandler(receiver, { limit: 10_000 })))],
    [
      'Express, before its parsers',
      async (receiver) => {
        const express = await openExpress();
        const app = express();
        app.post('/webhooks', toNodeHandler(receiver, { limit: 10_000 }));
        app.use(express.json());
        return listen(createServer(app));
      },
    ],
    [
      'Express, after express.raw',
      async (receiver) => {
        const express = await openExpress();
        const app = express();
        app.use(express.raw({ type: () => true, limit: 10_000 }));
        app.post('/webhooks', toNodeHandler(receiver));
        return listen(createServer(app));
      },
    ],
    [
      'Hono',
      async (receiver) => {
        const app = new Hono();
        const handle = toFetchHandler(receiver, { limit: 10_000 });
        app.post('/webhooks', (c) => handle(c.req.raw));
        return listen(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server);
      },
    ],
    [
      'Next.js and others with fetch',
      async (receiver) => {
        const POST = toFetchHandler(receiver, { limit: 10_000 });
        return listen(serve({ fetch: POST, port: 0, hostname: '127.0.0.1' }) as Server);
      },
    ],
    [
      'Fastify, as the README shows',
      async (receiver) => {
        const app = Fastify({ bodyLimit: 10_000 });
        app.register(async (scope) => {
          scope.removeAllContentTypeParsers();
          scope.addContentTypeParser(
            '*',
            { parseAs: 'buffer' },
            async (_request: unknown, body: Buffer) => body,
          );
          scope.post<{ Body: Buffer }>('/webhooks', async (request, reply) => {
            const { status, headers = {}, body } = await receiver.handle(request);
            return reply.code(status).headers(headers).send(body);
          });
        });
        stops.push(() => app.close());
        return app.listen({ port: 0, host: '127.0.0.1' });
      },
    ],
  ];

  it.each(SERVERS)(
    '%s answers 204 to genuine notifications, 401 to others, and 413 to bodies that are too large',
    async (_, start) => {
      const { receiver, handled, logged } = createTestReceiver();
      const url = `${await start(receiver)}/webhooks`;
      const post = async (vector: Vector, body = vector.body) =>
        (await fetch(url, { method: 'POST', headers: vector.headers, body })).status;

      for (const vector of [
        MOVEMENT,
        MOVEMENT,
        find('signatures-json', 'one secret'),
        find('signatures-form', 'one secret'),
      ])
        expect(await post(vector), vector.name).toBe(204);
      expect(handled).toHaveLength(3);
      expect(await post(TAMPERED)).toBe(401);
      expect(await post(find('signatures-json', 'an empty body'))).toBe(401);
      expect(logged).toHaveLength(2);
      expect(await post(MOVEMENT, 'x'.repeat(20_000))).toBe(413);
      expect((await fetch(url)).status).toBeOneOf([404, 405]);
      expect(await post(find('signatures-json', 'a wrong signature before the right one'))).toBe(204);
    },
  );

  it('node:http survives a connection that breaks in the middle of the body', async () => {
    const { receiver, handled } = createTestReceiver();
    const origin = await listen(createServer(toNodeHandler(receiver)));
    const socket = connect(Number(new URL(origin).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nhalf');
    socket.destroySoon();
    const { headers, body } = MOVEMENT;
    expect((await fetch(origin, { method: 'POST', headers, body })).status).toBe(204);
    expect(handled).toHaveLength(1);
  });
});
