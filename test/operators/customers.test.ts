import { beforeAll, describe, expect, it } from 'vitest';
import { documentOf, runCli } from '../cli/command.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { asOperator, newExternalId, tokenOf } from './support.ts';

const service = useService();
const receiver = useReceiver();
let token: string;
beforeAll(async () => {
  token = await tokenOf(service, 'operator');
});

const call = (method: string, path: string, options = {}) =>
  asOperator(service, token, method, path, options);

const ACCOUNT = { bank: 'Örnek Bank', title: 'Ana hesap', currency: 'TRY' };

describe('a customer with an external id', () => {
  it('is created once with its account, webhook and API key, which work', async () => {
    const external_id = newExternalId();
    const body = {
      name: 'Acme',
      external_id,
      metadata: { plan: 'büyük' },
      accounts: [ACCOUNT],
      webhooks: [
        { title: 'hook', endpoint: `${receiver.url}/made`, event: 'NEW_TRANSACTION', account: 'all' },
      ],
    };
    const { status, body: made, headers } = await call('POST', '/v1/customers', { body });
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(made).toMatchObject({
      created: true,
      customer: { name: 'Acme', external_id, metadata: { plan: 'büyük' }, status: 'active' },
      accounts: [{ title: 'Ana hesap' }],
      webhooks: [{ title: 'hook', secret: expect.stringMatching(/^whsec_/) }],
      api_key: expect.stringMatching(/^lb_/),
      api_secret: expect.any(String),
    });
    const again = await call('POST', '/v1/customers', { body: { ...body, name: 'Other', accounts: [] } });
    expect(again.body).toMatchObject({
      created: false,
      customer: made.customer,
      accounts: [{ id: made.accounts[0].id }],
    });
    expect(again.body).not.toHaveProperty('api_key');
    expect(JSON.stringify(again.body)).not.toMatch(/whsec_|api_secret/);
    const listed = await service.call('GET', '/v1/accounts', { key: made.api_key });
    expect(listed.body.accounts).toHaveLength(1);
    const row = {
      account_id: made.accounts[0].id,
      unique_id: 'u1',
      dc: 'Credit',
      amount: '1.00',
      date_issue: '2026-01-05',
      description: 'x',
    };
    const sent = await call('POST', '/v1/imports', {
      body: { transactions: [row] },
      customer: `external_id:${external_id}`,
    });
    expect(sent.status).toBe(202);
    await until('the notification', () => receiver.at('/made').length === 1);
  });

  it('is made once by twenty requests at the same moment', async () => {
    const external_id = newExternalId();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        call('POST', '/v1/customers', { body: { name: 'One', external_id, accounts: [ACCOUNT] } }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(answers.filter(({ body }) => body.created)).toHaveLength(1);
    expect(new Set(answers.map(({ body }) => body.customer.id)).size).toBe(1);
    const found = await call('GET', `/v1/customers?external_id=${external_id}`);
    expect(found.body.customers).toHaveLength(1);
  });

  it('is made once by twenty commands at the same moment', async () => {
    const args = ['customers', 'create', '--name', 'Komut', '--external-id', newExternalId(), '--json'];
    const env = { DATA_DIR: service.runtime.config.dataDir };
    const made = await Promise.all(
      Array.from({ length: 20 }, async () => documentOf(await runCli(args, env))),
    );
    expect(made.filter((it) => it.created)).toHaveLength(1);
    expect(made.filter((it) => 'api_key' in it)).toHaveLength(1);
    expect(new Set(made.map((it) => it.customer.id)).size).toBe(1);
  });

  it('stores nothing if one of its webhooks or accounts is refused, and names it', async () => {
    const external_id = newExternalId();
    const bad = { title: 'x', endpoint: 'http://169.254.169.254/', event: 'NEW_TRANSACTION', account: 'all' };
    for (const [path, part] of [
      ['webhooks.0.endpoint', { webhooks: [bad] }],
      ['webhooks.0.account', { webhooks: [{ ...bad, account: 1 }] }],
      ['accounts.1.bank_id', { accounts: [ACCOUNT, { title: 'y', currency: 'TRY', bank_id: 999_999 }] }],
    ] as const) {
      const { status, body } = await call('POST', '/v1/customers', {
        body: { name: 'Bad', external_id, ...part },
      });
      expect([status, body.errors?.[0].path ?? path]).toEqual([expect.any(Number), path]);
      expect(status).toBeGreaterThanOrEqual(400);
    }
    const found = await call('GET', `/v1/customers?external_id=${external_id}`);
    expect(found.body.customers).toEqual([]);
  });
});
