import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ApiError, Ledgerbell, RedirectError, UnexpectedAnswerError } from '../../packages/sdk/src/index.ts';
import { startWebServer } from '../sources/connectors/web-server.ts';

const KEY = 'lb_key-of-the-test';

/** Starts a server that counts its requests, and keeps all that it receives. */
async function start(answer: RequestListener) {
  const received: string[] = [];
  const { origin } = await startWebServer(async (request, response) => {
    const at = received.push(JSON.stringify([request.url, request.rawHeaders])) - 1;
    for await (const chunk of request) received[at] += chunk;
    answer(request, response);
  });
  return { url: origin, received };
}

/** What the second server would answer to any request that followed a redirect. */
const ANSWER = {
  banks: [],
  transactions: [],
  import: { id: 1, status: 'done' },
};

const file = new Blob(['{}\n']);
const contentType = 'application/x-ndjson';

/** Each way in which the client sends a request. */
const CALLS: Record<string, (ledgerbell: Ledgerbell) => Promise<unknown>> = {
  'a GET': (it) => it.listBanks(),
  'a GET that asks to follow redirects': (it) => it.listBanks({ redirect: 'follow' }),
  'a POST': (it) => it.importMovements([]),
  'an upload': (it) => it.upload(file, { contentType }),
  'an upload with progress': (it) => it.upload(file, { contentType, onProgress: () => {} }),
  'a wait for an import': (it) => it.waitForImport(1),
  'a list of all movements': (it) => it.movements({ starts: '2026-01-01' }).next(),
  'an export': (it) => it.exportMovements({ starts: '2026-01-01' }),
  'a feed': (it) => it.feed(1, { wait: 0 }).next(),
  'a feed in pages': (it) => it.feedPages(1, { wait: 0 }).next(),
  'a poll': (it) => it.poll({ position: null, signal: AbortSignal.timeout(1_000) }).next(),
};

const failure = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => null,
    (error) => error,
  );

describe('a redirect to another origin', () => {
  for (const [name, call] of Object.entries(CALLS))
    it(`does not get the API key from ${name}, and the error says what to change`, async () => {
      const second = await start((_request, response) =>
        response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(ANSWER)),
      );
      for (const status of [301, 302, 303, 307, 308]) {
        const first = await start((request, response) => {
          const { authentication } = request.headers;
          // A server can repeat in the address what it was sent.
          response
            .writeHead(status, { Location: `${second.url}${request.url}?key=${authentication}` })
            .end(String(authentication));
        });
        const error = await failure(call(new Ledgerbell({ url: first.url, apiKey: KEY })));
        expect(second.received).toEqual([]);
        expect(error).toBeInstanceOf(RedirectError);
        const { message, url, target } = error as RedirectError;
        expect(url).toMatch(new RegExp(`^${first.url}/v1/`));
        expect(target).toBe(second.url);
        expect(message).toContain(`${url} was answered with a redirect to ${second.url}.`);
        expect(message).toContain('Give the address of the API itself as `url`');
        expect(JSON.stringify([message, error])).not.toContain(KEY);
        // Another attempt would be redirected too.
        expect(first.received).toHaveLength(1);
        expect(first.received[0]).toContain(KEY);
      }
    });

  it('is an error too where fetch hides the status and the target, as in a browser', async () => {
    const hidden = Object.defineProperties(Response.error(), {
      type: { value: 'opaqueredirect' },
    });
    const redirects: string[] = [];
    const ledgerbell = new Ledgerbell({
      url: 'https://ledgerbell.example',
      apiKey: KEY,
      fetch: async (request) => {
        redirects.push((request as Request).redirect);
        return hidden;
      },
    });
    await expect(ledgerbell.listBanks()).rejects.toMatchObject({
      name: 'RedirectError',
      url: 'https://ledgerbell.example/v1/banks',
      target: null,
      message: expect.stringContaining('/v1/banks was answered with a redirect. It was not followed'),
    });
    expect(redirects).toEqual(['manual']);
  });
});

