import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Site } from '../../src/api/docs/guides.tsx';
import { PROBLEMS } from '../../src/platform/problem.ts';
import { expectProblem } from '../support/problem.ts';
import { useService } from '../support/service.ts';

const service = useService({ roles: ['api'] });
const BUILT = join(import.meta.dirname, '../../dist/docs');

const site = JSON.parse(readFileSync(join(BUILT, 'site.json'), 'utf8')) as Site;

/** The addresses in a page that it names itself, without those of other hosts. */
const targetsOf = (page: string) =>
  [...page.matchAll(/(?:src|href)="([^"]+)"/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

describe('/', () => {
  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

  it('leads a browser to the guides', async () => {
    const answer = await fetch(service.url, { headers: { accept: BROWSER }, redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/docs']);
    expect(answer.headers.get('vary')).toBe('Accept');
  });

  it.each([undefined, '*/*', 'application/json', 'text/html;q=0.1, application/json'])(
    'answers a client with Accept %j as an address at which nothing is',
    async (accept) => {
      const { body, ...answer } = await service.call('GET', '/', { headers: accept ? { accept } : {} });
      expectProblem({ body, ...answer }, 404);
      expect(answer.headers.get('vary')).toBe('Accept');
      expect(body.detail).toContain('/docs');
      expect(body.detail).not.toContain('API key');
    },
  );

  it('has no page on the listener of operators', async () => {
    const answer = await fetch(service.opsUrl, { headers: { accept: BROWSER }, redirect: 'manual' });
    expect(answer.headers.get('location')).not.toBe('/docs');
  });
});

describe('/docs', () => {
  it('has every page of docs/ and of the packages, and each link within it leads somewhere', async () => {
    const pages = new Map<string, string>();
    for (const url of [...Object.keys(site.pages), '/docs/api']) {
      const page = await service.call('GET', url);
      expect([url, page.status, page.headers.get('content-type')]).toEqual([
        url,
        200,
        'text/html; charset=UTF-8',
      ]);
      pages.set(url, page.body);
    }
    expect(Object.keys(site.pages)).toEqual(
      expect.arrayContaining(['/docs', '/docs/errors', '/docs/receiving/flask', '/docs/packages/sdk']),
    );
    const files = new Set<string>();
    const broken: string[] = [];
    for (const [from, page] of pages)
      for (const target of targetsOf(page)) {
        const [url = '', anchor] = target.split('#');
        const page = pages.get(url || from);
        if (page === undefined) files.add(url);
        else if (anchor !== undefined && anchor !== '' && !page.includes(` id="${anchor}"`))
          broken.push(`${from}: ${target}`);
      }
    expect(broken).toEqual([]);
    for (const file of files) {
      const { status, headers } = await service.call('GET', file);
      expect([file, status, headers.get('x-content-type-options')]).toEqual([file, 200, 'nosniff']);
    }
  });

  it('says of files that are not served where they are', async () => {
    const page = await service.call('GET', '/docs');
    expect(page.body).toContain('Contributing (<code>CONTRIBUTING.md</code> in the repository)');
    expect(page.body).not.toMatch(/href="[^"]*\.md/);
  });

  it.each(['/docs', '/docs/api'])('lets %s load nothing from elsewhere', async (path) => {
    const { headers } = await service.call('GET', path);
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
    '/docs/assets/..%2fsite.json',
    '/docs/images/%2e%2e%2fsite.json',
    '/docs/api/package.json',
    '/docs/pages/docs.html',
  ])('serves no other file: %s', async (path) => {
    expectProblem(await service.call('GET', path), 404);
  });

  it('takes at most 2 MB without the reference and the pictures', () => {
    const sizeOf = (folder: string): number =>
      readdirSync(folder, { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile())
        .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
    const all = sizeOf(BUILT) - sizeOf(join(BUILT, 'images'));
    expect(all).toBeLessThanOrEqual(2_000_000);
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
