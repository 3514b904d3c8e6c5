import { describe, expect, it } from 'vitest';
import { mt940 } from '../intake/statement-files.ts';
import { expectProblem } from '../support/problem.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createFolderCustomer, useFolderService } from './folder-source.ts';

const { service, sourcesDir } = useFolderService();
const withoutFolders = useOwnService({ because: 'it has no SOURCES_DIR', roles: ['api'] });

const newCustomer = () => createFolderCustomer(service, sourcesDir);

const BODY = {
  title: 'Klasör',
  kind: 'folder',
  settings: { path: 'inbox' },
  schedule: { cron: '0 0 1 1 *', time_zone: 'UTC' },
};

describe('POST /v1/sources', () => {
  it('creates a source, with defaults for omitted fields', async () => {
    const customer = await newCustomer();
    const { status, body } = await customer.call('POST', '/v1/sources', BODY);
    expect(status).toBe(200);
    expect(body.source).toEqual({
      id: expect.any(Number),
      ...BODY,
      credentials: [],
      account_id: null,
      format: 'auto',
      profile: null,
      encoding: null,
      create_accounts: false,
      force_account: false,
      settle_seconds: 5,
      on_conflict: null,
      status: 'active',
      is_running: false,
      last_run_at: null,
      next_run_at: expect.stringMatching(/-01-01T00:00:00\.000Z$/),
      consecutive_failures: 0,
      error: null,
      created_at: expect.any(String),
    });
    expect(await customer.source(body.source.id)).toEqual(body.source);
    expect((await customer.call('GET', '/v1/sources')).body.sources).toEqual([body.source]);
  });

  it('has settle_seconds, which can be changed without collecting anything anew', async () => {
    const customer = await newCustomer();
    const post = (fields: object) => customer.call('POST', '/v1/sources', { ...BODY, ...fields });
    const { body } = await post({ settle_seconds: 3_600 });
    expect(body.source).toMatchObject({ settle_seconds: 3_600 });
    const change = (value: unknown) =>
      customer.call('PATCH', `/v1/sources/${body.source.id}`, { settle_seconds: value });
    const revision = async () =>
      (
        await service.runtime.database.query<{ revision: number }[]>(
          'SELECT revision FROM sources WHERE id = ?',
          [body.source.id],
        )
      )[0]?.revision;
    const before = await revision();
    expect((await change(0)).body.source).toMatchObject({ settle_seconds: 0 });
    expect(await revision()).toBe(before);
    for (const wrong of [-1, 3_601, 1.5, '5', null]) {
      const { status, body: problem } = await change(wrong);
      expect(status).toBe(422);
      expect(JSON.stringify(problem)).toContain('must be a whole number of seconds from 0 to 3600');
    }
  });

  it('of a kind that offers only complete files has no settle_seconds', async () => {
    const customer = await newCustomer();
    const http = {
      title: 'HTTP',
      kind: 'http',
      settings: { url: 'https://1.1.1.1/march.sta' },
      schedule: BODY.schedule,
    };
    const refusal = 'must be left out: a source of kind http offers only files that are complete';
    const refused = await customer.call('POST', '/v1/sources', { ...http, settle_seconds: 5 });
    expect(refused.status).toBe(422);
    expect(JSON.stringify(refused.body)).toContain(refusal);
    const { body } = await customer.call('POST', '/v1/sources', http);
    expect(body.source).toMatchObject({ settle_seconds: null });
    const change = await customer.call('PATCH', `/v1/sources/${body.source.id}`, { settle_seconds: 5 });
    expect(change.status).toBe(422);
    expect(JSON.stringify(change.body)).toContain(refusal);
  });

  it('uses UTC for cron when no time zone is named', async () => {
    const customer = await newCustomer();
    const schedule = { cron: '0 7 * * 1-5' };
    const { body } = await customer.call('POST', '/v1/sources', { ...BODY, schedule });
    expect(body.source.schedule).toEqual({ cron: '0 7 * * 1-5', time_zone: 'UTC' });
  });

  it.each([
    ['title', { title: '' }],
    ['kind', { kind: 'ftp' }],
    ['settings', { settings: 'inbox' }],
    ['settings.path', { settings: {} }],
    ['settings.path', { settings: { path: '../7/inbox' } }],
    ['settings.path', { settings: { path: 'inbox/done' } }],
    ['settings.pattern', { settings: { path: 'inbox', pattern: '*.sta' } }],
    ['credentials', { credentials: { password: 'x' } }],
    ['schedule', { schedule: {} }],
    ['schedule', { schedule: { every: '15m', cron: '0 7 * * *' } }],
    ['schedule', { schedule: { every: '15m', time_zone: 'UTC' } }],
    ['schedule.every', { schedule: { every: '1s' } }],
    ['schedule.cron', { schedule: { cron: '0 0 30 2 *' } }],
    ['schedule.time_zone', { schedule: { cron: '0 7 * * *', time_zone: 'Istanbul' } }],
    ['account_id', { account_id: 999_999_999 }],
    ['format', { format: 'pdf' }],
    ['profile', { profile: '../x' }],
    ['create_accounts', { create_accounts: 'yes' }],
    ['secret', { secret: 'x' }],
  ])('refuses a wrong %s: %j', async (path, fields) => {
    const customer = await newCustomer();
    const answer = await customer.call('POST', '/v1/sources', { ...BODY, ...fields });
    expect(expectProblem(answer, 422)).toContain(path);
    expect((await customer.call('GET', '/v1/sources')).body.sources).toEqual([]);
  });

  it('refuses a second source for the same folder', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    const again = await customer.call('POST', '/v1/sources', BODY);
    expect(expectProblem(again, 422)).toEqual(['settings']);
    expect(again.body.detail).toBe(`settings are those of source ${id} already.`);
    const other = await customer.createSource({ settings: { path: 'other' } });
    const moved = await customer.call('PATCH', `/v1/sources/${other}`, { settings: { path: 'inbox' } });
    expect(expectProblem(moved, 422)).toEqual(['settings']);
    await customer.call('DELETE', `/v1/sources/${id}`);
    expect((await customer.call('POST', '/v1/sources', BODY)).status).toBe(200);
    // Another customer's folder of that name is another folder.
    expect(await (await newCustomer()).createSource()).toBeDefined();
  });

  it('refuses folder sources without SOURCES_DIR, with one clear sentence', async () => {
    const { api_key: key } = await withoutFolders.customer();
    const answer = await withoutFolders.call('POST', '/v1/sources', { key, body: BODY });
    expect(expectProblem(answer, 422)).toEqual(['settings']);
    expect(answer.body.detail).toBe(
      'settings are not allowed: There are no folder sources on this service. Have the operator set SOURCES_DIR.',
    );
  });
});