describe('Retry-After', () => {
  const startBusy = (seconds: string, status = 429) =>
    start((_request, response) => {
      const headers = { 'Retry-After': seconds, 'Content-Type': 'application/problem+json' };
      const problem = { type: '/problems/rate-limited', detail: 'The API key has sent too many requests.' };
      response.writeHead(status, headers).end(JSON.stringify(problem));
    });

  it('above a minute ends the request at once, with the problem and the time that was asked for', async () => {
    for (const status of [429, 503, 409]) {
      const { url, received } = await startBusy('3600', status);
      const ledgerbell = new Ledgerbell({ url, apiKey: KEY });
      const calls = [ledgerbell.listBanks(), ledgerbell.upload(file, { contentType })];
      for (const error of await Promise.all(calls.map(failure))) {
        expect(error).toBeInstanceOf(ApiError);
        expect(error).toMatchObject({
          status,
          type: '/problems/rate-limited',
          retryAfter: 3_600,
          message:
            'The API key has sent too many requests. The service asks to wait 3600 s before the next attempt.',
        });
      }
      expect(received).toHaveLength(2);
    }
  });

  it('up to maxRetryAfterSeconds is waited for, and above it is not', async () => {
    const { url, received } = await startBusy('1');
    const call = (maxRetryAfterSeconds: number) =>
      failure(new Ledgerbell({ url, apiKey: KEY, retries: 1, maxRetryAfterSeconds }).listBanks());
    const began = performance.now();
    expect(await call(0.5)).toMatchObject({ status: 429, retryAfter: 1 });
    expect(received).toHaveLength(1);
    expect(await call(1)).toMatchObject({ status: 429, retryAfter: 1 });
    expect(received).toHaveLength(3);
    expect(performance.now() - began).toBeGreaterThan(950);
  });

  it('that is a date in 2100 ends the request at once', async () => {
    const { url, received } = await startBusy('Fri, 31 Dec 2100 23:59:59 GMT');
    const ledgerbell = new Ledgerbell({ url, apiKey: KEY, retries: 1 });
    const error = await failure(ledgerbell.listBanks());
    expect(error).toMatchObject({ status: 429, retryAfter: expect.any(Number) });
    expect(received).toHaveLength(1);
  });
});

it('a refusal whose body is interrupted is followed by another attempt', async () => {
  let count = 0;
  const { url, received } = await start((_request, response) => {
    count += 1;
    if (count > 1)
      return void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"banks":[]}');
    response.writeHead(503, { 'Content-Length': '1000', 'Retry-After': '0' }).write('{');
    setTimeout(() => response.destroy(), 20);
  });
  const slow: typeof fetch = async (...args) => {
    const response = await fetch(...args);
    await new Promise((resolve) => setTimeout(resolve, 200));
    return response;
  };
  const { data } = await new Ledgerbell({ url, apiKey: KEY, fetch: slow }).listBanks();
  expect(data).toEqual({ banks: [] });
  expect(received).toHaveLength(2);
});

describe('a connection that is lost within the body of a success', () => {
  /** Breaks off as many answers, and then gives the whole one. */
  const startBreaking = async (count: number) => {
    let left = count;
    const keys: (string | undefined)[] = [];
    const server = await start((request, response) => {
      keys.push(request.headers['idempotency-key'] as string | undefined);
      const body = JSON.stringify({ ...ANSWER, events: [], cursor: 'c' });
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
      if (left-- > 0) response.write(body.slice(0, 9), () => response.destroy());
      else response.end(body);
    });
    return { ...server, keys };
  };

  // A poll of this answer does not end. It lists as the list of all movements does. An export is read by its caller.
  for (const [name, send] of Object.entries(CALLS).filter(([it]) => it !== 'a poll' && it !== 'an export'))
    it(`is followed by another attempt of ${name}`, async () => {
      const { url, keys } = await startBreaking(2);
      expect(await failure(send(new Ledgerbell({ url, apiKey: KEY })))).toBeNull();
      expect(keys).toHaveLength(3);
      expect(new Set(keys).size).toBe(1);
    });

  it('is thrown after the last attempt', async () => {
    const { url, keys } = await startBreaking(9);
    const error = await failure(new Ledgerbell({ url, apiKey: KEY, retries: 1 }).listBanks());
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(UnexpectedAnswerError);
    expect(keys).toHaveLength(2);
  });
});

describe('a feed', () => {
  it.each([
    ['204', 204, ''],
    ['null', 200, 'null'],
    ['{}', 200, '{}'],
    ['events that are no list', 200, '{"events":{"length":1},"cursor":"c","more":false}'],
    ['a text of events', 200, '{"events":"abc","cursor":"c","more":false}'],
    ['no cursor', 200, '{"events":[],"more":false}'],
    ['a cursor that is a number', 200, '{"events":[],"cursor":1,"more":false}'],
  ])('that is answered with %s throws, and sends no further request', async (_, status, body) => {
    const { url, received } = await start((_request, response) => {
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
    });
    const ledgerbell = new Ledgerbell({ url, apiKey: KEY });
    for (const events of [ledgerbell.feed(1), ledgerbell.feedPages(1)])
      expect(await failure(events.next())).toMatchObject({ name: 'UnexpectedAnswerError', status });
    expect(received).toHaveLength(2);
  });

  it('that says in each answer that its cursor is gone gets a request per second', async () => {
    const ending = new AbortController();
    const { url, received } = await start((_request, response) => {
      if (received.length === 3) ending.abort();
      const body = JSON.stringify({ type: '/problems/cursor-gone', detail: 'The feed was replayed.' });
      response.writeHead(410, { 'Content-Type': 'application/problem+json' }).end(body);
    });
    const began = performance.now();
    const events = new Ledgerbell({ url, apiKey: KEY }).feed(1, { wait: 0, signal: ending.signal });
    expect(await events.next()).toMatchObject({ done: true });
    expect(performance.now() - began).toBeGreaterThan(1_900);
    expect(received).toHaveLength(3);
  });
});

