import { gzipSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';
import { describe, expect, it } from 'vitest';
import { createAccount } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { mt940 } from './statement-files.ts';

const service = useService({ roles: ['api', 'importer'] });

const IBAN = 'TR330006100519786457841326';
const FILE = mt940([
  { day: 2, amount: 250.5 },
  { day: 3, amount: -10 },
]);

async function customer() {
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key, { iban: IBAN });
  const send = (
    body: string | Uint8Array,
    query = '',
    type = 'application/octet-stream',
    headers: Record<string, string> = {},
  ) => service.call('POST', `/v1/imports${query}`, { key, body: Buffer.from(body as string), type, headers });
  const finished = async (id: number) => {
    let found: { status: string; [field: string]: unknown } = { status: '' };
    await until('the import', async () => {
      found = (await service.call('GET', `/v1/imports/${id}`, { key })).body.import;
      return found.status === 'done' || found.status === 'failed';
    });
    return found;
  };
  return { key, account, send, finished };
}

describe('a statement file', () => {
  it('is accepted as it is, and its movements are stored', async () => {
    const { send, finished } = await customer();
    const answer = await send(FILE);
    expect(answer.status).toBe(202);
    expect(await finished(answer.body.import.id)).toMatchObject({
      status: 'done',
      format: 'auto',
      detected_format: 'mt940',
      inserted: 2,
      statements: 1,
    });
  });

  it('is given the format of its first statement, and no format before that or without a statement', async () => {
    const { send, finished } = await customer();
    const report = mt940([{ day: 2, amount: 1 }], { interim: true });
    const zipped = await send(zipSync({ 'a.942': strToU8(report), 'b.sta': strToU8(FILE) }));
    expect(zipped.body.import).toMatchObject({ format: 'auto', detected_format: null });
    expect(await finished(zipped.body.import.id)).toMatchObject({ format: 'auto', detected_format: 'mt942' });
    const rows = await send('{}\n', '', 'application/x-ndjson');
    expect(await finished(rows.body.import.id)).toMatchObject({ format: 'ndjson', detected_format: null });
  });

  it('may be compressed, and sent with its own content type and format', async () => {
    const { send, finished } = await customer();
    const answer = await send(gzipSync(FILE), '?format=mt940', 'application/gzip', {
      'content-encoding': 'gzip',
    });
    expect(answer.status).toBe(202);
    expect(await finished(answer.body.import.id)).toMatchObject({
      status: 'done',
      format: 'mt940',
      inserted: 2,
    });
  });

  it('is refused with a Content-Encoding other than gzip', async () => {
    const { send } = await customer();
    const answer = await send(FILE, '?format=mt940', 'application/octet-stream', {
      'content-encoding': 'br',
    });
    expectProblem(answer, 415, 'unsupported-content-encoding');
    expect(answer.body.detail).toContain('must be gzip, or absent');
  });

  it('of another account goes to the account that its sender insists on, or to a new account', async () => {
    const { send, finished, account, key } = await customer();
    const other = mt940([{ day: 2, amount: 1 }], { account: 'DE89370400440532013000' });
    const named = await send(other, `?account_id=${account.id}&force_account=true`);
    expect(await finished(named.body.import.id)).toMatchObject({ inserted: 1, rejected: 0, warnings: 1 });
    const created = await send(other, '?create_accounts=true');
    expect(await finished(created.body.import.id)).toMatchObject({ inserted: 1, rejected: 0 });
    const { accounts } = (await service.call('GET', '/v1/accounts', { key })).body;
    expect(accounts.map(({ iban }: { iban: string }) => iban)).toContain('DE89370400440532013000');
  });

  it('with warnings has their number and the first three, by line, in each answer about the import', async () => {
    const { send, finished, key } = await customer();
    const statements = [1, 2, 3, 4].map((at) =>
      mt940([{ day: 2, amount: 10 }], { account: `WRONG${at}`, closing: 2_000 + at }),
    );
    const { id } = (await send(statements.join('\r\n'), '?create_accounts=true')).body.import;
    const done = await finished(id);
    const get = async (path: string) => (await service.call('GET', path, { key })).body;
    const { warnings } = await get(`/v1/imports/${id}/errors`);
    expect(warnings.map(({ message }: { message: string }) => message)).toEqual(
      [1, 2, 3, 4].map((at) => expect.stringContaining(`The closing balance is 200${at}.00`)),
    );
    expect(done).toMatchObject({ warnings: 4, statements: 4, first_warnings: warnings.slice(0, 3) });

    const right = await send(mt940([{ day: 4, amount: 10 }], { account: 'RIGHT' }), '?create_accounts=true');
    expect(await finished(right.body.import.id)).toMatchObject({ warnings: 0, first_warnings: [] });
    const other = mt940([{ day: 2, amount: 10 }], { account: 'WRONG5', closing: 2_005 });
    const last = await finished((await send(other, '?create_accounts=true')).body.import.id);
    const { imports } = await get('/v1/imports');
    expect(imports.map((it: { first_warnings: object[] }) => it.first_warnings)).toEqual([
      last.first_warnings,
      [],
      done.first_warnings,
    ]);
    expect(last.first_warnings).toHaveLength(1);
  });

  it('that is sent again with its Idempotency-Key is answered with its warnings', async () => {
    const { send, finished } = await customer();
    const again = () =>
      send(mt940([{ day: 2, amount: 10 }], { closing: 1 }), '', 'application/octet-stream', {
        'idempotency-key': 'wrong-balance',
      });
    const first = await again();
    expect(first.body.import).toMatchObject({ status: 'queued', warnings: 0, first_warnings: [] });
    const done = await finished(first.body.import.id);
    expect((await again()).body.import).toMatchObject({
      warnings: 1,
      first_warnings: done.first_warnings,
    });
    expect(done.first_warnings).toHaveLength(1);
  });

  it.each([
    ['?format=pdf', 'format'],
    ['?account_id=999999999', 'account_id'],
    ['?create_accounts=yes', 'create_accounts'],
    ['?profile=../x', 'profile'],
    ['?dc=Debit', 'dc'],
  ])('with %s is refused', async (query, path) => {
    const { send } = await customer();
    const answer = await send(FILE, query);
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ path }]);
  });

  it('creates no account when the key is limited to some accounts', async () => {
    const { key, account } = await customer();
    const limited = await service.call('POST', '/v1/apikeys', {
      key,
      body: { title: 'One', account: [account.id] },
    });
    const answer = await service.call('POST', '/v1/imports?create_accounts=true', {
      key: limited.body.apikey.apikey,
      body: Buffer.from(FILE),
      type: 'application/octet-stream',
    });
    expect(answer.status).toBe(422);
  });
});
