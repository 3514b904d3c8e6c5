import { request } from 'node:http';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createAccount, importDone } from '../support/movements.ts';
import { expectProblem } from '../support/problem.ts';
import { send } from '../support/raw-http.ts';
import { countRows } from '../support/rows.ts';
import { type Answer, useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { mt940, type TestEntry } from './statement-files.ts';

const service = useOwnService({ because: 'it counts the rows of all tables', roles: ['api', 'importer'] });

const MARCH = mt940([
  { day: 2, amount: 10 },
  { day: 3, amount: -3 },
]);

interface Part {
  name?: string;
  filename?: string;
  type?: string;
  content: string;
}

const BOUNDARY = 'limit-of-a-part';

const render = (parts: readonly Part[], { end = `--${BOUNDARY}--\r\n` } = {}): string =>
  parts
    .map(({ name = 'file', filename, type, content }) => {
      const disposition = `Content-Disposition: form-data; name="${name}"`;
      const file = filename === undefined ? '' : `; filename="${filename}"`;
      const head = [disposition + file, ...(type === undefined ? [] : [`Content-Type: ${type}`])];
      return `--${BOUNDARY}\r\n${head.join('\r\n')}\r\n\r\n${content}\r\n`;
    })
    .join('') + end;

async function customer() {
  const { api_key: key } = await service.customer();
  await createAccount(service, key, { iban: 'TR330006100519786457841326' });
  const post = (body: string, query = '', headers: Record<string, string> = {}): Promise<Answer> =>
    service.call('POST', `/v1/imports${query}`, {
      key,
      body,
      type: `multipart/form-data; boundary=${BOUNDARY}`,
      headers,
    });
  return { key, post };
}

const file = (content: string): Part => ({ filename: 'march.sta', content });

describe('a file in a form', () => {
  it('is imported with the parameters of the query string', async () => {
    const { key, post } = await customer();
    const answer = await post(render([file(MARCH)]), '?format=mt940');
    expect(answer.status).toBe(202);
    expect(await importDone(service, key, answer.body.import.id)).toMatchObject({
      format: 'mt940',
      inserted: 2,
    });
  });

  it("is imported from a browser's form and from fetch", async () => {
    const { key } = await customer();
    const form = new FormData();
    form.append('file', new Blob([MARCH]), 'März „final“.sta');
    const headers = { Authentication: key };
    const response = await fetch(`${service.url}/v1/imports`, { method: 'POST', headers, body: form });
    expect(response.status).toBe(202);
    const { import: it } = (await response.json()) as { import: { id: number } };
    expect(await importDone(service, key, it.id)).toMatchObject({ inserted: 2 });
  });

  it('may have no file name, and may be sent as a dry run', async () => {
    const { post } = await customer();
    const answer = await post(render([{ content: MARCH }]), '?dry_run=true');
    expect(answer.body.dry_run).toMatchObject({ received: 2, inserted: 2 });
  });

  it('is stored completely, for any file size and any split of the form', async () => {
    const { key } = await customer();
    const many = Array.from(
      { length: 20_000 },
      (_, at): TestEntry => ({ day: (at % 28) + 1, amount: at + 1 }),
    );
    const body = Buffer.from(render([file(mt940(many))]));
    function* parts() {
      for (let at = 0, size = 1; at < body.length; at += size, size = (size * 3) % 100_003)
        yield body.subarray(at, at + size);
    }
    const answer = await send(`${service.url}/v1/imports`, {
      method: 'POST',
      headers: { Authentication: key, 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` },
      body: parts(),
    });
    expect(answer.status).toBe(202);
    expect(await importDone(service, key, answer.body.import.id)).toMatchObject({ inserted: 20_000 });
  });

  it('shares its Idempotency-Key with the same file sent without a form', async () => {
    const { key, post } = await customer();
    const headers = { 'Idempotency-Key': 'march' };
    const first = await post(render([file(MARCH)]), '', headers);
    const raw = (body: string) =>
      service.call('POST', '/v1/imports', { key, body, type: 'application/octet-stream', headers });
    const again = await raw(MARCH);
    expect([again.status, again.body.import.id]).toEqual([202, first.body.import.id]);
    expectProblem(await raw(mt940([])), 409, 'idempotency-key-reused');
    expectProblem(await post(render([file(mt940([]))]), '', headers), 409, 'idempotency-key-reused');
  });
});

describe('POST /v1/imports', () => {
  beforeAll(() =>
    until('the imports before are done', async () => Number((await countRows(service)).import_parts) === 0),
  );

  const long = mt940(Array.from({ length: 40_000 }, (_, at): TestEntry => ({ day: 1, amount: at + 1 })));

  it.each<[string, Part[]]>([
    ['a field but no file', [{ name: 'format', content: 'mt940' }]],
    ['a file in another field', [{ ...file(MARCH), name: 'statement' }]],
    ['a field before the file', [{ name: 'format', content: 'mt940' }, file(MARCH)]],
    ['a field after the file', [file(MARCH), { name: 'format', content: 'mt940' }]],
    ['a field after a long file', [file(long), { name: 'format', content: 'mt940' }]],
    ['two files', [file(MARCH), file(MARCH)]],
    ['two long files', [file(long), file(long)]],
    ['a part without a name', [{ ...file(MARCH), name: '' }]],
  ])('refuses a form with %s, and stores nothing of it', async (_, parts) => {
    const { post } = await customer();
    const before = await countRows(service);
    expect(expectProblem(await post(render(parts)), 422, 'invalid')).toEqual(['file']);
    expect(await countRows(service)).toEqual(before);
  });

  it.each<[string, string]>([
    ['plain text', 'Dear Sir or Madam'],
    ['no part', render([])],
    ['another boundary', render([file(MARCH)]).replaceAll(BOUNDARY, 'other')],
    ['no end', render([file(MARCH)], { end: '' })],
    ['no end after a long file', render([file(long)], { end: '' })],
    ['headers that break off', `--${BOUNDARY}\r\nContent-Disposition: form-data; name="fi`],
  ])('refuses a malformed form with %s, and stores nothing of it', async (_, body) => {
    const { post } = await customer();
    const before = await countRows(service);
    expectProblem(await post(body), 400, 'malformed-multipart');
    expect(await countRows(service)).toEqual(before);
  });

  it('refuses a form without a boundary in its content type', async () => {
    const { key } = await customer();
    const body = render([file(MARCH)]);
    const answer = await service.call('POST', '/v1/imports', { key, body, type: 'multipart/form-data' });
    expectProblem(answer, 400, 'malformed-multipart');
  });

  it('refuses a form with an empty file or a file that is no statement', async () => {
    const { post } = await customer();
    for (const content of ['', 'Dear Sir or Madam'])
      expectProblem(await post(render([file(content)])), 422, 'unreadable-file');
  });

  it('refuses a compressed form', async () => {
    const { post } = await customer();
    const answer = await post(render([file(MARCH)]), '', { 'Content-Encoding': 'gzip' });
    expectProblem(answer, 415, 'unsupported-content-encoding');
  });

  it('stores nothing of a form whose client disconnects', async () => {
    const { key } = await customer();
    const before = await countRows(service);
    const outgoing = request(`${service.url}/v1/imports`, {
      method: 'POST',
      headers: { Authentication: key, 'Content-Type': `multipart/form-data; boundary=${BOUNDARY}` },
    });
    onTestFinished(() => void outgoing.destroy());
    outgoing.on('error', () => {});
    outgoing.write(render([file(long.repeat(2))], { end: '' }));
    const receiving = () =>
      service.runtime.database.query<object[]>("SELECT id FROM imports WHERE status = 'receiving'");
    await until('the upload to begin', async () => (await receiving()).length > 0);
    outgoing.destroy();
    await until('the upload to be removed', async () => (await receiving()).length === 0);
    expect(await countRows(service)).toEqual(before);
  });
});
