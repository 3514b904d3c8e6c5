import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { PROBLEMS } from '../../src/platform/problem.ts';

it('docs/errors.md lists every type of error, with its status and whether to retry', async () => {
  const page = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => /^\| `[a-z-]+` \| \d{3} /.test(line));
  expect(rows).toEqual(
    Object.entries(PROBLEMS).map(
      ([name, { status, cause, remedy, retry }]) =>
        `| \`${name}\` | ${status} | ${cause} | ${remedy} | ${retry} |`,
    ),
  );
});
