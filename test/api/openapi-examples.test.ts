import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { mapValues } from '../../src/api/openapi/shared.ts';
import { createToken } from '../../src/customers/operator-tokens.ts';
import { asOperator } from '../operators/support.ts';
import { useSourcesDir, writeQuietly } from '../sources/folder-source.ts';
import { useReceiver } from '../support/receiver.ts';
import { type Answer, useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { Normaliser } from './openapi-examples/normalise.ts';

/**
 * The examples of /openapi.json are one month of an invented bookshop at an invented bank. This file fills an installation with that month, calls
 * the routes, and compares what they answer with src/api/openapi/examples.json. To write the file: EXAMPLES=true npm test -- <this file>.
 */

const OPERATOR = { source: 'configuration', name: 'test', role: 'admin' } as const;
/** Whether the file is written, and not compared. */
const WRITES = process.env.EXAMPLES === 'true';
/** How long a comparison waits for the state that is compared. */
let patienceMs = 90_000;

/** Members that the background may change before a POST, PATCH or DELETE is answered. A GET is repeated until its answer is as expected. */
const CHANGED_IN_BACKGROUND = new Set([
  ...['status', 'state', 'attempts', 'pending', 'delivered', 'failed', 'to_come', 'sent', 'left'],
  ...['received', 'inserted', 'rejected', 'statements', 'withdrawn', 'started_at', 'finished_at', 'due_at'],
  ...['last_work', 'last_update', 'balance', 'balance_source', 'balance_date', 'detected_format', 'error'],
]);

/** An answer with the expected values of what the background may have changed. Its members are as they were. */
function steady(answer: Json, expected: Json): Json {
  if (typeof answer !== 'object' || answer === null || typeof expected !== 'object' || expected === null)
    return answer;
  if (Array.isArray(answer)) return answer.map((it, at) => steady(it, expected[at]));
  return Object.fromEntries(
    Object.entries(answer).map(([name, value]) => [
      name,
      CHANGED_IN_BACKGROUND.has(name) && name in expected ? expected[name] : steady(value, expected[name]),
    ]),
  );
}

const COMMITTED = join(import.meta.dirname, '../../src/api/openapi/examples.json');
const STATEMENT = join(import.meta.dirname, '../../examples/bank-files/november.sta');
const DECEMBER = join(import.meta.dirname, '../../examples/bank-files/december-1.sta');

const sourcesDir = useSourcesDir();
const service = useOwnService({
  because: 'its ids are those of the examples',
  config: { sourcesDir },
});
const receiver = useReceiver();

// biome-ignore lint/suspicious/noExplicitAny: documents and answers of any form.
type Json = any;

interface Example {
  path?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: unknown;
  /** By status. */
  answers: Record<string, unknown>;
}

let document: Json;
let ofCustomers: Json;
let committed: Record<string, Example>;
const made: { operations: Record<string, Example> } = { operations: {} };

interface Request {
  path?: Record<string, string | number>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: unknown;
  /** A body that is no JSON. It does not become an example. */
  file?: Buffer;
}

let month: Normaliser;
let key: string;
let token: string;
let customer: string;

/** Calls an operation, and keeps the request and the answer as its example. @returns the answer. */
async function request(operationId: string, asked: Request = {}): Promise<Answer> {
  const { path = {}, query = {}, headers = {}, body } = asked;
  const [, method] = placeOf(operationId);
  const example = made.operations[operationId] ?? { answers: {} };
  made.operations[operationId] = example;
  month.nextRequest();
  if (Object.keys(path).length > 0) example.path ??= mapValues(path, String);
  if (body !== undefined) example.body ??= month.normalise(body);
  const before = month;
  const expected = JSON.stringify(committed[operationId]?.answers);
  let last = '';
  const tryOnce = async () => {
    const answer = await send(operationId, asked);
    month = before.copy();
    const shown = month.normalise(answer.body);
    const isKnown = example.answers[answer.status] !== undefined || typeof answer.body !== 'object';
    if (!isKnown && method === 'get') {
      const text = JSON.stringify({ [answer.status]: shown });
      const wanted = WRITES ? last : expected;
      last = text;
      if (text !== wanted) return { answer, shown, isKnown, isRight: false };
    }
    const isFree = WRITES || method === 'get';
    const kept = isFree ? shown : steady(shown, committed[operationId]?.answers[answer.status]);
    return { answer, shown: kept, isKnown, isRight: true };
  };
  const { answer, shown, isKnown } = await repeat(tryOnce);
  if (!isKnown) example.answers[answer.status] = shown;
  if (Object.keys(query).length > 0)
    example.query = { ...(month.normalise(query) as typeof query), ...example.query };
  if (method === 'get') await keepCursor(operationId, asked);
  if (Object.keys(headers).length > 0)
    example.headers = { ...(month.normalise(headers) as typeof headers), ...example.headers };
  return answer;
}

/** Reads one item of a listing, and keeps the cursor of the next page as an example. */
async function keepCursor(operationId: string, asked: Request): Promise<void> {
  const example = made.operations[operationId];
  if (example === undefined || example.query?.cursor !== undefined || !hasCursor(operationId)) return;
  const { headers } = await send(operationId, { ...asked, query: { ...asked.query, per_page: '1' } });
  const [, cursor] = /[?&]cursor=([^&>]+)/.exec(headers.get('link') ?? '') ?? [];
  if (cursor !== undefined) example.query = { ...example.query, cursor: decodeURIComponent(cursor) };
}

function hasCursor(operationId: string): boolean {
  const [template, method] = placeOf(operationId);
  const parameters: Json[] = document.paths[template][method].parameters ?? [];
  const names = parameters.map((it) =>
    '$ref' in it ? document.components.parameters[it.$ref.split('/').at(-1)].name : it.name,
  );
  return names.includes('cursor') && names.includes('per_page');
}

/** Repeats a request, because work in the background may change its answer for a while. @returns the last answer, so that a comparison shows it. */
async function repeat<T extends { isRight: boolean }>(tryOnce: () => Promise<T>): Promise<T> {
  const begin = performance.now();
  for (;;) {
    const tried = await tryOnce();
    if (tried.isRight) return tried;
    if (performance.now() - begin > patienceMs) {
      // One difference is enough: the others are shown at once.
      patienceMs = 0;
      return tried;
    }
    await new Promise((resolve) => setTimeout(resolve, WRITES ? 400 : 50));
  }
}

async function send(
  operationId: string,
  { path = {}, query = {}, headers = {}, body, file }: Request,
): Promise<Answer> {
  const [template, method] = placeOf(operationId);
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(path[name]));
  const search = new URLSearchParams(query);
  const url = search.size === 0 ? filled : `${filled}?${search}`;
  const isOfCustomers = ofCustomers.paths[template]?.[method] !== undefined;
  const options = {
    headers,
    ...(body === undefined ? {} : { body }),
    ...(file === undefined ? {} : { body: file, type: 'application/octet-stream' }),
  };
  const answer: Answer = isOfCustomers
    ? await service.call(method.toUpperCase(), url, { key, ...options })
    : await asOperator(service, token, method.toUpperCase(), url, { customer, ...options });
  expect(answer.status, `${operationId}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer;
}

const ask = async (operationId: string, asked?: Request): Promise<Json> =>
  (await request(operationId, asked)).body;

function placeOf(operationId: string): [template: string, method: string] {
  for (const [template, methods] of Object.entries<Json>(document.paths))
    for (const [method, operation] of Object.entries<Json>(methods))
      if (operation.operationId === operationId) return [template, method];
  throw new Error(`There is no operation ${operationId}`);
}

const endsAs = (what: string, id: number, status: string) =>
  until(`${what} ${id} ${status}`, async () => {
    const { body } = await service.call('GET', `/v1/${what}s/${id}`, { key });
    return body[what].status === status && body[what];
  });

beforeAll(async () => {
  ofCustomers = (await service.call('GET', '/openapi.json')).body;
  document = (await service.callOps('GET', '/openapi.json')).body;
  month = new Normaliser(receiver.url);
  committed = JSON.parse(await readFile(COMMITTED, 'utf8')).operations;
  month.begin('apikey 1', '2025-11-03 06:31:37Z');
  month.begin('operator_token 1', '2025-11-03 06:30:00Z');
  token = (
    await createToken(service.runtime.database, OPERATOR, {
      title: 'Kurulum',
      role: 'admin',
      expires_at: null,
    })
  ).token;
  await fillMonth();
}, 300_000);

/** Waits for what the service does after an import: the account's balance, its completeness, and the deliveries. */
async function settled(account: number, ...webhooks: number[]): Promise<void> {
  const read = async (path: string) => (await service.call('GET', path, { key })).body;
  await until('the balance', async () => {
    const { accounts } = await read(`/v1/accounts/${account}`);
    return accounts[0].balance_source === 'statement';
  });
  await until('the completeness', async () => {
    const { completeness } = await read(`/v1/accounts/${account}/completeness`);
    return completeness.status === 'complete';
  });
  for (const id of webhooks)
    await until('the deliveries', async () => {
      const { delivered, pending } = (await read(`/v1/webhooks/${id}`)).webhook.deliveries;
      return delivered + pending === 10 && (id !== webhooks[0] || pending === 0);
    });
}

/** Query parameters that the month's other requests do not have. Each is tried alone, for the month. */
const FILTERS: Record<string, string> = {
  dc: 'Credit',
  amount: '12500.00',
  amount_min: '1000.00',
  amount_max: '20000.00',
  currency: 'TRY',
  q: 'fatura',
  opponent_iban: 'TR470011100000099000005511',
  unique_id: 'FT25307001',
  import_id: '1',
  withdrawn: 'only',
  order: 'newest',
  page: '1',
  account: '1',
};

/** November 2025 of the bookshop Kadıköy Kitabevi, at Ladin Bank. */
async function fillMonth(): Promise<void> {
  const created = await ask('createCustomer', {
    body: { name: 'Kadıköy Kitabevi', external_id: 'kitabevi-17', api_key: { title: 'Muhasebe' } },
  });
  key = created.api_key;
  customer = String(created.customer.id);
  const id = created.customer.id;
  await ask('listCustomers', { query: { name: 'Kadıköy Kitabevi' } });
  await ask('updateCustomer', { path: { id }, body: { metadata: { plan: 'shop' } } });
  await ask('getCustomer', { path: { id } });

  const { account } = await ask('createAccount', {
    body: {
      bank: 'Ladin Bank',
      title: 'Ana Hesap',
      currency: 'TRY',
      iban: 'TR320001000000099000000404',
      number: '9900000040',
      on_conflict: 'hold',
      late_after_days: 35,
      check_balances: false,
      statement_numbers: 'use',
      encoding: 'windows-1254',
    },
  });
  const ofAccount = { path: { id: account.id } };
  const { webhook } = await ask('createWebhook', {
    body: {
      title: 'Muhasebe',
      description: 'For the bookkeeper',
      delivery: 'push',
      endpoint: `${receiver.url}/ledgerbell`,
      events: ['NEW_TRANSACTION', 'WITHDRAWN_TRANSACTION'],
      account: account.id,
      encoding: 'json',
      body: 'extended',
      hash_encoding: 'hex',
      ordered: false,
      rate_limit: 50,
      max_in_flight: 8,
      headers: { 'X-Team': 'bookkeeping' },
    },
  });
  const ofWebhook = { path: { id: webhook.id } };
  const feed = await service.call('POST', '/v1/webhooks', {
    key,
    body: { title: 'Mutabakat', delivery: 'pull', event: 'NEW_TRANSACTION', account: 'all' },
  });

  const { import: small } = await ask('createImport', {
    body: {
      transactions: [
        {
          account_id: account.id,
          dc: 'Credit',
          code: 'FAT',
          amount: '12500.00',
          balance: '37500.00',
          description: 'FATURA 2025-118',
          date_issue: '2025-11-03',
          opponent_id: '98765432109',
          opponent_iban: 'TR470011100000099000005511',
          unique_id: 'FT25307001',
          name: 'DENIZ YAZILIM A.S.',
        },
      ],
    },
  });
  await endsAs('import', small.id, 'done');
  const ofImport = { path: { id: small.id } };
  const listed = await ask('listTransactions', { query: { starts: '2025-11-01', ends: '2025-11-30' } });
  const ofMovement = { path: { id: listed.transactions[0].id } };
  await ask('getTransaction', { ...ofMovement, query: { fields: 'extended' } });
  await ask('listAccountTransactions', { path: { account_id: account.id }, query: { starts: '2025-11-01' } });
  const [delivery] = await until('the delivery', async () => {
    const { body } = await service.call('GET', `/v1/webhooks/${webhook.id}/deliveries?status=delivered`, {
      key,
    });
    return body.deliveries.length === 1 && body.deliveries;
  });
  await ask('getDelivery', { path: { id: delivery.id } });
  await ask('listWebhookDeliveries', { ...ofWebhook, query: { status: 'delivered' } });
  await ask('listWebhookDeliveries', { ...ofWebhook, query: { movement: String(ofMovement.path.id) } });
  await ask('listTransactionDeliveries', ofMovement);
  const ofFeed = { path: { id: feed.body.webhook.id } };
  const { cursor } = await ask('readFeed', { ...ofFeed, query: { limit: '100', wait: '0' } });

  month.goTo('2025-11-30 18:00:00Z');
  const statement = await readFile(STATEMENT);
  const uploaded = await service.call('POST', '/v1/imports?format=mt940', {
    key,
    body: statement,
    type: 'application/octet-stream',
  });
  await endsAs('import', uploaded.body.import.id, 'done');
  await settled(account.id, webhook.id, feed.body.webhook.id);
  await ask('readFeed', { ...ofFeed, query: { cursor } });
  await ask('readFeed', { ...ofFeed, headers: { 'Last-Event-ID': cursor } });
  await ask('listWebhookDeliveries', ofWebhook);
  await ask('getImport', { path: { id: uploaded.body.import.id } });
  await ask('listImports');
  await ask('listImportRejections', ofImport);
  await ask('listImportFiles', { path: { id: uploaded.body.import.id } });
  await ask('listImportDuplicates', { path: { id: uploaded.body.import.id } });
  for (const [name, value] of Object.entries(FILTERS))
    await ask('listTransactions', { query: { starts: '2025-11-01', [name]: value } });
  await ask('listTransactions', {
    query: {
      starts: '2025-11-01',
      format: 'csv',
      columns: 'date_issue,amount,description',
      separator: 'semicolon',
      decimal: 'comma',
      bom: 'true',
      raw: 'false',
    },
  });
  await ask('listAccountTransactions', { path: { account_id: account.id }, query: { starts: '2025-11-01' } });
  await ask('listAccountTransactions', {
    path: { account_id: account.id },
    query: { starts: '2025-11-01', format: 'csv' },
  });
  await ask('listBanks');
  await ask('listAccounts');
  await ask('getAccount', ofAccount);
  await ask('updateAccount', { ...ofAccount, body: { title: 'Kasa Hesabı' } });
  await ask('listBalances', { ...ofAccount, query: { from: '2025-11-01', to: '2025-11-30' } });
  await ask('listStatements', ofAccount);
  await ask('getCompleteness', { ...ofAccount, query: { from: '2025-11-01', to: '2025-11-30' } });
  await ask('getApiSecret');
  await ask('rotateApiSecret');
  const { apikey } = await ask('createApiKey', {
    body: { title: 'Raporlar', account: [account.id], scopes: ['read'] },
  });
  await ask('listApiKeys');
  await ask('deleteApiKey', { path: { id: apikey.id } });
  const [movement] = (await service.call('GET', '/v1/transactions?unique_id=FT25307001', { key })).body
    .transactions;
  const changed = {
    account_id: account.id,
    dc: 'Credit',
    amount: '12600.00',
    date_issue: '2025-11-03',
    unique_id: 'FT25307001',
  };
  const other = await service.call('POST', '/v1/imports', { key, body: { transactions: [changed] } });
  await endsAs('import', other.body.import.id, 'done');
  expect(movement.amount).toBe('12500.00');
  const { conflicts } = await ask('listConflicts', { query: { status: 'open' } });
  await ask('listConflicts', { query: { account_id: String(account.id) } });
  const ofConflict = { path: { id: conflicts[0].id } };
  await ask('getConflict', ofConflict);
  await ask('decideConflict', { ...ofConflict, body: { decision: 'ignore' } });
  await ask('createImport', {
    query: { dry_run: 'true' },
    body: {
      transactions: [
        { ...changed, amount: '40.00', unique_id: 'FT25307002' },
        { ...changed, amount: '12500.00', description: 'FATURA 2025-118/A' },
      ],
    },
  });
  await ask('createImport', {
    query: {
      dry_run: 'true',
      format: 'mt940',
      account_id: String(account.id),
      create_accounts: 'false',
      force_account: 'false',
      unidentified: 'known',
    },
    file: statement,
  });
  await ask('listWebhooks');
  await ask('getWebhook', ofWebhook);
  await ask('updateWebhook', {
    ...ofWebhook,
    body: { title: 'Muhasebe programı', description: 'For the bookkeeper and her team', max_in_flight: 16 },
  });

  const { source } = await ask('createSource', {
    body: {
      title: 'Ladin Bank, gün sonu',
      kind: 'folder',
      settings: { path: 'ladin' },
      schedule: { cron: '0 7 * * 1-5', time_zone: 'Europe/Istanbul' },
      account_id: account.id,
      format: 'mt940',
      encoding: 'windows-1254',
      create_accounts: false,
      force_account: false,
      settle_seconds: 5,
      on_conflict: 'hold',
    },
  });
  const ofSource = { path: { id: source.id } };
  await ask('listSources');
  await ask('getSource', ofSource);
  await ask('updateSource', { ...ofSource, body: { title: 'Ladin Bank, akşam', settle_seconds: 60 } });
  await mkdir(join(sourcesDir, customer, 'ladin'), { recursive: true });
  await writeQuietly(join(sourcesDir, customer, 'ladin', 'november.sta'), statement);
  await ask('updateSource', { ...ofSource, body: { settle_seconds: 0 } });
  await ask('runSource', ofSource);
  const run = await until('the run', async () => {
    const { body } = await service.call('GET', `/v1/sources/${source.id}/runs`, { key });
    return body.runs[0]?.status === 'done' && body.runs[0];
  });
  await ask('listSourceRuns', ofSource);
  const collected = { id: run.imports[0].id };
  await endsAs('import', collected.id, 'done');

  await ask('testWebhook', ofWebhook);
  await ask('rotateWebhookSecret', ofWebhook);
  await ask('redeliver', { path: { id: delivery.id } });
  await until('the second attempt', async () => {
    const { body } = await service.call('GET', `/v1/deliveries/${delivery.id}`, { key });
    return body.delivery.status === 'delivered' && body.delivery.attempts === 2;
  });
  const { replay } = await ask('replayWebhook', {
    ...ofWebhook,
    body: { since: '2025-11-01 00:00:00+03', status: 'delivered' },
  });
  await until('the replay', async () => {
    const { body } = await service.call('GET', `/v1/replays/${replay.id}`, { key });
    return body.replay.state === 'done';
  });
  await ask('listReplays', ofWebhook);
  await ask('getReplay', { path: { id: replay.id } });

  await cancelOne(ofWebhook);
  await retryOne();
  await fillPages(account.id, ofSource);
  await ask('getVerdict');

  const wrong = { body: { reason: 'The bank sent the file of another account.' } };
  const withdrawn = { path: collected, ...wrong };
  await ask('withdrawImport', { ...withdrawn, query: { dry_run: 'true' } });
  await keepCursor('withdrawImport', { path: { id: 2 }, ...wrong, query: { dry_run: 'true' } });
  const { withdrawal } = await ask('withdrawImport', withdrawn);
  await endsAs('withdrawal', withdrawal.id, 'done');
  await ask('getWithdrawal', { path: { id: withdrawal.id } });
  const ofStatement = { path: { id: 1 }, ...wrong };
  await ask('withdrawStatement', { ...ofStatement, query: { dry_run: 'true', per_page: '2' } });
  await keepCursor('withdrawStatement', { ...ofStatement, query: { dry_run: 'true' } });
  const second = await ask('withdrawStatement', ofStatement);
  await endsAs('withdrawal', second.withdrawal.id, 'done');
  await ask('listWithdrawals');
  await until('the balance without the statement', async () => {
    const { body } = await service.call('GET', `/v1/accounts/${account.id}/balances`, { key });
    return body.balances.every(({ statement_id }: Json) => statement_id !== ofStatement.path.id);
  });

  const { operator_token: operator } = await ask('createOperatorToken', {
    body: { title: 'Nöbetçi', role: 'viewer' },
  });
  await ask('listOperatorTokens');
  await ask('deleteOperatorToken', { path: { id: operator.id } });
  await ask('listChanges', { query: { per_page: '2' } });
  await ask('listChanges', { query: { source: 'api', subject: `import ${collected.id}`, per_page: '2' } });
  const { webhook_template: template } = await ask('createWebhookTemplate', {
    body: {
      title: 'Bookkeeping',
      endpoint: `${receiver.url}/template`,
      event: 'NEW_TRANSACTION',
      customers: 'all',
    },
  });
  const ofTemplate = { path: { id: template.id } };
  await ask('listWebhookTemplates');
  await ask('getWebhookTemplate', ofTemplate);
  await ask('updateWebhookTemplate', { ...ofTemplate, body: { title: 'Bookkeeping program' } });
  await ask('rotateWebhookTemplateSecret', ofTemplate);
  await ask('listWebhooksOfTemplate', ofTemplate);
  await replayTemplate(ofTemplate);
  await ask('deleteWebhookTemplate', ofTemplate);
  await ask('verifyBooks', { query: { from: '2025-11-01', to: '2025-11-30' } });
  await ask('listCustomers', { query: { external_id: 'kitabevi-17' } });
  await ask('listCustomers', { query: { owner_of: `webhook:${webhook.id}` } });
  await ask('listCustomers');
  await ask('deleteWebhook', ofWebhook);
  // A deleted account takes its sources with it.
  await ask('collectSourceAgain', { ...ofSource, body: { import_id: collected.id } });
  await ask('deleteSource', ofSource);
  await ask('deleteAccount', ofAccount);
  await ask('deleteCustomer', { path: { id }, query: { confirm: 'Kadıköy Kitabevi' } });
  await ask('getHealth');
  await ask('getReadiness');
}

type OfOne = { path: { id: string | number } };

/** Cancels a replay of a paused webhook, of which nothing was sent. */
async function cancelOne(ofWebhook: OfOne): Promise<void> {
  const change = (status: string) => send('updateWebhook', { ...ofWebhook, body: { status } });
  await change('paused');
  const { body } = await service.call('POST', `/v1/webhooks/${ofWebhook.path.id}/replay`, {
    key,
    body: { since: '2025-11-01 00:00:00+03', status: 'delivered' },
  });
  await ask('cancelReplay', { path: { id: body.replay.id } });
  await ask('listReplays', ofWebhook);
  await change('active');
}

/** Retries an import whose file was cut off. */
async function retryOne(): Promise<void> {
  const { body } = await service.call('POST', '/v1/imports?format=mt940', {
    key,
    body: 'The file of November follows tomorrow.',
    type: 'application/octet-stream',
  });
  await endsAs('import', body.import.id, 'failed');
  await ask('retryImport', { path: { id: body.import.id } });
  await endsAs('import', body.import.id, 'failed');
}

/** Adds a second one of what the month has one of, and reads the cursors of the listings that had one item. */
async function fillPages(account: number, ofSource: OfOne): Promise<void> {
  const post = async (path: string, body: object) => {
    const answer = await service.call('POST', path, { key, body });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return answer.body;
  };
  await post('/v1/accounts', { bank: 'Martı Bank', title: 'Dolar Hesabı', currency: 'USD' });
  await post('/v1/apikeys', { title: 'Kasa', account: 'all', scopes: ['read'] });
  await post('/v1/sources', {
    title: 'Ladin Bank, gün içi',
    kind: 'folder',
    settings: { path: 'ladin-intraday' },
    schedule: { cron: '0 * * * *', time_zone: 'Europe/Istanbul' },
  });
  const uploaded = await service.call('POST', '/v1/imports?format=mt940', {
    key,
    body: await readFile(DECEMBER),
    type: 'application/octet-stream',
  });
  await endsAs('import', uploaded.body.import.id, 'done');
  await service.call('POST', `/v1/sources/${ofSource.path.id}/run`, { key });
  await until('the second run', async () => {
    const { body } = await service.call('GET', `/v1/sources/${ofSource.path.id}/runs`, { key });
    return body.runs.length === 2 && body.runs[0].status === 'done';
  });
  await asOperator(service, token, 'POST', '/v1/customers', {
    body: { name: 'Moda Kırtasiye', external_id: 'kirtasiye-18' },
  });
  const changed = { account_id: account, dc: 'Credit', date_issue: '2025-11-03', unique_id: 'FT25307001' };
  const { import: other } = await post('/v1/imports', { transactions: [{ ...changed, amount: '12650.00' }] });
  await endsAs('import', other.id, 'done');
  await ask('listConflicts');
  await send('decideConflict', { path: { id: 2 }, body: { decision: 'ignore' } });
  await ask('listBanks');
  await ask('listAccounts');
  await ask('listApiKeys');
  await ask('listSources');
  await ask('listSourceRuns', ofSource);
  await ask('listStatements', { path: { id: account } });
}

/** Sends the movement of another import to the webhook of a template, and replays it. */
async function replayTemplate(ofTemplate: OfOne): Promise<void> {
  await asOperator(service, token, 'POST', '/v1/webhook-templates', {
    body: { title: 'Reports', endpoint: `${receiver.url}/reports`, event: 'NEW_CREDIT', customers: 'all' },
  });
  await ask('listWebhookTemplates');
  await ask('listWebhooksOfTemplate', { ...ofTemplate, query: { having: 'pending' } });
  await ask('replayWebhookTemplate', {
    ...ofTemplate,
    body: { since: '2025-11-01 00:00:00+03', status: 'failed' },
  });
}

describe('the examples of /openapi.json', () => {
  it('are what the routes answer (update them with EXAMPLES=true)', async () => {
    const text = `${JSON.stringify(made, null, 2)}\n`;
    if (WRITES) await writeFile(COMMITTED, text);
    expect(JSON.parse(text)).toEqual(JSON.parse(await readFile(COMMITTED, 'utf8')));
  });

  it('are missing only where the table says', () => {
    expect(missingOf(document)).toEqual(MISSING);
  });
});

/** The parameters and bodies without an example, each with its reason. */
const MISSING: string[] = [
  // The month's bank sends MT940, and a profile is for CSV and XLSX.
  'createImport query profile',
];

/** The parameters, JSON bodies and successful JSON answers without an example. */
function missingOf({ paths, components }: Json): string[] {
  const missing = Object.values<Json>(paths).flatMap((methods) =>
    Object.values<Json>(methods).flatMap(({ operationId, parameters = [], requestBody, responses }) => {
      const bodies = [
        ['body', requestBody],
        ...Object.entries<Json>(responses).filter(([status]) => status.startsWith('2')),
      ];
      return [
        ...parameters
          .filter((it: Json) => !('$ref' in it || 'example' in it))
          .map((it: Json) => `${operationId} ${it.in} ${it.name}`),
        ...bodies.flatMap(([name, it]) => {
          const json = it?.content?.['application/json'];
          return json === undefined || 'example' in json ? [] : [`${operationId} ${name}`];
        }),
      ];
    }),
  );
  const shared = Object.entries<Json>(components.parameters).filter(([, it]) => !('example' in it));
  return [...missing, ...shared.map(([name]) => name)].toSorted();
}