describe('PATCH /v1/sources/:id', () => {
  it('changes any field except the kind', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    const change = {
      title: 'Yeni',
      settings: { path: 'other' },
      schedule: { every: '1h' },
      account_id: Number(customer.accountId),
      format: 'csv',
      profile: 'garanti-bbva',
      create_accounts: true,
    };
    const { status, body } = await customer.call('PATCH', `/v1/sources/${id}`, change);
    expect(status).toBe(200);
    expect(body.source).toMatchObject(change);
    expect(expectProblem(await customer.call('PATCH', `/v1/sources/${id}`, { kind: 'folder' }), 422)).toEqual(
      ['kind'],
    );
    expectProblem(await customer.call('PATCH', `/v1/sources/${id}`, {}), 422);
  });

  it('requires the credentials again when the server changes, so that no other server gets them', async () => {
    const customer = await newCustomer();
    const http = (url: string) => ({ settings: { url } });
    const { body } = await customer.call('POST', '/v1/sources', {
      ...BODY,
      kind: 'http',
      ...http('http://127.0.0.1:9/statements'),
      credentials: { bearer: 'secret' },
    });
    const path = `/v1/sources/${body.source.id}`;
    expect((await customer.call('PATCH', path, http('http://127.0.0.1:9/other'))).status).toBe(200);
    const elsewhere = http('http://127.0.0.1:10/other');
    expect(expectProblem(await customer.call('PATCH', path, elsewhere), 422)).toEqual(['credentials']);
    for (const credentials of [{ bearer: 'another' }, null]) {
      expect((await customer.call('PATCH', path, { ...elsewhere, credentials })).status).toBe(200);
    }
    expect((await customer.call('PATCH', path, http('http://127.0.0.1:9/other'))).status).toBe(200);
  });

  it('with new settings runs the source immediately, and collects everything there', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    await customer.drop('march.sta', mt940([{ day: 2, amount: 1 }]), 'other');
    const { body } = await customer.call('PATCH', `/v1/sources/${id}`, { settings: { path: 'other' } });
    expect(Date.parse(body.source.next_run_at)).toBeLessThanOrEqual(Date.now());
    await until('the file is in done/', async () =>
      (await customer.list('other/done')).includes('march.sta'),
    );
  });

  it('pauses the source, so that it runs only on request', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    const paused = await customer.call('PATCH', `/v1/sources/${id}`, { status: 'paused' });
    expect(paused.body.source).toMatchObject({ status: 'paused', next_run_at: null });
    expect(await customer.run(id)).toMatchObject({ status: 'done' });
    expect(await customer.source(id)).toMatchObject({ status: 'paused', next_run_at: null });
    const active = await customer.call('PATCH', `/v1/sources/${id}`, { status: 'active' });
    expect(active.body.source).toMatchObject({ status: 'active', next_run_at: expect.any(String) });
  });

  it('ends a run in progress when the source is paused, changed or deleted', async () => {
    const customer = await newCustomer();
    const { database } = service.runtime;
    const id = await customer.createSource();
    for (const [method, body, error] of [
      ['PATCH', { status: 'paused' }, 'The source was paused during the run.'],
      ['PATCH', { status: 'active', settings: { path: 'other' } }, 'The source was changed during the run.'],
    ] as const) {
      const { insertId } = await database.query<{ insertId: number }>(
        'INSERT INTO source_runs (source_id, customer_id) VALUES (?, ?)',
        [id, customer.customerId],
      );
      await database.query(
        'UPDATE sources SET run_id = ?, lease_until = NOW(6) + INTERVAL 1 HOUR WHERE id = ?',
        [insertId, id],
      );
      await customer.call(method, `/v1/sources/${id}`, body);
      const run = (await customer.runs(id)).find((it) => it.id === insertId);
      expect(run).toMatchObject({ status: 'failed', error });
    }
  });
});

