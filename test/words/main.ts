import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findRetiredWords } from './words.ts';

/** Part of `npm run check`: no file that people read contains a retired word. Prints each one and exits with 1. */

const READ = [
  'src',
  'test',
  'bench',
  'workers',
  'packages',
  'examples/*.ts',
  'docs/*.md',
  '*.md',
  'Dockerfile',
  '*.yml',
];
const NOT_READ = [
  ':!test/words', // Names them.
  ':!bench/results', // Figures.
];

const files = execFileSync('git', ['ls-files', '-z', '--', ...READ, ...NOT_READ], { encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '');
const found = files.flatMap((file) =>
  findRetiredWords(readFileSync(file, 'utf8')).map(
    ({ line, word, instead }) => `${file}:${line}: "${word}" is no longer used; write: ${instead}`,
  ),
);
if (found.length > 0) {
  process.stderr.write(
    `${found.join('\n')}\nThe words are in docs/glossary.md, the check in test/words/words.ts.\n`,
  );
  process.exit(1);
}