describe('a success that is not of the API', () => {
  it('says what it does not have', async () => {
    const { url } = await start((_request, response) => {
      response.setHeader('content-type', 'application/json').end('{"banks":null}');
    });
    expect(await failure(new Ledgerbell({ url, apiKey: KEY }).listBanks())).toMatchObject({
      message:
        `GET ${url}/v1/banks was answered with 200 and application/json, and not with the JSON of the API: it has no \`banks\` with the type array. ` +
        'A proxy, a login page or another server may answer there: check `url`.',
    });
  });

  it('is not an import without dry_run, nor a dry run with it', async () => {
    let body = '';
    const { url } = await start((_request, response) => {
      response.setHeader('content-type', 'application/json').end(body);
    });
    const ledgerbell = new Ledgerbell({ url, apiKey: KEY });
    const dryRun = () => ledgerbell.createImport({ body: { transactions: [] }, query: { dry_run: 'true' } });
    body = '{"dry_run":{}}';
    expect((await dryRun()).data).toEqual({ dry_run: {} });
    expect(await failure(ledgerbell.importMovements([]))).toBeInstanceOf(UnexpectedAnswerError);
    body = '{"import":{}}';
    expect(await ledgerbell.importMovements([])).toEqual({});
    expect(await failure(dryRun())).toBeInstanceOf(UnexpectedAnswerError);
  });

  it('is found beside a validator of the caller', async () => {
    let body = '{}';
    const { url } = await start((_request, response) => {
      response.setHeader('content-type', 'application/json').end(body);
    });
    const seen: unknown[] = [];
    const responseValidator = async (data: unknown) => void seen.push(data);
    const list = () => new Ledgerbell({ url, apiKey: KEY }).listBanks({ responseValidator });
    expect(await failure(list())).toBeInstanceOf(UnexpectedAnswerError);
    body = '{"banks":[]}';
    await list();
    expect(seen).toEqual([{ banks: [] }]);
  });

  for (const [name, answer] of Object.entries({
    'no content': ['application/json', '', 204],
    'an empty object': ['application/json', '{}'],
    'an empty list': ['application/json', '[]'],
    null: ['application/json', 'null'],
    'a number': ['application/json', '7'],
    'a text': ['application/json', '"ok"'],
    'the status of another service': ['application/json', '{"status":"ok"}'],
    'members of other types': [
      'application/json',
      '{"banks":{},"transactions":"abc","import":[],"events":{}}',
    ],
    'a page of a proxy': ['text/html', '<html>sign in</html>'],
    'an empty answer': ['application/json', ''],
    'half an answer': ['application/json', '{"banks":['],
  }))
    for (const [call, send] of Object.entries(CALLS))
      it(`${name} to ${call} throws`, async () => {
        const [type, body, status = 200] = answer as [string, string, number?];
        const { url } = await start((_request, response) => {
          response.writeHead(status, { 'content-type': type }).end(body);
        });
        const error = await failure(send(new Ledgerbell({ url, apiKey: KEY, retries: 0 })));
        expect(error).toBeInstanceOf(UnexpectedAnswerError);
        expect(error).toMatchObject({ status, message: expect.stringContaining('check `url`') });
        expect(String(error)).not.toContain(KEY);
      });
});

describe('a Retry-After', () => {
  const attempts = async (header: string) => {
    const { url, received } = await start((_request, response) => {
      response.setHeader('retry-after', header).setHeader('content-type', 'application/json');
      response.writeHead(503).end('{}');
    });
    const began = performance.now();
    const error = await failure(new Ledgerbell({ url, apiKey: KEY, retries: 1 }).listBanks());
    return { error, count: received.length, milliseconds: performance.now() - began };
  };

  it.each(['-5', '', 'soon'])('of %j leaves the pause to the client', async (header) => {
    const { count, milliseconds } = await attempts(header);
    expect(count).toBe(2);
    expect(milliseconds).toBeGreaterThan(450);
  });

  it.each(['0', new Date(0).toUTCString(), new Date(Date.now() - 1_000).toUTCString()])(
    'of %j does not shorten the pauses of the client',
    async (header) => {
      const { url, received } = await start((_request, response) => {
        response.writeHead(429, { 'Retry-After': header }).end();
      });
      const calls = [
        new Ledgerbell({ url, apiKey: KEY, retries: 2 }).listBanks(),
        new Ledgerbell({ url, apiKey: KEY, retries: 2 }).upload(file, { contentType }),
      ];
      const began = performance.now();
      for (const error of await Promise.all(calls.map(failure))) expect(error).toMatchObject({ status: 429 });
      expect(performance.now() - began).toBeGreaterThan(1_400);
      expect(received).toHaveLength(6);
    },
  );

  it('of any size ends the request at once, and of a date is waited for', async () => {
    expect(await attempts('9'.repeat(400))).toMatchObject({
      count: 1,
      error: { retryAfter: 9_007_199_254_741 },
    });
    const inTwoSeconds = new Date(Date.now() + 2_000).toUTCString();
    const { count, milliseconds } = await attempts(inTwoSeconds);
    expect(count).toBe(2);
    expect(milliseconds).toBeGreaterThan(900);
  });
});
