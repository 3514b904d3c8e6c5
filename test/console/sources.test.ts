import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { mt940 } from '../intake/statement-files.ts';
import { useSourcesDir, writeQuietly } from '../sources/folder-source.ts';
import { useReceiver } from '../support/receiver.ts';
import { useOwnService } from '../support/service.ts';
import { CUSTOMER, createTrouble, type Trouble } from '../support/trouble.ts';
import { until } from '../support/until.ts';

const receiver = useReceiver();
const sourcesDir = useSourcesDir();
const service = useOwnService({ because: 'it has a folder for sources', config: { sourcesDir } });
let trouble: Trouble;

beforeAll(async () => {
  trouble = await createTrouble(service, receiver);
});

const HTML = { Accept: 'text/html' };

const page = async (path: string) => {
  const { body, headers, status } = await service.callOps('GET', path, { headers: HTML });
  return { html: String(body), headers, status };
};

/** The text of a page, without its tags. */
const textOf = async (path: string) =>
  (await page(path)).html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll(/\s+/g, ' ');

/** The sources of a list, in its order. */
const listed = async (query = '') =>
  [...(await page(`/ops/sources${query}`)).html.matchAll(/href="\/ops\/sources\/(\d+)"/g)].map(
    ([, id]) => id,
  );

const press = (path: string) =>
  service.callOps('POST', path, {
    body: '',
    type: 'application/x-www-form-urlencoded',
    headers: { ...HTML, Origin: service.opsUrl },
  });

const readSource = async (id: string) =>
  (await service.call('GET', `/v1/sources/${id}`, { key: trouble.key })).body.source;

describe('the list of sources', () => {
  it('shows sources in trouble first: failing ones, then those with a wrong file', async () => {
    const { failing, wrongFile, paused } = trouble.sources;
    const all = [failing, wrongFile, failing, wrongFile, paused];
    expect(await listed()).toEqual(all);
    expect(await listed('?id=&customer=&account=&status=')).toEqual(all);
    const text = await textOf('/ops/sources');
    for (const shown of [CUSTOMER, 'Günlük ekstre', 'failing', 'wrong file', 'refused the password']) {
      expect(text).toContain(shown);
    }
  });

  it('can be searched by id, customer, account and status', async () => {
    const { failing, wrongFile, paused } = trouble.sources;
    const { headers } = await page(`/ops/sources?id=${paused}`);
    expect(headers.get('location')).toBe(`/ops/sources/${paused}`);
    expect(await listed('?status=paused')).toEqual([paused]);
    expect(await listed('?status=active')).toEqual([failing, wrongFile]);
    expect(await listed(`?customer=${trouble.customerId}`)).toEqual([failing, wrongFile, paused]);
    expect(await listed('?customer=999')).toEqual([]);
    expect(await listed(`?account=${trouble.accountId}`)).toEqual([]);
    const { database } = service.runtime;
    await database.query('UPDATE sources SET account_id = ? WHERE id = ?', [trouble.accountId, failing]);
    await database.query('INSERT INTO source_accounts VALUES (?, ?)', [paused, trouble.accountId]);
    expect(await listed(`?account=${trouble.accountId}`)).toEqual([failing, paused]);
    expect(await listed(`?account=${trouble.accountId}&status=paused`)).toEqual([paused]);
  });

  it('continues on the next page', async () => {
    const { failing, paused } = trouble.sources;
    expect(await listed(`?after=${failing}`)).toEqual([trouble.sources.wrongFile, paused]);
  });
});

