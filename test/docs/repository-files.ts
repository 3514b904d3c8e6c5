import { execFileSync } from 'node:child_process';

/** The paths of the repository's files, also of new ones, without those that git ignores. @param pattern such as `*.md`. Default: all. */
export const listFiles = (...pattern: string[]): string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...pattern], {
    encoding: 'utf8',
  })
    .trim()
    .split('\n');
