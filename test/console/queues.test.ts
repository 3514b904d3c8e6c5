import { describe, expect, it } from 'vitest';
import { expectProblem } from '../support/problem.ts';
import { send } from '../support/raw-http.ts';
import { useOwnService } from '../support/service.ts';
import { until } from '../support/until.ts';

const readOnly = useOwnService({ because: 'the dashboard shows all jobs', roles: ['api'] });
const writable = useOwnService({
  because: 'the dashboard is writable',
  roles: ['api'],
  config: { queueDashboard: 'writable' },
});

describe('the queue dashboard', () => {
  it.each(['/ops', '/ops/queues'])('at %s is also found with a trailing slash', async (path) => {
    const { status, headers } = await readOnly.callOps('GET', `${path}/`);
    expect([status, headers.get('location')]).toEqual([302, path]);
    const page = await readOnly.callOps('GET', path);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
  });

  it.each(['/ops', '/ops/queues'])(
    'at %s does not let the browser load anything from elsewhere',
    async (path) => {
      const { headers } = await readOnly.callOps('GET', path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toMatch(/default-src '(none|self)'/);
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
      expect((await readOnly.callOps('GET', path)).body).not.toMatch(/(src|href)="(https?:)?\/\//);
    },
  );

  it('lists every queue', async () => {
    const { status, body } = await readOnly.callOps('GET', '/ops/queues/api/queues');
    expect(status).toBe(200);
    expect(body.queues.map(({ name }: { name: string }) => name).sort()).toEqual([
      'deliveries',
      'imports',
      'sources',
    ]);
  });

  it('serves no file outside its folder', async () => {
    for (const path of ['..%2f..%2f..%2fpackage.json', '%2e%2e/package.json', '..%5cpackage.json']) {
      const { status } = await readOnly.callOps('GET', `/ops/queues/static/${path}`);
      expect(status).toBe(404);
    }
  });

  const CHANGES = [
    ['PUT', '/pause'],
    ['PUT', '/empty'],
    ['PUT', '/clean/wait'],
    ['PUT', '/retry/failed'],
    ['PUT', '/promote'],
    ['PUT', '/obliterate'],
    ['POST', '/add'],
    ['PUT', '/job-1/clean'],
    ['PUT', '/job-1/retry/failed'],
    ['PUT', '/job-1/promote'],
    ['PATCH', '/job-1/update-data'],
    ['PUT', '/concurrency'],
  ] as const;

  it.each(CHANGES)('refuses to change anything: %s %s', async (method, path) => {
    const { imports } = readOnly.runtime.queues;
    await imports.add('import', { customerId: '1' }, { jobId: 'job-1' });
    const before = [await imports.getJobCounts(), await imports.isPaused()];
    const { status } = await readOnly.callOps(method, `/ops/queues/api/queues/imports${path}`, {
      body: { name: 'import', data: { customerId: '2' }, jobData: { customerId: '2' }, concurrency: 1 },
    });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThan(500);
    expect([await imports.getJobCounts(), await imports.isPaused()]).toEqual(before);
    expect((await imports.getJob('job-1'))?.data).toEqual({ customerId: '1' });
  });

  it.each(['/pause', '/resume'])('refuses to change all queues at once: %s', async (path) => {
    await readOnly.callOps('PUT', `/ops/queues/api/queues${path}`);
    expect(await readOnly.runtime.queues.imports.isPaused()).toBe(false);
    expect(await readOnly.runtime.queues.deliveries[0].isPaused()).toBe(false);
  });

  it('makes changes when the operator has allowed them', async () => {
    const { status } = await writable.callOps('PUT', '/ops/queues/api/queues/imports/pause');
    expect(status).toBe(200);
    await until('the queue paused', () => writable.runtime.queues.imports.isPaused());
  });

  it('records who has changed what', async () => {
    await writable.callOps('PUT', '/ops/queues/api/queues/sources/pause');
    await writable.callOps('PUT', '/ops/queues/api/queues/resume');
    await writable.callOps('PUT', '/ops/queues/api/queues/deliveries-2/pause');
    await readOnly.callOps('PUT', '/ops/queues/api/queues/sources/pause');
    const by = { customer_id: null, source: 'console', actor: '127.0.0.1', action: 'change jobs' };
    const read = ({ runtime }: typeof writable) =>
      runtime.database.query('SELECT customer_id, source, actor, action, subject, detail FROM audit_events');
    const events = await read(writable);
    expect(events).toContainEqual({ ...by, subject: 'queue sources', detail: 'pause' });
    expect(events).toContainEqual({ ...by, subject: 'all queues', detail: 'resume' });
    expect(events).toContainEqual({ ...by, subject: 'queue deliveries-2', detail: 'pause' });
    expect(await read(readOnly)).toEqual([]);
    const page = await writable.callOps('GET', '/ops/audit', { headers: { Accept: 'text/html' } });
    expect(page.body).toContain('queue sources');
  });

  it('refuses changes by a page of another site, which a browser on this machine may show', async () => {
    const path = '/ops/queues/api/queues/deliveries/pause';
    const { host } = new URL(writable.opsUrl);
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Origin: 'http://localhost:1', 'Sec-Fetch-Site': 'same-site' },
    ]) {
      expectProblem(
        await send(writable.opsUrl + path, { method: 'PUT', headers: { Host: host, ...headers } }),
        403,
      );
    }
    expect(await writable.runtime.queues.deliveries[0].isPaused()).toBe(false);
    for (const headers of [
      { Origin: `http://${host}` },
      { Origin: 'https://console.example', 'Sec-Fetch-Site': 'same-origin' },
    ]) {
      expect(
        (await send(writable.opsUrl + path, { method: 'PUT', headers: { Host: host, ...headers } })).status,
      ).toBe(200);
    }
  });
});
