import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { mt940 } from '../intake/statement-files.ts';
import { withdrawn } from '../intake/withdrawals/withdrawn.ts';
import { createAccount } from '../support/movements.ts';
import { useReceiver } from '../support/receiver.ts';
import { useService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { subscribe } from '../support/webhooks.ts';
import { hasOpenSsh, useOpenSsh } from './connectors/openssh.ts';
import { CREDENTIALS, useS3Server } from './connectors/s3-server.ts';
import { sendFile, sendJson, startWebServer } from './connectors/web-server.ts';
import { IBAN, type Run } from './folder-source.ts';

const service = useService();
const receiver = useReceiver();
const openSsh = useOpenSsh();
const s3 = useS3Server();

const MARCH = mt940([
  { day: 2, amount: 150, reference: 'A1' },
  { day: 3, amount: -20.5, reference: 'A2' },
]);

/** A customer with an account and a webhook, whose sources run when they are asked to. */
async function createCustomer(path: string) {
  const { api_key: key } = await service.customer();
  const account = await createAccount(service, key, { iban: IBAN });
  const webhook = await subscribe(service, key, receiver.url + path);
  const call = (method: string, at: string, body?: object) =>
    service.call(method, at, body === undefined ? { key } : { key, body });

  async function createSource(fields: object) {
    const { status, body } = await call('POST', '/v1/sources', {
      title: 'Banka',
      schedule: { cron: '0 0 1 1 *', time_zone: 'UTC' },
      ...fields,
    });
    expect(status, JSON.stringify(body)).toBe(200);
    return body.source;
  }

  /** Asks for a run, and waits for its end. */
  async function run(id: number): Promise<Run> {
    const newest = async (): Promise<Run | undefined> =>
      (await call('GET', `/v1/sources/${id}/runs`)).body.runs[0];
    const before = (await newest())?.id ?? 0;
    await call('POST', `/v1/sources/${id}/run`);
    return until('the end of a run', async () => {
      const last = await newest();
      return last !== undefined && last.id > before && last.status !== 'running' && last;
    });
  }

  /** A run brings two movements, both are sent as signed POSTs, and the next run brings nothing. */
  async function expectCollected(id: number, file: string | RegExp): Promise<void> {
    const first = await run(id);
    expect(first).toMatchObject({ status: 'done', files: 1, error: null });
    expect(first.imports[0]?.file).toMatch(file);
    const posts = await until('two POSTs', () => receiver.at(path).length === 2 && receiver.at(path));
    for (const { headers, body } of posts) {
      expect(() => new Webhook(webhook.secret).verify(body, headers)).not.toThrow();
    }
    expect(posts.map(({ body }) => JSON.parse(body).amount).toSorted()).toEqual(['150.00', '20.50']);
    expect(await run(id)).toMatchObject({ status: 'done', files: 0, imports: [], error: null });
    expect(receiver.at(path)).toHaveLength(2);
  }

  /** Asks for the file of a withdrawn import, and waits until it is collected once more. */
  async function collectAgain(id: number, importId: number): Promise<void> {
    const { status, body } = await call('POST', `/v1/sources/${id}/collect-again`, { import_id: importId });
    expect(status, JSON.stringify(body)).toBe(202);
    await until('the end of the run', async () => {
      const { runs } = (await call('GET', `/v1/sources/${id}/runs`)).body;
      const it = runs.findLast((one: Run) => one.id > body.previous_run_id);
      if (it === undefined || it.status === 'running') return false;
      expect(it).toMatchObject({ status: 'done', files: 1, error: null });
      return true;
    });
  }

  return { key, account, call, createSource, run, expectCollected, collectAgain };
}

it('hanging sources of one customer leave room for the sources of other customers', async () => {
  const slow = await startWebServer((_, response) => {
    response.writeHead(200);
    response.write('x');
  });
  const fast = await startWebServer((request, response) => sendFile(request, response, MARCH, '"1"'));
  const [one, other] = [await createCustomer('/hangs'), await createCustomer('/fair')];
  for (let i = 0; i < 12; i += 1) {
    const { id } = await one.createSource({ kind: 'http', settings: { url: `${slow.origin}/${i}.sta` } });
    await one.call('POST', `/v1/sources/${id}/run`);
  }
  await until('the first runs hang', () => slow.requests.length === 4);
  const { id } = await other.createSource({ kind: 'http', settings: { url: `${fast.origin}/march.sta` } });
  await other.expectCollected(id, 'march.sta');
  expect(slow.requests).toHaveLength(4);
});

describe('a file on another server leads to a verified notification', () => {
  it.skipIf(!hasOpenSsh)('over SFTP, with the file moved to done', async () => {
    const customer = await createCustomer('/sftp');
    const folder = join(openSsh.folder, 'out');
    await mkdir(folder);
    await writeFile(join(folder, 'march.sta'), MARCH);
    // An old modification time, so that the connector does not look twice.
    await utimes(join(folder, 'march.sta'), new Date(2026, 2, 4), new Date(2026, 2, 4));
    const source = await customer.createSource({
      kind: 'sftp',
      settings: {
        host: '127.0.0.1',
        port: openSsh.port,
        user: openSsh.user,
        path: folder,
        host_key: openSsh.hostKeys.ed25519,
        after: 'move',
      },
      credentials: { private_key: openSsh.key },
    });
    expect(source.credentials).toEqual(['private_key']);
    expect(JSON.stringify(source)).not.toContain('OPENSSH');
    await customer.expectCollected(source.id, 'march.sta');
    expect(await readdir(join(folder, 'done'))).toEqual(['march.sta']);
    // The upload goes on after the file was read.
    const done = join(folder, 'done/march.sta');
    await writeFile(done, `${MARCH}\r\n`);
    await utimes(done, new Date(2026, 2, 5), new Date(2026, 2, 5));
    expect(await customer.run(source.id)).toMatchObject({ status: 'done', files: 1, error: null });
    expect(await readdir(join(folder, 'done'))).toEqual(['march.sta']);
    const last = await customer.run(source.id);
    expect(last).toMatchObject({ files: 0 });
    const [newest] = (await customer.call('GET', `/v1/imports?per_page=1`)).body.imports;
    await withdrawn(service, customer.key, `imports/${newest.id}`);
    await customer.collectAgain(source.id, newest.id);
    expect(await readdir(join(folder, 'done'))).toEqual(['march.sta']);
    expect(await customer.run(source.id)).toMatchObject({ files: 0, error: null });
  });

  it('over HTTP', async () => {
    const customer = await createCustomer('/http');
    const bank = await startWebServer((request, response) => sendFile(request, response, MARCH, '"1"'));
    const source = await customer.createSource({
      kind: 'http',
      settings: { url: `${bank.origin}/export/march.sta` },
      credentials: { bearer: 'gizli' },
    });
    await customer.expectCollected(source.id, 'march.sta');
    expect(bank.requests.at(-1)?.headers['if-none-match']).toBe('"1"');
    expect(bank.requests.at(-1)?.headers.authorization).toBe('Bearer gizli');
    const [{ id }] = (await customer.call('GET', '/v1/imports')).body.imports;
    await withdrawn(service, customer.key, `imports/${id}`);
    await customer.collectAgain(source.id, id);
    expect(await customer.run(source.id)).toMatchObject({ files: 0, error: null });
  });

  it('from a JSON API, into the account of the source, page by page', async () => {
    const customer = await createCustomer('/json');
    const row = (dc: string, amount: string, id: string) => ({
      dc,
      amount,
      date_issue: '2026-03-02',
      unique_id: id,
    });
    const bank = await startWebServer((request, response) => {
      if (request.url === '/movements') {
        sendJson(response, { transactions: [row('Credit', '150.00', 'a')], next: 'p2' });
      } else {
        sendJson(response, { transactions: [row('Debit', '20.50', 'b')], next: null });
      }
    });
    const source = await customer.createSource({
      kind: 'http',
      account_id: Number(customer.account.id),
      settings: {
        url: `${bank.origin}/movements`,
        format: 'json',
        json: { cursor_path: 'next', cursor_parameter: 'after' },
      },
    });
    expect(await customer.run(source.id)).toMatchObject({ status: 'done', files: 2, error: null });
    const posts = await until('two POSTs', () => receiver.at('/json').length === 2 && receiver.at('/json'));
    expect(posts.map(({ body }) => JSON.parse(body).amount).toSorted()).toEqual(['150.00', '20.50']);
    expect(await customer.run(source.id)).toMatchObject({ status: 'done', files: 0 });
    expect(bank.requests.map(({ url }) => url)).toEqual([
      '/movements',
      '/movements?after=p2',
      '/movements?after=p2',
    ]);
  });

  it('from an S3 bucket', async () => {
    const customer = await createCustomer('/s3');
    const bucket = await s3.createBucket();
    await s3.put(bucket, 'in/march.sta', MARCH);
    const source = await customer.createSource({
      kind: 's3',
      settings: { endpoint: s3.endpoint, bucket, prefix: 'in/', after: 'move' },
      credentials: CREDENTIALS,
    });
    expect(source.credentials).toEqual(['access_key_id', 'secret_access_key']);
    await customer.expectCollected(source.id, 'march.sta');
  });
});

describe('a source on another server', () => {
  it('is refused at creation when its address is private', async () => {
    const { call } = await createCustomer('/refused');
    const host_key = `SHA256:${'A'.repeat(43)}`;
    for (const fields of [
      {
        kind: 'sftp',
        settings: { host: '10.0.0.5', user: 'firma', host_key },
        credentials: { password: 'p' },
      },
      { kind: 'http', settings: { url: 'http://169.254.169.254/latest/' } },
      { kind: 's3', settings: { endpoint: 'http://[::1]:9000', bucket: 'b-1' }, credentials: CREDENTIALS },
    ]) {
      const { status, body } = await call('POST', '/v1/sources', {
        title: 'Banka',
        schedule: { every: '1h' },
        ...fields,
      });
      expect(status).toBe(422);
      expect(body.detail).toContain('Sources are read from public addresses only');
    }
  });

  it.skipIf(!hasOpenSsh)('shows the host key that was seen when the host key is wrong', async () => {
    const { createSource, run, call } = await createCustomer('/host-key');
    const source = await createSource({
      kind: 'sftp',
      settings: {
        host: '127.0.0.1',
        port: openSsh.port,
        user: openSsh.user,
        host_key: `SHA256:${'A'.repeat(43)}`,
      },
      credentials: { private_key: openSsh.key },
    });
    const failed = await run(source.id);
    expect(failed).toMatchObject({ status: 'failed', files: 0 });
    expect(failed.error).toContain(openSsh.hostKeys.ed25519);
    const { body } = await call('GET', `/v1/sources/${source.id}`);
    expect(body.source).toMatchObject({ consecutive_failures: 1, error: failed.error });
  });
});
