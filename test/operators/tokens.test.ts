import { beforeAll, describe, expect, it } from 'vitest';
import { withoutSecrets } from '../../src/http/admission/idempotency.ts';
import { parseCustomerName } from '../../src/http/operators.ts';
import { expectProblem } from '../support/problem.ts';
import { useOwnService } from '../support/service.ts';
import { asOperator, newExternalId, tokenOf } from './support.ts';

const service = useOwnService({ because: 'unknown tokens are counted', roles: ['api'] });

let token: string;
beforeAll(async () => {
  token = await tokenOf(service, 'admin');
});

const call = (method: string, path: string, options = {}) =>
  asOperator(service, token, method, path, options);

describe("an operator's token", () => {
  it('is shown once, listed without itself, and refused when it is deleted or has expired', async () => {
    const body = { title: 'Deploy', role: 'viewer', expires_at: '2999-01-01T00:00:00Z' };
    const { body: made } = await call('POST', '/v1/operator-tokens', { body });
    const { id, token } = made.operator_token;
    expect(token).toMatch(/^lbop_[\w-]{43}$/);
    expect((await asOperator(service, token, 'GET', '/v1/customers')).status).toBe(200);
    const { body: listed } = await call('GET', '/v1/operator-tokens');
    expect(listed.operator_tokens.find((it: { id: number }) => it.id === id)).toEqual({
      ...{ id, title: 'Deploy', role: 'viewer', prefix: token.slice(0, 11) },
      ...{ expires_at: '2999-01-01T00:00:00.000Z', created_at: expect.any(String) },
      last_used_at: expect.any(String),
    });
    expect(JSON.stringify(listed)).not.toContain(token);
    const { database } = service.runtime;
    await database.query('UPDATE operator_tokens SET expires_at = NOW(6) WHERE id = ?', [id]);
    expectProblem(await asOperator(service, token, 'GET', '/v1/customers'), 401, 'unknown-operator-token');
    await database.query('UPDATE operator_tokens SET expires_at = NULL WHERE id = ?', [id]);
    expect((await asOperator(service, token, 'GET', '/v1/customers')).status).toBe(200);
    await call('DELETE', `/v1/operator-tokens/${id}`);
    expectProblem(await asOperator(service, token, 'GET', '/v1/customers'), 401, 'unknown-operator-token');
    const { body: audit } = await call(
      'GET',
      `/v1/audit?subject=${encodeURIComponent(`operator token ${id}`)}`,
    );
    expect(audit.changes).toMatchObject([
      { action: 'delete', source: 'operator token', actor: expect.stringMatching(/^lbop_.{6}… test admin$/) },
      { action: 'create', detail: 'Deploy, viewer' },
    ]);
  });

  it.each([
    ['expires_at', { title: 'x', role: 'viewer', expires_at: '2001-01-01T00:00:00Z' }],
    ['expires_at', { title: 'x', role: 'viewer', expires_at: '+275760-01-01T00:00:00Z' }],
    ['role', { title: 'x', role: 'root' }],
    ['title', { title: ' ', role: 'viewer' }],
  ])('is not made with a wrong %s', async (path, body) => {
    const answer = await call('POST', '/v1/operator-tokens', { body });
    expectProblem(answer, 422);
    expect(answer.body.errors[0].path).toBe(path);
  });

  it('of a repeated Idempotency-Key is null, as are all secrets of a customer', async () => {
    const headers = { 'idempotency-key': newExternalId() };
    const body = { title: 'Once', role: 'viewer' };
    const [first, second] = [
      await call('POST', '/v1/operator-tokens', { body, headers }),
      await call('POST', '/v1/operator-tokens', { body, headers }),
    ];
    expect(second.body.operator_token).toEqual({ id: first.body.operator_token.id, token: null });
    const hook = { title: 'h', endpoint: 'http://127.0.0.1:9/', event: 'NEW_TRANSACTION', account: 'all' };
    const customer = {
      name: 'Once',
      external_id: newExternalId(),
      webhooks: [hook, { ...hook, title: 'i' }],
    };
    const again = { 'idempotency-key': newExternalId() };
    const made = await call('POST', '/v1/customers', { body: customer, headers: again });
    const repeated = await call('POST', '/v1/customers', { body: customer, headers: again });
    expect(repeated.body).toMatchObject({
      ...{ created: true, api_key: null, api_secret: null },
      webhooks: [{ secret: null }, { secret: null }],
    });
    for (const secret of [made.body.api_key, made.body.api_secret, made.body.webhooks[0].secret])
      expect(JSON.stringify(repeated.body)).not.toContain(secret);
  });
});

