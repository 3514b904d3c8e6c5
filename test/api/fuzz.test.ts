import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useSourcesDir } from '../sources/folder-source.ts';
import { type Operation, readOperations } from '../support/operations.ts';
import { useReceiver } from '../support/receiver.ts';
import { type Answer, useOwnService } from '../support/service.ts';
import { insertWithdrawnFile } from '../support/withdrawn-files.ts';
import { createWorld, type World, type WorldPlan } from '../support/world.ts';
import { openWire, sendAndEnd, type Wire, type WireRequest } from './fuzz/exchange.ts';
import { type FuzzedRequest, requestsOf } from './fuzz/requests.ts';
import { MARKER } from './fuzz/values.ts';

/** Requests for each operation. This many fit into `npm test`. To search for faults, use another seed and a hundred times as many. */
const RUNS = 50;
const SEED = 20_261_231;
const ROUNDS = 5;

const service = useOwnService({
  because: 'random ids are small numbers',
  roles: ['api', 'importer'],
  config: { sourcesDir: useSourcesDir() },
});
const receiver = useReceiver();

let operations: Operation[];
let wire: Wire;
/** Whose objects each operation is asked about; those that delete have one each. */
let worlds: Map<Operation, World>;
let world: World;

const PLAN: WorldPlan = {
  mark: 'Kendi',
  accounts: 2,
  movements: 2,
  issues: 1,
  webhooks: [],
  outcomes: ['pending', 'delivered', 'failed'],
};

// All customers are made first, because after many wrong keys the throttle accepts only keys that were right before.
beforeAll(async () => {
  operations = await readOperations(service);
  wire = openWire(service.url);
  world = await createWorld(service, PLAN);
  // With custom headers, each new endpoint would need new headers too.
  await service.runtime.database.query('UPDATE webhooks SET headers = NULL WHERE id IN (?)', [
    world.all.webhooks,
  ]);
  worlds = new Map();
  for (const operation of operations) {
    const isTakenAway = operation.method === 'DELETE' || operation.path.endsWith('/withdraw');
    worlds.set(operation, isTakenAway ? await createWorld(service, PLAN) : world);
    if (operation.name === 'GET /v1/webhooks/{id}/feed')
      worlds.set(operation, { ...world, all: { ...world.all, webhooks: [world.feed] } });
    if (operation.name === 'POST /v1/sources/{id}/collect-again')
      worlds.set(operation, await createWithdrawnFile());
    if (operation.name === 'POST /v1/imports/{id}/retry') worlds.set(operation, await createFailedImports());
  }
});
afterAll(() => wire?.close());

/** A customer with a source that has collected the file of a withdrawn import. */
async function createWithdrawnFile(): Promise<World> {
  const made = await createWorld(service, PLAN);
  const [sourceId = ''] = made.all.sources;
  const importId = await insertWithdrawnFile(service.runtime.database, sourceId);
  return { ...made, all: { ...made.all, sources: [sourceId], imports: [importId] } };
}

/** A customer whose imports have failed and kept their bytes, which are those of an empty body. */
async function createFailedImports(): Promise<World> {
  const failed = await createWorld(service, PLAN);
  const { database } = service.runtime;
  const ids = failed.all.imports;
  await database.query("UPDATE imports SET status = 'failed', format = 'ndjson' WHERE id IN (?)", [ids]);
  await database.query(
    "INSERT INTO import_parts (import_id, seq, bytes) SELECT id, 0, '' FROM imports WHERE id IN (?)",
    [ids],
  );
  return failed;
}

/** Checks what holds for every answer to every request. */
function expectDecentAnswer(answer: Answer, method: string): void {
  const { status, headers, body } = answer;
  const told = JSON.stringify({ headers: [...headers], body });
  expect(status, told.slice(0, 1_000)).toBeLessThan(500);
  if (status < 400) return;
  expect(told).not.toContain(MARKER);
  expect({ status, type: headers.get('content-type') }).toEqual({ status, type: 'application/problem+json' });
  if (method === 'HEAD') return;
  expect(body).toEqual({
    type: expect.any(String),
    title: expect.stringMatching(/./),
    status,
    detail: expect.stringMatching(/./),
    message: body.detail,
    request_id: headers.get('x-request-id') ?? expect.stringMatching(/./),
    ...(status === 422 ? { errors: expect.any(Array) } : {}),
  });
}

async function tryOut({ wire: request, flaw }: FuzzedRequest): Promise<number> {
  const answer = await wire.exchange(request);
  expectDecentAnswer(answer, request.method);
  const { status, body } = answer;
  if (status >= 300) return status;
  expect(flaw).toBeNull();
  if (body.account ?? body.webhook) expectKept(request, body.account ?? body.webhook);
  return status;
}

async function tryOutAll(operation: Operation, seed: number): Promise<number[]> {
  const statuses: number[] = [];
  const requests = requestsOf(operation, worlds.get(operation) ?? world, receiver.url);
  const property = fc.asyncProperty(requests, async (request) => {
    statuses.push(await tryOut(request));
  });
  await fc.assert(property, { numRuns: RUNS, seed }).catch((error: Error) => {
    error.message = `${operation.name}: ${error.message}`;
    throw error;
  });
  return statuses;
}

