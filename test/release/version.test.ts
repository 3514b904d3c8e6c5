import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { VERSION } from '../../src/platform/config.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

it('package.json, package-lock.json and the TypeScript package have the version of the service', () => {
  const lock = JSON.parse(read('package-lock.json'));
  expect(JSON.parse(read('packages/typescript/package.json')).version).toBe(VERSION);
  expect(JSON.parse(read('package.json')).version).toBe(VERSION);
  expect([lock.version, lock.packages[''].version]).toEqual([VERSION, VERSION]);
});

it('the changelog begins with the unreleased changes, followed by a section for this version', () => {
  const headings = [...read('CHANGELOG.md').matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
  expect(headings.slice(0, 2)).toEqual([
    '[Unreleased]',
    expect.stringMatching(new RegExp(`^\\[${VERSION.replaceAll('.', '\\.')}\\] - \\d{4}-\\d\\d-\\d\\d$`)),
  ]);
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

it('package-lock.json names no registry', () => {
  // Only the package of this repository is resolved, to its folder.
  const resolved = [...read('package-lock.json').matchAll(/"resolved": "(.*)"/g)].map(([, path]) => path);
  expect(resolved).toEqual(['packages/typescript']);
});
