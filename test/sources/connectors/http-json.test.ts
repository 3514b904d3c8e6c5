import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { collect } from './collect.ts';
import { useHttpSource } from './http-source.ts';
import { sendJson, startWebServer } from './web-server.ts';

const connect = useHttpSource();
const movement = (n: number) => ({ account_id: 1, dc: 'Credit', amount: `${n}.00`, unique_id: `m${n}` });
const line = (n: number) => `${JSON.stringify(movement(n))}\n`;

/** A JSON API with a log of movements, oldest first, in pages. The movements can grow. */
async function startApi({ pageSize, how }: { pageSize: number; how: 'link' | 'cursor' }) {
  const log: unknown[] = [];
  const server = await startWebServer((request, response) => {
    const from = Number(new URL(request.url ?? '', server.origin).searchParams.get('after') ?? 0);
    const transactions = log.slice(from, from + pageSize);
    const next = from + pageSize < log.length ? from + pageSize : null;
    if (how === 'cursor') sendJson(response, { transactions, paging: { next } });
    else if (next === null) sendJson(response, { transactions });
    else
      sendJson(
        response,
        { transactions },
        { link: `</movements?after=0>; rel="first", </movements?after=${next}>; rel="next"` },
      );
  });
  return { log, url: `${server.origin}/movements?account=7`, server };
}

const CURSOR = { cursor_path: 'paging.next', cursor_parameter: 'after' };

describe.each([
  { how: 'link' as const, settings: {} },
  { how: 'cursor' as const, settings: { json: CURSOR } },
])('a JSON source with pages by $how', ({ how, settings }) => {
  it('offers each page as NDJSON, and continues at the last page in the next run', async () => {
    const api = await startApi({ pageSize: 2, how });
    api.log.push(...[1, 2, 3, 4, 5].map(movement));
    const run = (since: string | null) =>
      collect(connect({ url: api.url, format: 'json', ...settings }), { since });
    const pages = await run(null);
    expect(pages.map(({ text }) => text)).toEqual([line(1) + line(2), line(3) + line(4), line(5)]);
    expect(new Set(pages.map(({ name }) => name)).size).toBe(3);

    const since = pages.at(-1)?.cursor ?? null;
    const before = api.server.requests.length;
    expect(await run(since)).toEqual([pages.at(-1)]);
    expect(api.server.requests.length).toBe(before + 1);

    api.log.push(movement(6), movement(7));
    const later = await run(since);
    expect(later.map(({ text }) => text)).toEqual([line(5) + line(6), line(7)]);
    expect(later[0]?.name).toBe(pages.at(-1)?.name);
    expect(later[0]?.version).not.toBe(pages.at(-1)?.version);
  });

  it('begins at the first page in each run when the settings say so', async () => {
    const api = await startApi({ pageSize: 2, how });
    api.log.push(movement(1), movement(2), movement(3));
    const connector = connect({ url: api.url, format: 'json', start: 'first_page', ...settings });
    expect(await collect(connector, { since: `page:${api.url}&after=2` })).toHaveLength(2);
  });
});

describe('a JSON source', () => {
  it('offers nothing for a page without movements, and asks for the same page in the next run', async () => {
    const api = await startApi({ pageSize: 2, how: 'link' });
    expect(await collect(connect({ url: api.url, format: 'json' }))).toEqual([]);
  });

  it('stops when the API leads in a circle or sends new cursors forever', async () => {
    const circle = await startWebServer((request, response) =>
      sendJson(
        response,
        { transactions: [movement(1)] },
        { link: `<${request.url === '/a' ? '/b' : '/a'}>; rel=next` },
      ),
    );
    expect(await collect(connect({ url: `${circle.origin}/a`, format: 'json' }))).toHaveLength(2);

    let count = 0;
    const endless = await startWebServer((_request, response) => {
      count += 1;
      sendJson(response, { transactions: [], paging: { next: `c${count}` } });
    });
    expect(await collect(connect({ url: endless.origin, format: 'json', json: CURSOR }))).toEqual([]);
    expect(count).toBe(10);
  });

  it('fills in the account of the source when a movement names no account', async () => {
    const server = await startWebServer((_request, response) =>
      sendJson(response, { transactions: [{ dc: 'Debit' }, { account_id: 3, dc: 'Debit' }, 'no object'] }),
    );
    const [page] = await collect(connect({ url: server.origin, format: 'json' }, { accountId: '9' }));
    expect(page?.text).toBe('{"account_id":"9","dc":"Debit"}\n{"account_id":3,"dc":"Debit"}\n"no object"\n');
  });

  it('reads compressed pages', async () => {
    const server = await startWebServer((_request, response) =>
      response
        .writeHead(200, { 'content-encoding': 'gzip' })
        .end(gzipSync(JSON.stringify({ transactions: [movement(1)] }))),
    );
    expect(await collect(connect({ url: server.origin, format: 'json' }))).toMatchObject([{ text: line(1) }]);
  });

  it('sends its credentials only to next pages of its own origin', async () => {
    const other = await startWebServer((_request, response) =>
      sendJson(response, { transactions: [movement(2)] }),
    );
    const server = await startWebServer((_request, response) =>
      sendJson(response, { transactions: [movement(1)] }, { link: `<${other.origin}/>; rel="next"` }),
    );
    await collect(connect({ url: server.origin, format: 'json' }, { credentials: { bearer: 'gizli' } }));
    expect(server.requests[0]?.headers.authorization).toBe('Bearer gizli');
    expect(other.requests[0]?.headers.authorization).toBeUndefined();
  });

  it.each([
    ['is not JSON', '<html>', {}, 'is not JSON'],
    ['has another shape', '{"data":[]}', {}, 'has no array "transactions"'],
    ['is not UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}, 'is not UTF-8'],
    ['breaks off', '{"transactions":[{"dc":', {}, 'is not JSON'],
    ['is larger than 8 MiB', `{"transactions":["${'x'.repeat(9_000_000)}"]}`, {}, 'larger than 8 MiB'],
    [
      'unpacks to more than 8 MiB',
      gzipSync('x'.repeat(9_000_000)),
      { 'content-encoding': 'gzip' },
      'larger than 8 MiB',
    ],
    ['is damaged gzip', 'no gzip', { 'content-encoding': 'gzip' }, 'cannot be unpacked'],
    [
      'has a cursor that is no text',
      '{"transactions":[],"paging":{"next":{}}}',
      {},
      'neither a text nor a number',
    ],
  ])('fails for a page that %s', async (_what, body, headers, reason) => {
    const server = await startWebServer((_request, response) => response.writeHead(200, headers).end(body));
    const reading = collect(connect({ url: server.origin, format: 'json', json: CURSOR }));
    await expect(reading).rejects.toMatchObject({
      name: 'SourceError',
      message: expect.stringContaining(reason),
    });
  });
});
