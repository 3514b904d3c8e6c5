import { describe, expect, it } from 'vitest';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { countRows } from '../support/rows.ts';
import { useOwnService } from '../support/service.ts';
import { webhook } from '../support/webhooks.ts';

/** The owner of this service lets webhooks go to public addresses only. 192.0.2.0/24 and the like are none. */
const service = useOwnService({
  because: 'no private endpoint is allowed',
  roles: ['api'],
  config: { allowPrivateEndpoints: [] },
});

const PUBLIC = 'https://93.184.216.34/hook';

const refuse = async (fields: object) => {
  const { api_key: key } = await service.customer();
  const before = await countRows(service);
  const body = webhook({ endpoint: PUBLIC, ...fields });
  const answer = await service.call('POST', '/v1/webhooks', { key, body });
  const paths = expectProblem(answer, 422);
  expect(JSON.stringify(answer.body)).not.toContain('MARKER');
  expect(await countRows(service)).toEqual(before);
  return { paths, detail: answer.body.detail as string };
};

describe('a webhook', () => {
  it('to a public address is created', async () => {
    const { api_key: key } = await service.customer();
    const { status } = await service.call('POST', '/v1/webhooks', {
      key,
      body: webhook({ endpoint: PUBLIC }),
    });
    expect(status).toBe(200);
  });

  it.each([
    'http://127.0.0.1/MARKER',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f.0.0.1/',
    'http://0177.0.0.1/',
    'http://０.0.0.0/',
    'http://localhost:3000/',
    'http://LOCALHOST./',
    'http://a.localhost/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://10.0.0.1/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/latest/meta-data/',
    'http://[fe80::1]/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://user:MARKER@93.184.216.34/',
    'http://MARKER@93.184.216.34/',
    'ftp://93.184.216.34/MARKER',
    'file:///etc/MARKER',
    'javascript:MARKER',
    'data:text/plain,MARKER',
    'MARKER',
    '//93.184.216.34/',
    'http://',
    'http:// /',
    'http://93.184.216.34:99999/',
    '',
    `https://93.184.216.34/${'a'.repeat(2_048)}`,
    // Short enough as it is written, too long once percent-encoded: it would not fit.
    `https://93.184.216.34/${'ğ'.repeat(1_000)}`,
    7,
    null,
    undefined,
    ['https://93.184.216.34/'],
    { href: 'MARKER' },
  ])('is refused for its endpoint %j', async (endpoint) => {
    expect((await refuse({ endpoint })).paths).toEqual(['endpoint']);
  });

  it('is refused for an unknown event, and the answer names the three allowed events', async () => {
    for (const event of ['MARKER', 'new_debit', 'NEW_DEBIT ', '', null, 1, undefined, ['NEW_DEBIT']]) {
      const { paths, detail } = await refuse({ event });
      expect(paths).toEqual(['event']);
      if (event !== undefined) {
        for (const allowed of ['NEW_TRANSACTION', 'NEW_DEBIT', 'NEW_CREDIT'])
          expect(detail).toContain(allowed);
      }
    }
  });

  it.each([
    [[]],
    [['NEW_DEBIT', 'NEW_CREDIT']],
    [['NEW_DEBIT', 'NEW_DEBIT']],
    [['WITHDRAWN_TRANSACTION', 'WITHDRAWN_TRANSACTION']],
    [['OPERATIONAL', 'WITHDRAWN_TRANSACTION']],
    [['WITHDRAWN_TRANSACTION', 'BALANCE_UPDATED']],
    [['NEW_DEBIT', 'NEW_CREDIT', 'WITHDRAWN_TRANSACTION']],
    ['WITHDRAWN_TRANSACTION'],
    [null],
    [{ 0: 'NEW_DEBIT' }],
  ])('is refused for the events %j, and the answer says what is allowed', async (events) => {
    const { paths, detail } = await refuse({ event: undefined, events });
    expect(paths).toEqual(['events']);
    expect(detail).toContain(
      'a list of a single event, or of WITHDRAWN_TRANSACTION and one of NEW_TRANSACTION, NEW_DEBIT, NEW_CREDIT',
    );
  });

  it('is refused for an unknown event in a list, and for event and events together', async () => {
    expect((await refuse({ event: undefined, events: ['MARKER'] })).paths).toEqual(['events.0']);
    expect((await refuse({ events: ['NEW_TRANSACTION'] })).paths).toEqual(['events']);
  });

  it.each([
    ['title', { title: '' }],
    ['title', { title: ' \n ' }],
    ['title', { title: 'MARKER'.repeat(40) }],
    ['title', { title: 'MARKER\ud800' }],
    ['title', { title: undefined }],
    ['description', { description: 'MARKER'.repeat(84) }],
    ['description', { description: 'MARKER\ud800' }],
    ['description', { description: 7 }],
    ['account', { account: 'ALL' }],
    ['account', { account: '999999999' }],
    ['account', { account: 999_999_999 }],
    ['account', { account: '1e3' }],
    ['account', { account: '' }],
    ['account', { account: null }],
    ['account', { account: ['all'] }],
    ['account', { account: undefined }],
    ['encoding', { encoding: 'xml' }],
    ['encoding', { encoding: null }],
    ['hash_encoding', { hash_encoding: 'MARKER' }],
    ['body', { body: 'MARKER' }],
    ['body', { body: 'extended', encoding: 'form' }],
    ['body', { body: 'extended', event: 'OPERATIONAL' }],
    ['ordered', { ordered: 'true' }],
    ['ordered', { ordered: 1 }],
    ['rate_limit', { rate_limit: 0 }],
    ['rate_limit', { rate_limit: -1 }],
    ['rate_limit', { rate_limit: 1.5 }],
    ['rate_limit', { rate_limit: 10_001 }],
    ['rate_limit', { rate_limit: '10' }],
    ['max_in_flight', { max_in_flight: 0 }],
    ['max_in_flight', { max_in_flight: 65 }],
    ['max_in_flight', { max_in_flight: null }],
    ['max_in_flight', { max_in_flight: 1e21 }],
    ['secret', { secret: 'MARKER' }],
    ['status', { status: 'paused' }],
    ['id', { id: 'MARKER' }],
    ['constructor', { constructor: 'MARKER' }],
  ])('is refused for a wrong %s: %j', async (path, fields) => {
    expect((await refuse(fields)).paths).toEqual([path]);
  });

  it("is refused for another customer's account, with the same answer as for an unknown account", async () => {
    const stranger = await service.customer('Başkası');
    const { id } = await createAccount(service, stranger.api_key);
    const foreign = await refuse({ account: id });
    expect(foreign).toEqual(await refuse({ account: '999999999' }));
    expect(foreign.paths).toEqual(['account']);
  });

  it.each([
    ...['Connection', 'keep-alive', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade', 'Proxy-Authorization'],
    ...['proxy-connection', 'Host', 'Content-Length', 'Content-Type', 'User-Agent', 'Expect'],
    ...[
      'webhook-id',
      'Webhook-Signature',
      'WEBHOOK-TIMESTAMP',
      'webhook-anything',
      'ledgerbell-transaction-id',
    ],
    ...['', 'a b', 'a:b', 'a\r\nb', 'ğ', 'x'.repeat(101)],
  ])('is refused for the header name %j', async (name) => {
    expect((await refuse({ headers: { [name]: 'MARKER' } })).paths[0]).toMatch(/^headers/);
  });

  it.each([
    ['a line break in a value', { 'X-A': 'MARKER\r\nX-B: c' }],
    ['a NUL in a value', { 'X-A': 'MARKER\0' }],
    ['a letter beyond ASCII', { 'X-A': 'MARKERğ' }],
    ['a value that is too long', { 'X-A': 'MARKER'.repeat(200) }],
    ['a value that is no string', { 'X-A': 7 }],
    ['a value that is null', { 'X-A': null }],
    ['eleven headers', Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`X-${i}`, 'MARKER']))],
    ['one name in two cases', { 'X-A': 'MARKER', 'x-a': 'b' }],
    ['a name that JavaScript objects have', { constructor: 'MARKER' }],
    ['the name __proto__', JSON.parse('{"__proto__":"MARKER"}')],
    ['no names', ['MARKER']],
    ['text in place of an object', 'MARKER'],
    ['null in place of an object', null],
  ])('is refused for headers with %s', async (_case, headers) => {
    expect((await refuse({ headers })).paths[0]).toMatch(/^headers/);
  });
});
