import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, it } from 'vitest';
import { anchorsOf } from '../../guides/render.ts';
import { listFiles } from './repository-files.ts';

const ROOT = join(import.meta.dirname, '../..');

const pages = listFiles('*.md')
  .filter((path) => existsSync(join(ROOT, path)))
  .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

/** The text without indented and fenced code, in which nothing is a link. */
const withoutCode = (text: string): string => text.replace(/^```.*?^```/gms, '').replace(/^ {4}.*$/gm, '');

function isBroken(from: string, link: string): boolean {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? from : relative(ROOT, join(ROOT, dirname(from), path));
  if (!existsSync(join(ROOT, target))) return true;
  const page = pages.find((it) => it.path === target);
  return anchor !== undefined && page !== undefined && !anchorsOf(page.text).includes(anchor);
}

it.each(pages)('every link of $path leads to an existing file and heading', ({ path, text }) => {
  const links = [...withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const local = links.filter((link) => !/^[a-z]+:/.test(link));
  expect(local.filter((link) => isBroken(path, link))).toEqual([]);
});
