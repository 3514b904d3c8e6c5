import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAccount, importMovements, movement } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

let key: string;
let account: string;

beforeAll(async () => {
  const customer = await service.customer();
  key = customer.api_key;
  account = (await createAccount(service, key, { title: '=HYPERLINK("x")', currency: 'EUR' })).id;
});

const LISTED = 'starts=2026-01-01&format=csv';

const csv = async (query: string, headers: Record<string, string> = {}) => {
  const { status, body } = await service.call('GET', `/v1/transactions?${query}`, { key, headers });
  expect(status).toBe(200);
  return body as string;
};

describe('a CSV of movements', () => {
  it('quotes as RFC 4180 says, and disarms texts that a spreadsheet would execute', async () => {
    await importMovements(service, key, [
      movement(account, {
        unique_id: '-1',
        dc: 'Debit',
        amount: '1250.50',
        balance: '-3.00',
        name: '@cmd, "quoted"',
        description: '=1+1\r\nsecond line',
        code: '\tTAB',
        opponent_id: '+49 170',
        opponent_iban: null,
      }),
      movement(account, {
        unique_id: '2',
        amount: '-7.00',
        balance: null,
        name: '\rCR',
        description: '-12 euro',
        code: "a=b'c",
        opponent_id: 'Ödeme',
        opponent_iban: 'DE89',
      }),
    ]);
    const columns =
      'columns=unique_id,dc,amount,signed_amount,balance,name,description,code,opponent_id,opponent_iban';
    const head =
      'unique_id,dc,amount,signed_amount,balance,name,description,code,opponent_id,opponent_iban\r\n';
    expect(await csv(`${LISTED}&${columns}`)).toBe(
      `${head}-1,Debit,1250.50,-1250.50,-3.00,"'@cmd, ""quoted""","'=1+1\r\nsecond line",'\tTAB,'+49 170,\r\n` +
        `2,Credit,-7.00,-7.00,,"'\rCR",'-12 euro,a=b'c,Ödeme,DE89\r\n`,
    );
    expect(await csv(`${LISTED}&${columns}&raw=true&decimal=comma&order=newest`)).toBe(
      `${head}2,Credit,"-7,00","-7,00",,"\rCR",-12 euro,a=b'c,Ödeme,DE89\r\n` +
        `-1,Debit,"1250,50","-1250,50","-3,00","@cmd, ""quoted""","=1+1\r\nsecond line",\tTAB,+49 170,\r\n`,
    );
  });

  it('has all fields, those of fields=extended too, and a byte order mark if it is asked for', async () => {
    const { transactions } = (
      await service.call('GET', '/v1/transactions?starts=2026-01-01&fields=extended', { key })
    ).body;
    const [header = '', first = ''] = (await csv(`${LISTED}&fields=extended&q=cmd&bom=true`)).split('\r\n');
    const names = Object.keys(transactions[0]).filter((it) => it !== 'extended');
    expect(header.split(',')).toEqual(expect.arrayContaining([...names, 'bank', 'currency', 'value_date']));
    expect(first).toContain(`${transactions[0].id},${account},"'=HYPERLINK(""x"")",`);
    const response = await fetch(`${service.url}/v1/transactions?${LISTED}&bom=true`, {
      headers: { Authentication: key },
    });
    expect(
      Buffer.from(await response.arrayBuffer())
        .subarray(0, 5)
        .toString('latin1'),
    ).toBe('\xEF\xBB\xBFid');
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(response.headers.get('content-disposition')).toBe(
      'attachment; filename="movements-2026-01-01.csv"',
    );
    expect(response.headers.get('vary')).toBe('Accept');
  });

  it('disarms an id that somebody else has given, but no number', async () => {
    const { id } = await createAccount(service, key);
    const names = ['=HYPERLINK("x")', '@SUM(1)', '-12', '+7', '-1+1'];
    await importMovements(
      service,
      key,
      names.map((unique_id) => movement(id, { unique_id })),
    );
    expect((await csv(`${LISTED}&account=${id}&columns=unique_id`)).split('\r\n')).toEqual([
      'unique_id',
      `"'=HYPERLINK(""x"")"`,
      "'@SUM(1)",
      '-12',
      '+7',
      "'-1+1",
      '',
    ]);
  });

  it('has semicolons if they are asked for, for spreadsheets with decimal commas', async () => {
    const text = await csv(`${LISTED}&q=cmd&columns=amount,name&decimal=comma&separator=semicolon&raw=true`);
    expect(text).toBe('amount;name\r\n1250,50;"@cmd, ""quoted"""\r\n');
  });

  it('is refused over HTTP/1.0, where nobody could tell whether it is whole', async () => {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.write(`GET /v1/transactions?${LISTED} HTTP/1.0\r\nHost: x\r\nAuthentication: ${key}\r\n\r\n`);
    const parts: Buffer[] = [];
    socket.on('data', (part: Buffer) => parts.push(part));
    await once(socket, 'close');
    const text = Buffer.concat(parts).toString();
    expect(text).toMatch(/^HTTP\/1\.1 422 /);
    expect(text).toContain('proxy_http_version 1.1');
  });

  it.each([
    ['text/csv', undefined, 'text/csv'],
    ['application/json, text/csv;q=0.9', undefined, 'application/json'],
    ['text/csv;q=0.5, application/json;q=0.4', undefined, 'text/csv'],
    ['text/html,*/*;q=0.8', undefined, 'application/json'],
    ['text/csv;q=0', undefined, 'application/json'],
    ['text/csv', 'json', 'application/json'],
    ['application/json', 'csv', 'text/csv'],
  ])('is chosen by Accept: %s and format %s', async (accept, format, type) => {
    const query = `starts=2026-01-01${format === undefined ? '' : `&format=${format}`}`;
    const { headers } = await service.call('GET', `/v1/transactions?${query}`, { key, headers: { accept } });
    expect(headers.get('content-type')).toMatch(new RegExp(`^${type}`));
    const head = await service.call('HEAD', `/v1/transactions?${query}`, { key, headers: { accept } });
    expect(head.headers.get('content-type')).toMatch(new RegExp(`^${type}`));
  });

  it('is an ordinary error if the first page cannot be read, and needs a key', async () => {
    const { status } = await service.call('GET', `/v1/transactions?${LISTED}`);
    expect(status).toBe(401);
    expectProblem(await service.call('GET', '/v1/transactions?format=csv', { key }), 422, 'invalid');
  });

  describe('of many pages', () => {
    let large: string;
    const ROWS = 40_000;

    beforeAll(async () => {
      large = (await createAccount(service, key)).id;
      const rows = Array.from({ length: ROWS }, (_, n) =>
        movement(large, {
          unique_id: `large ${n}`,
          description: 'x'.repeat(1_000),
          date_issue: '2026-02-01',
        }),
      );
      for (let from = 0; from < ROWS; from += 10_000)
        await importMovements(service, key, rows.slice(from, from + 10_000));
    }, 120_000);

    /** Opens a connection that asks for the file and takes no more of it than its buffers hold. */
    async function openSlowly(apiKey: string) {
      const { hostname, port } = new URL(service.url);
      const socket = connect(Number(port), hostname);
      await once(socket, 'connect');
      socket.write(
        `GET /v1/accounts/${large}/transactions?${LISTED} HTTP/1.1\r\nHost: x\r\nAuthentication: ${apiKey}\r\n\r\n`,
      );
      await once(socket, 'readable');
      return socket;
    }

    async function readRest(socket: Awaited<ReturnType<typeof openSlowly>>): Promise<string> {
      const parts: Buffer[] = [];
      socket.on('data', (part: Buffer) => parts.push(part));
      socket.on('error', () => {});
      await once(socket, 'close');
      return Buffer.concat(parts).toString('utf8');
    }

    it('is whole', async () => {
      const text = await csv(`${LISTED}&account=${large}&columns=unique_id`);
      expect(text.split('\r\n')).toEqual([
        'unique_id',
        ...Array.from({ length: ROWS }, (_, n) => `large ${n}`),
        '',
      ]);
    });

    /** A key that is about to be deleted. */
    async function makeKey(): Promise<{ apikey: string; remove: () => Promise<void> }> {
      const made = await service.call('POST', '/v1/apikeys', {
        key,
        body: { title: 'Export', account: 'all' },
      });
      const { id, apikey } = made.body.apikey;
      const remove = async () => {
        expect((await service.call('DELETE', `/v1/apikeys/${id}`, { key })).status).toBe(200);
      };
      return { apikey, remove };
    }

    it('breaks off without a last chunk when its key is deleted meanwhile', async () => {
      const { apikey, remove } = await makeKey();
      const socket = await openSlowly(apikey);
      await remove();
      const text = await readRest(socket);
      // The whole text would fill the report of a failure.
      const facts = [/^HTTP\/1.1 200/, /large 1\r\n/, /\r\n0\r\n\r\n$/, new RegExp(`large ${ROWS - 1}\r\n`)];
      expect(facts.map((it) => it.test(text))).toEqual([true, true, false, false]);
    });

    it('that breaks off is an error for a client of fetch', async () => {
      const { apikey, remove } = await makeKey();
      const response = await fetch(`${service.url}/v1/accounts/${large}/transactions?${LISTED}`, {
        headers: { Authentication: apikey },
      });
      expect(response.status).toBe(200);
      await remove();
      await expect(response.text()).rejects.toThrow();
    });
  });
});
