import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { VERSION } from '../../src/platform/config.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const workspaces: string[] = JSON.parse(read('package.json')).workspaces;
const packages = workspaces.map((folder) => JSON.parse(read(join(folder, 'package.json'))));

it('package.json, package-lock.json and the packages have the version of the service', () => {
  const lock = JSON.parse(read('package-lock.json'));
  expect(packages.map(({ version }) => version)).toEqual(workspaces.map(() => VERSION));
  expect(JSON.parse(read('package.json')).version).toBe(VERSION);
  expect([lock.version, lock.packages[''].version]).toEqual([VERSION, VERSION]);
});

it('the changelog begins with a section for this version, released or not', () => {
  const [heading] = /^## .+$/m.exec(read('CHANGELOG.md')) ?? [];
  expect(heading).toMatch(
    new RegExp(`^## \\[${VERSION.replaceAll('.', '\\.')}\\] - (unreleased|\\d{4}-\\d\\d-\\d\\d)$`),
  );
});

it('every version on a page of the documentation is this version', () => {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' });
  const shown = pages
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => [
      ...read(join('docs', name)).matchAll(/(?:Ledgerbell\/|"version":"|ledgerbell-)(\d+\.\d+\.\d+)/g),
    ])
    .map(([, version]) => version);
  expect(shown.length).toBeGreaterThan(0);
  expect(new Set(shown)).toEqual(new Set([VERSION]));
});

it('a release has every package', () => {
  const [packed = ''] = /npm pack --workspace .*/.exec(read('.github/workflows/release.yml')) ?? [];
  expect([...packed.matchAll(/--workspace (\S+)/g)].map(([, name]) => name).toSorted()).toEqual(
    packages.map(({ name }) => name).toSorted(),
  );
});

it('package-lock.json names no registry', () => {
  // Only the packages of this repository are resolved, to their folders.
  const resolved = [...read('package-lock.json').matchAll(/"resolved": "(.*)"/g)].map(([, path]) => path);
  expect(resolved.toSorted()).toEqual(workspaces.toSorted());
});