describe('the page of a source', () => {
  it('says what is wrong, since when, and where the files are, without credentials', async () => {
    const text = await textOf(`/ops/sources/${trouble.sources.failing}`);
    expect(text).toMatch(/has failed 3 times in a row, for 2 h 10 min\. Last error: The server sftp/);
    for (const shown of ['sftp.banka.example', '/ekstre', 'Credentials password', '0 0 1 1 * in UTC']) {
      expect(text).toContain(shown);
    }
  });

  it("lists the source's runs, newest first, and finds them by status and time", async () => {
    const path = `/ops/sources/${trouble.sources.failing}`;
    const statuses = async (query = '') =>
      [...(await page(path + query)).html.matchAll(/data-label="Status"><span class="tag \w+">(\w+)</g)].map(
        ([, status]) => status,
      );
    expect(await statuses()).toEqual(['failed', 'failed', 'failed', 'done']);
    expect(await statuses('?status=done')).toEqual(['done']);
    expect(await statuses('?since=2099-01-01 00:00:00')).toEqual([]);
    expect(await statuses('?until=2001-01-01 00:00:00')).toEqual([]);
    const { html, status } = await page(`${path}?since=dün`);
    expect(status).toBe(422);
    expect(html).toContain('since must be a date and time that exist');
  });

  it('links to the imports of its files, and their pages link back', async () => {
    const { wrongFile } = trouble.sources;
    const { html } = await page(`/ops/sources/${wrongFile}`);
    expect(html).toContain('mart &lt;i&gt;2026&lt;/i&gt;.sta');
    expect(html).toContain(`href="/ops/imports/${trouble.imports.rejected}"`);
    const { database } = service.runtime;
    await database.query('UPDATE imports SET api_key_id = NULL, source_id = ? WHERE id = ?', [
      wrongFile,
      trouble.imports.rejected,
    ]);
    const back = `href="/ops/sources/${wrongFile}"`;
    expect((await page(`/ops/imports/${trouble.imports.rejected}`)).html).toContain(back);
    const [movement] = await database.query<{ id: string }[]>(
      'SELECT id FROM transactions WHERE import_id = ?',
      [trouble.imports.rejected],
    );
    expect((await page(`/ops/trace?movement=${movement?.id}`)).html).toContain(back);
  });

  it('still exists for a deleted source, because imports link to it', async () => {
    const { body } = await service.call('POST', '/v1/sources', {
      key: trouble.key,
      body: {
        title: 'Silinen',
        kind: 'folder',
        settings: { path: 'silinen' },
        schedule: { cron: '0 0 1 1 *' },
      },
    });
    const { id } = body.source;
    await service.call('DELETE', `/v1/sources/${id}`, { key: trouble.key });
    expect(await textOf(`/ops/sources/${id}`)).toContain('It was deleted.');
    expect(await listed()).not.toContain(String(id));
    expect((await press(`/ops/sources/${id}/run`)).status).toBe(404);
  });
});

describe('an operator in the console', () => {
  it('runs a source now, and sees the outcome of its files', async () => {
    const { wrongFile } = trouble.sources;
    const inbox = join(sourcesDir, trouble.customerId, 'aylik');
    await mkdir(inbox, { recursive: true });
    await writeQuietly(join(inbox, 'nisan.sta'), mt940([{ day: 2, amount: 1, reference: 'nisan' }]));
    expect(await textOf(`/ops/sources/${wrongFile}/run`)).toContain('No file is imported twice.');
    const { status, headers } = await press(`/ops/sources/${wrongFile}/run`);
    expect([status, headers.get('location')]).toEqual([303, `/ops/sources/${wrongFile}?done=run`]);
    await until('the file is collected', async () =>
      (await page(`/ops/sources/${wrongFile}`)).html.includes('nisan.sta'),
    );
    expect(await textOf(`/ops/sources/${wrongFile}?done=run`)).toContain('A run was asked for.');
  });

  it('enables and pauses a source', async () => {
    const { paused } = trouble.sources;
    expect(await textOf(`/ops/sources/${paused}/enable`)).toContain('It runs by its schedule again.');
    expect((await press(`/ops/sources/${paused}/enable`)).status).toBe(303);
    expect((await readSource(paused)).status).toBe('active');
    await until('the source has a job, to which its page leads', async () =>
      (await page(`/ops/sources/${paused}`)).html.includes('/ops/queues/queue/sources/'),
    );
    expect((await press(`/ops/sources/${paused}/pause`)).status).toBe(303);
    expect((await readSource(paused)).status).toBe('paused');
  });
});
