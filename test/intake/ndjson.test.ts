import { describe, expect, it } from 'vitest';
import { readAll, uniqueIds } from '../support/listing.ts';
import { createAccount, importDone, movement } from '../support/movements.ts';
import { send } from '../support/raw-http.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api', 'importer'] });

const NDJSON = 'application/x-ndjson';

const customerWithAccount = async () => {
  const { api_key: key } = await service.customer();
  return { key, account: (await createAccount(service, key)).id };
};

/** Sends the parts in chunks, waits until the import is done, and reads the stored rows and the issues. */
async function importParts(key: string, parts: Iterable<Buffer | string>) {
  const answer = await send(`${service.url}/v1/imports`, {
    method: 'POST',
    headers: { Authentication: key, 'Content-Type': NDJSON },
    body: parts,
  });
  expect(answer.status).toBe(202);
  const done = await importDone(service, key, answer.body.import.id);
  const { body } = await service.call('GET', `/v1/imports/${done.id}/errors`, { key });
  const issues = body.errors.map(({ line, path }: { line: number; path: string }) => [line, path]);
  const rows = await readAll(service, key, '/v1/transactions?starts=2000-01-01');
  return { done, issues, stored: uniqueIds(rows), messages: JSON.stringify(body) };
}

describe('an NDJSON import', () => {
  it('stores the good rows and lists the rejected rows by line and path, without their values', async () => {
    const { key, account } = await customerWithAccount();
    const line = (fields: object) => `${JSON.stringify(movement(account, fields))}\n`;
    const { done, issues, stored, messages } = await importParts(key, [
      line({ unique_id: 'first' }),
      line({ amount: '12,3MARKER' }),
      '{"MARKER":\n',
      Buffer.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a]),
      line({ account_id: '999999' }),
      line({ date_issue: '2026-02-30', dc: 'MARKER' }),
      '"MARKER"\n',
      'null\n',
      line({ MARKED: 1 }),
      line({ unique_id: 'last' }),
    ]);
    expect(stored).toEqual(['first', 'last']);
    expect(done).toMatchObject({ format: 'ndjson', status: 'done', received: 10, inserted: 2, rejected: 8 });
    expect(issues).toEqual([
      [2, 'amount'],
      [3, ''],
      [4, ''],
      [5, 'account_id'],
      [6, 'date_issue'],
      [6, 'dc'],
      [7, ''],
      [8, ''],
      [9, 'MARKED'],
    ]);
    expect(messages).not.toContain('MARKER');
  });

  it('may have a byte order mark, CRLF, blank lines, and no newline at its end', async () => {
    const { key, account } = await customerWithAccount();
    const row = (unique_id: string) => JSON.stringify(movement(account, { unique_id }));
    const { done, issues, stored } = await importParts(key, [
      `\uFEFF${row('a')}\r\n\r\n\n  \t \r\n${row('b')}\n{\n${row('c')}`,
    ]);
    expect(stored).toEqual(['a', 'b', 'c']);
    expect(issues).toEqual([[6, '']]);
    expect(done).toMatchObject({ received: 4, inserted: 3, rejected: 1 });
  });

  it.each([
    ['nothing', ''],
    ['blank lines', '\n\r\n \n'],
    ['a byte order mark', '\uFEFF'],
  ])('of %s is done with zero rows', async (_case, body) => {
    const { key } = await customerWithAccount();
    const { done, issues } = await importParts(key, [body]);
    expect([done.received, done.inserted, done.rejected, issues]).toEqual([0, 0, 0, []]);
  });

  it('of several MiB is read correctly across all part boundaries, including letters of four bytes', async () => {
    const { key, account } = await customerWithAccount();
    // Lines of different lengths, so that a character lies across each boundary of 1 MiB.
    const description = (i: number) => '🙂ğ'.repeat(600 + (i % 7)) + 'x'.repeat(i % 4);
    const rows = Array.from({ length: 900 }, (_, i) =>
      movement(account, { unique_id: `${i}`, description: description(i) }),
    );
    const bytes = Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n'));
    expect(bytes.length).toBeGreaterThan(3 * 1024 * 1024);
    const { done, stored } = await importParts(key, [bytes]);
    expect(done).toMatchObject({ received: 900, inserted: 900, rejected: 0 });
    expect(stored).toEqual(rows.map(({ unique_id }) => unique_id));
    const listed = await service.call('GET', '/v1/transactions?starts=2000-01-01', { key });
    expect(listed.body.transactions.map((it: { description: string }) => it.description)).toEqual(
      rows.map((row) => row.description),
    );
  });

  it('rejects only the huge line', async () => {
    const { key, account } = await customerWithAccount();
    const row = (fields: object) => `${JSON.stringify(movement(account, fields))}\n`;
    const { done, issues, stored, messages } = await importParts(key, [
      row({ unique_id: 'before' }),
      row({ description: 'MARKER'.repeat(500_000) }),
      row({ unique_id: 'after' }),
    ]);
    expect(stored).toEqual(['before', 'after']);
    expect(issues).toEqual([[2, '']]);
    expect(done).toMatchObject({ received: 3, inserted: 2, rejected: 1 });
    expect(messages).not.toContain('MARKER');
  });

  it('counts every row of a file in which every row has an issue', async () => {
    const { key } = await customerWithAccount();
    const { done, issues } = await importParts(key, ['{\n'.repeat(12_345)]);
    expect(done).toMatchObject({ received: 12_345, inserted: 0, rejected: 12_345 });
    expect(issues).toHaveLength(10_000);
  });
});
