import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const DOCS = new URL('../../../docs/', import.meta.url);
const TESTS = new URL('./', import.meta.url);

const pages = [
  'receiving-webhooks.md',
  ...readdirSync(new URL('receiving', DOCS)).map((it) => `receiving/${it}`),
];
const read = (url: URL) => readFileSync(url, 'utf8');
const tests = readdirSync(TESTS)
  .filter((name) => name.endsWith('.test.ts') && name !== 'pages.test.ts')
  .map((name) => read(new URL(name, TESTS)))
  .join('\n');

/** The anchors that GitHub gives to the headings of a page. */
const anchorsOf = (text: string): string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

describe.each(pages)('docs/%s', (page) => {
  const url = new URL(page, DOCS);
  const text = read(url);

  it('links to existing pages and headings', () => {
    for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(link)) continue;
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? url : new URL(path, url);
      expect(existsSync(target), link).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(read(target)), link).toContain(anchor);
    }
  });

  it('has no program without a test that runs it', () => {
    const blocks = [...text.matchAll(/^```(\w.*)$/gm)].map(([, info = '']) => info);
    for (const info of blocks) expect(info, 'a program without the name of its file').toMatch(/^\w+ \S+$/);
    if (blocks.length > 0) expect(tests).toContain(`'${page.replace('receiving/', '')}'`);
  });
});
