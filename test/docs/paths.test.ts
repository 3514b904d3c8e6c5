import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { listFiles } from './repository-files.ts';

/** Files whose reader makes them: the programs in the guides, and in the READMEs of packages. */
const OF_READERS =
  /^docs\/(?:receiving\/|embedding\.md$)|^packages\/(?:sdk|statements|reconcile)\/README\.md$/;

const files = listFiles();
const ends = new Set(
  files.flatMap((file) => file.split('/').map((_, at, parts) => parts.slice(at).join('/'))),
);

const COMMENT = /^\s*(?:\/\/|\/\*\*?|\*)\s?(.*)$/;

/** Such as `src/intake/importer/chunks.ts`, `run/run.test.ts` or `stage.ts`, and not a part of an address or a pattern. */
const PATH =
  /(?<![\w/.*<{$@:-])(?:\.{1,2}\/)*((?:[\w.-]+\/)*[\w-]+(?:\.[a-z]+)*\.(?:tsx?|mjs|md|yml))(?![\w*])/g;

/** The names in brackets that begin with one: (`http/guesses`, `process`). */
const listTests = (text: string): string[] =>
  [...text.matchAll(/(?<!\])\((`[a-z][a-z\d/.-]+`[^)]*)\)/g)].flatMap(([, names = '']) =>
    [...names.matchAll(/`([a-z\d/.-]+)`/g)].map(([, name = '']) => name),
  );

it('every file that a page or a comment names exists', () => {
  const missing = files.flatMap((file) => {
    const isPage = file.endsWith('.md') && file !== 'CHANGELOG.md' && !OF_READERS.test(file);
    if (!isPage && !/^(src|packages|bench|test|workers)\/.*\.tsx?$/.test(file)) return [];
    return readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        [...(isPage ? line : (COMMENT.exec(line)?.[1] ?? '')).matchAll(PATH)].flatMap(([, path = '']) =>
          // RESOURCE stands for any.
          ends.has(path) || /[A-Z]{4}\//.test(path) ? [] : [`${file}:${index + 1} ${path}`],
        ),
      );
  });
  expect(missing).toEqual([]);
});

it('every test that docs/security.md names in brackets exists', () => {
  const tests = new Set(files.filter((file) => /^test\/.*\.test\.ts$/.test(file)));
  const [before = '', after = ''] = readFileSync('docs/security.md', 'utf8').split(
    'test/sources/connectors/',
  );
  const [ofSources = '', rest = ''] = after.split('## Someone with a copy');
  const named = [
    ...listTests(before).map((name) => `test/${name}.test.ts`),
    ...listTests(ofSources).map((name) => `test/sources/connectors/${name}.test.ts`),
    ...listTests(rest).map((name) => `test/${name}.test.ts`),
  ];
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((name) => !tests.has(name))).toEqual([]);
});