/** Texts that a person has written come back unchanged, except for spaces at their ends. */
function expectKept({ body }: WireRequest, kept: { title: string }): void {
  const { title = kept.title } = body === null ? {} : JSON.parse(body.text);
  expect(kept.title).toBe(title.trim());
}

/** Reading comes first, while the listings are short. */
const ORDER = ['GET', 'PATCH', 'POST', 'DELETE'];

describe('a random request to an operation', () => {
  it('is answered as the document says, or with a problem that repeats nothing of the request', async () => {
    expect(operations.filter(({ method }) => !ORDER.includes(method))).toEqual([]);
    const unreached: string[] = [];
    for (const method of ORDER) {
      await Promise.all(
        operations
          .filter((operation) => operation.method === method)
          .map(async (operation) => {
            // Of 50 bodies, none may be good by chance.
            for (let round = 0; round < ROUNDS; round += 1)
              if ((await tryOutAll(operation, SEED + round)).some((status) => status < 300)) return;
            unreached.push(operation.name);
          }),
      );
    }
    // Every operation must succeed at least once, or only its refusals were tried. A new operation may need good values in fuzz/values.ts.
    expect(unreached).toEqual([]);
  }, 300_000);

  it('leaves the service working', async () => {
    for (const path of ['/v1/accounts', '/readyz']) {
      expect((await service.call('GET', path, { key: world.key })).status).toBe(200);
    }
  });
});

describe('a method that a path does not support', () => {
  it('is refused with 405', async () => {
    const { key, all } = world;
    for (const path of new Set(operations.map((operation) => operation.path))) {
      const methods = operations.filter((it) => it.path === path).map(({ method }) => method);
      const target = path.replace(/\{\w+\}/g, all.webhooks[0] ?? '');
      for (const method of ['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE', 'PROPFIND', 'PURGE', 'M-SEARCH']) {
        if (methods.includes(method)) continue;
        const answer = await wire.exchange({
          method,
          target,
          headers: [['Authentication', key]],
          body: null,
          chunked: false,
        });
        expectDecentAnswer(answer, method);
        if (method === 'HEAD' && methods.includes('GET')) expect(answer.status).not.toBe(405);
        else expect({ method, path, status: answer.status }).toMatchObject({ status: 405 });
      }
    }
  });
});

describe('bytes that are hardly HTTP', () => {
  const line = fc.constantFrom(
    'GET /v1/banks HTTP/1.1',
    'get /v1/banks HTTP/1.1',
    `${MARKER} /v1/banks HTTP/1.1`,
    'GET /v1/banks',
    'GET /v1/banks HTTP/9.9',
    `GET /v1/banks HTTP/1.1 ${MARKER}`,
    'GET  HTTP/1.1',
    `GET ${MARKER} HTTP/1.1`,
    'GET http://[ HTTP/1.1',
    'GET //[ HTTP/1.1',
    'GET \\\\v1 HTTP/1.1',
    'GET /\u00ff\u00fe HTTP/1.1',
    'OPTIONS * HTTP/1.1',
    `CONNECT ${MARKER}:443 HTTP/1.1`,
    `GET /${'x'.repeat(20_000)} HTTP/1.1`,
    '',
  );
  const header = fc.constantFrom(
    'Host: a',
    `Host: ${MARKER} ${MARKER}`,
    'Host: a\r\nHost: b',
    'Content-Length: -1',
    'Content-Length: 1\r\nContent-Length: 2',
    'Content-Length: 5',
    `Content-Length: ${'9'.repeat(30)}`,
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: chunked\r\nContent-Length: 3',
    'Transfer-Encoding: gzip',
    'Expect: 100-continue',
    `Expect: ${MARKER}`,
    'Upgrade: h2c\r\nConnection: Upgrade',
    `X: ${'y'.repeat(20_000)}`,
    ' folded',
    'no-colon',
    `na me: ${MARKER}`,
    'Nul: \u0000',
    ': empty',
  );
  const body = fc.constantFrom('', '{}', '0\r\n\r\n', 'zz\r\n', 'ffffffffffffffff\r\nx', '\u0000\u0000');

  it('get a problem as an answer, or none', async () => {
    await fc.assert(
      fc.asyncProperty(line, fc.array(header, { maxLength: 3 }), body, async (first, headers, rest) => {
        const bytes = `${[first, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n${rest}`;
        const answer = await sendAndEnd(service.url, bytes);
        const [, status, head, content] =
          /^HTTP\/1\.1 (\d{3}) ([\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(answer) ?? [];
        expect(Number(status ?? 0)).toBeLessThan(500);
        if (Number(status ?? 0) < 400) return;
        expect(answer).not.toContain(MARKER);
        expect(head).toMatch(/content-type: application\/problem\+json/i);
        const [json = ''] = /\{[\s\S]*\}/.exec(content ?? '') ?? [];
        expect(JSON.parse(json)).toMatchObject({
          status: Number(status),
          title: expect.stringMatching(/./),
          detail: expect.stringMatching(/./),
          message: expect.stringMatching(/./),
          request_id: expect.stringMatching(/./),
        });
      }),
      { numRuns: RUNS * 4, seed: SEED },
    );
  });
});