describe('the token of this machine', () => {
  const headers = { 'ledgerbell-user': 'ay%C5%9Fe' };
  const local = () => service.runtime.config.localToken ?? '';

  it('names the person, and may do everything', async () => {
    const { body } = await asOperator(service, local(), 'POST', '/v1/customers', {
      ...{ headers, body: { name: 'Yerel' } },
    });
    const { body: audit } = await asOperator(service, local(), 'GET', '/v1/audit', {
      customer: body.customer.id,
    });
    expect(audit.changes).toMatchObject([{ source: 'command line', actor: 'ayşe', action: 'create' }]);
  });

  it.each([
    ['x-forwarded-for', '10.0.0.1'],
    ['forwarded', 'for=10.0.0.1'],
    ['via', '1.1 proxy'],
    ['ledgerbell-origin', `${'0'.repeat(64)} local 127.0.0.1`],
  ])('does not work with %s', async (name, value) => {
    const answer = await asOperator(service, local(), 'GET', '/v1/verdict', { headers: { [name]: value } });
    if (name === 'ledgerbell-origin') expect(answer.status).toBe(200);
    else expect([401, 429]).toContain(answer.status);
  });
});

describe('the header Ledgerbell-Customer', () => {
  it.each([
    '0',
    '-1',
    '1e3',
    ' ',
    'external_id:',
    'external_id:%',
    'external_id:%00',
    'external_id:%20x',
    `external_id:${'x'.repeat(201)}`,
    'acme',
  ])('is refused as %j', (text) => {
    expect(() => parseCustomerName(text)).toThrow('Ledgerbell-Customer must be the id of a customer');
  });

  it('takes an id, and an external id that is percent-encoded', () => {
    expect(parseCustomerName('17')).toEqual({ id: '17' });
    expect(parseCustomerName('external_id:%C5%9Fube%201:a')).toEqual({ externalId: 'şube 1:a' });
  });

  it('of nobody gets 404, and of a customer that is being deleted 409 for changes', async () => {
    expectProblem(await call('GET', '/v1/accounts', { customer: '999999999' }), 404);
    expectProblem(await call('GET', '/v1/accounts', { customer: 'external_id:nobody' }), 404);
    const external_id = newExternalId();
    const { body } = await call('POST', '/v1/customers', { body: { name: 'Giden', external_id } });
    const { id } = body.customer;
    expectProblem(await call('DELETE', `/v1/customers/${id}`), 422);
    expectProblem(await call('DELETE', `/v1/customers/${id}?confirm=giden`), 422);
    const deleted = await call('DELETE', `/v1/customers/${id}?confirm=Giden`);
    expect(deleted).toMatchObject({
      status: 202,
      body: { customer: { status: 'deleting', external_id: null } },
    });
    const account = { bank: 'B', title: 't', currency: 'TRY' };
    expectProblem(
      await call('POST', '/v1/accounts', { body: account, customer: id }),
      409,
      'customer-deleting',
    );
    expectProblem(
      await call('PATCH', `/v1/customers/${id}`, { body: { name: 'x' } }),
      409,
      'customer-deleting',
    );
    expect((await call('GET', '/v1/accounts', { customer: id })).status).toBe(200);
    const { body: next } = await call('POST', '/v1/customers', { body: { name: 'Gelen', external_id } });
    expect(next).toMatchObject({ created: true, customer: { external_id } });
  });
});

