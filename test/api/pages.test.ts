import { describe, expect, it } from 'vitest';
import { PROBLEMS } from '../../src/platform/problem.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });

describe('/docs', () => {
  it('is a page that names only files of its own, and each of them exists', async () => {
    const page = await service.call('GET', '/docs');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const files = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, target]) => target);
    expect(files.filter((target) => !target.startsWith('data:'))).toHaveLength(3);
    for (const file of files.filter((target) => !target.startsWith('data:'))) {
      expect(file).toMatch(/^\/docs\//);
      const { status, headers } = await service.call('GET', file);
      expect([status, headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching(/^text\/(css|javascript)/),
      ]);
    }
  });

  it('does not let the browser load anything from elsewhere', async () => {
    const { headers } = await service.call('GET', '/docs');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('is also found with a trailing slash', async () => {
    const { status, headers } = await service.call('GET', '/docs/');
    expect([status, headers.get('location')]).toEqual([302, '/docs']);
  });

  it.each([
    '/docs/..%2fpackage.json',
    '/docs/package.json',
    '/docs/%2e%2e/package.json',
    '/docs/constructor',
  ])('serves no other file: %s', async (path) => {
    expectProblem(await service.call('GET', path), 404);
  });
});

describe('/problems', () => {
  it('explains the type of every error', async () => {
    for (const [name, { status, ...texts }] of Object.entries(PROBLEMS)) {
      const page = await service.call('GET', `/problems/${name}`);
      expect(page.status).toBe(200);
      expect(page.body).toContain(String(status));
      for (const text of Object.values(texts)) expect(page.body).toContain(text);
    }
  });

  it.each(['constructor', '__proto__', 'toString'])('answers 404 to %s', async (name) => {
    expectProblem(await service.call('GET', `/problems/${name}`), 404);
  });

  it('has the page that the type of an error links to', async () => {
    const { body } = await service.call('GET', '/v1/accounts');
    expect((await service.call('GET', body.type)).status).toBe(200);
  });
});