describe('POST /v1/sources/:id/run', () => {
  it('returns the id of the previous run', async () => {
    const customer = await newCustomer();
    const { database } = service.runtime;
    const id = await customer.createSource();
    const ask = async () => {
      const { status, body } = await customer.call('POST', `/v1/sources/${id}/run`);
      expect({ status, source: body.source.id }).toEqual({ status: 202, source: Number(id) });
      return body.previous_run_id;
    };
    expect(await ask()).toBeNull();
    const first = await until('the run is over', async () => {
      const [run] = await customer.runs(id);
      return run?.status === 'done' && run;
    });
    // A run in progress does not count as the requested run, because it may have passed a file already.
    const { insertId } = await database.query<{ insertId: number }>(
      'INSERT INTO source_runs (source_id, customer_id) VALUES (?, ?)',
      [id, customer.customerId],
    );
    expect(insertId).toBeGreaterThan(first.id);
    await database.query(
      'UPDATE sources SET run_id = ?, lease_until = NOW(6) + INTERVAL 15 SECOND WHERE id = ?',
      [insertId, id],
    );
    expect(await ask()).toBe(insertId);
    await database.query('UPDATE sources SET run_id = NULL, lease_until = NULL WHERE id = ?', [id]);
    const { id: second } = await customer.run(id);
    expect(second).toBeGreaterThan(insertId);
  });
});

describe('DELETE /v1/sources/:id', () => {
  it('keeps the imports and movements, and forgets the credentials', async () => {
    const customer = await newCustomer();
    const id = await customer.createSource();
    await customer.drop('march.sta', mt940([{ day: 2, amount: 1 }]));
    const { imports } = await customer.run(id);
    const { status, body } = await customer.call('DELETE', `/v1/sources/${id}`);
    expect([status, body]).toEqual([200, { status: 'success' }]);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/runs'],
      ['POST', '/run'],
    ] as const)
      expectProblem(await customer.call(method, `/v1/sources/${id}${path}`), 404);
    expect(await customer.movements()).toHaveLength(1);
    const shown = await customer.call('GET', `/v1/imports/${imports[0]?.id}`);
    expect(shown.body.import).toMatchObject({ status: 'done', source_id: Number(id) });
  });
});