describe('customers', () => {
  it('are renamed, and found by name, external id and what belongs to them', async () => {
    const [one, two] = [newExternalId(), newExternalId()];
    const { body } = await call('POST', '/v1/customers', {
      body: {
        name: `Ad ${one}`,
        external_id: one,
        metadata: { a: '1' },
        accounts: [{ bank: 'B', title: 't', currency: 'TRY' }],
      },
    });
    await call('POST', '/v1/customers', { body: { name: 'Öteki', external_id: two } });
    const { id } = body.customer;
    const found = async (query: string) =>
      (await call('GET', `/v1/customers?${query}`)).body.customers.map((it: { id: number }) => it.id);
    const name = encodeURIComponent(`Ad ${one}`);
    for (const query of [`name=${name}`, `external_id=${one}`, `owner_of=account:${body.accounts[0].id}`])
      expect(await found(query)).toEqual([id]);
    expect(await found('owner_of=account:999999999')).toEqual([]);
    expect(await found('owner_of=delivery:999999999')).toEqual([]);
    expectProblem(await call('GET', '/v1/customers?owner_of=account:1x'), 422);
    expectProblem(
      await call('PATCH', `/v1/customers/${id}`, { body: { external_id: two } }),
      409,
      'external-id-taken',
    );
    const changed = await call('PATCH', `/v1/customers/${id}`, {
      body: { name: 'Yeni', external_id: null, metadata: {} },
    });
    expect(changed.body.customer).toMatchObject({ id, name: 'Yeni', external_id: null, metadata: {} });
    const whole = await call('GET', `/v1/customers/${id}`);
    expect(whole.body.customer).toMatchObject({
      ...{ name: 'Yeni', counts: { accounts: 1, webhooks: 0, api_keys: 1, sources: 0 }, standing: [] },
    });
    const pages = await call('GET', '/v1/customers?per_page=1');
    expect(pages.headers.get('link')).toMatch(/^<\/v1\/customers\?per_page=1&cursor=\w+>; rel="next"$/);
  });

  it.each([
    ['metadata.a', { name: 'x', metadata: { a: 1 } }],
    [
      'metadata',
      { name: 'x', metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, 'v'])) },
    ],
    [
      'metadata',
      {
        name: 'x',
        metadata: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'ş'.repeat(200)])),
      },
    ],
    ['external_id', { name: 'x', external_id: '' }],
    ['external_id', { name: 'x', external_id: 'a\nb' }],
    ['external_id', { name: 'x', external_id: ' a' }],
    ['accounts', { name: 'x', accounts: Array(101).fill({}) }],
    ['webhooks', { name: 'x', webhooks: Array(21).fill({}) }],
    ['api_key', { name: 'x', api_key: 'yes' }],
  ])('are not made with wrong %s', async (path, body) => {
    const answer = await call('POST', '/v1/customers', { body });
    expectProblem(answer, 422);
    expect(answer.body.errors[0].path).toBe(path);
  });
});

it('withoutSecrets hides members in lists and in objects, and leaves others', () => {
  const body = { a: 'x', list: [{ s: 'x', t: 1 }, { t: 2 }], deep: { s: 'x' } };
  expect(JSON.parse(withoutSecrets(JSON.stringify(body), ['a', 'list.s', 'deep.s', 'none.s']))).toEqual({
    ...{ a: null, list: [{ s: null, t: 1 }, { t: 2 }], deep: { s: null } },
  });
});

it('a token that is guessed gets 429 after ten guesses, and one that works still works', async () => {
  const known = await tokenOf(service, 'viewer');
  expect((await asOperator(service, known, 'GET', '/v1/customers')).status).toBe(200);
  const guess = () => asOperator(service, `lbop_${newExternalId()}`, 'GET', '/v1/customers');
  const statuses: number[] = [];
  for (let i = 0; i < 12; i += 1) statuses.push((await guess()).status);
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  expect((await asOperator(service, known, 'GET', '/v1/customers')).status).toBe(200);
});
