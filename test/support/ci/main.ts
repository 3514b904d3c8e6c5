import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { hasSeed, seedsOf } from './seeds.ts';
import { failedFilesOf, judge, type Report, type Run } from './verdict.ts';

/**
 * `node --import tsx test/support/ci/main.ts DIRECTORY [NAME SCRIPT EXIT_CODE]…`: repeats what failed in the runs of the tests, whose
 * reports are DIRECTORY/NAME.json, and prints the verdict. Its last line has the counts of all runs.
 */

const ROOT = join(import.meta.dirname, '../../..');

/** If more files fail, it is not by chance. */
const MOST_REPEATED = 10;

/** Milliseconds of a repetition. Most files take seconds. */
const LIMIT = 15 * 60_000;

/** They take a seed, or minutes. */
const NEVER_REPEATED = ['models', 'faults'];

const readReport = (path: string): Report | null =>
  existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null;

/** Runs a test file alone, with the command of the run in which it failed. */
function repeat(script: string, file: string, reportPath: string): Run {
  console.log(`== repeated: npm run ${script} -- ${file}`);
  const reporters = ['--reporter=default', '--reporter=./test/support/ci/reporter.ts'];
  const args = ['run', script, '--', ...reporters, `--outputFile.json=${reportPath}`, file];
  const { status } = spawnSync('npm', args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: LIMIT,
  });
  return { exitCode: status ?? 1, report: readReport(reportPath) };
}

const [directory = '', ...runs] = process.argv.slice(2);
let [passed, failed] = [0, 0];
const lines: string[] = [];
for (let i = 0; i < runs.length; i += 3) {
  const [name = '', script = '', exitCode] = runs.slice(i, i + 3);
  const run: Run = { exitCode: Number(exitCode), report: readReport(join(directory, `${name}.json`)) };
  const failedFiles = failedFilesOf(run);
  const isSeeded = (path: string) =>
    hasSeed(path) || run.report?.projects[path]?.some((project) => NEVER_REPEATED.includes(project)) === true;
  const isRepeated = (path: string) => failedFiles.length <= MOST_REPEATED && !isSeeded(path);
  const repeated = new Map(
    failedFiles
      .filter(isRepeated)
      .map((path, at) => [
        path,
        repeat(script, relative(ROOT, path), join(directory, `${name}-again-${at}.json`)),
      ]),
  );
  const verdict = judge(run, repeated, (path, message) => (isSeeded(path) ? seedsOf(path, message) : null));
  lines.push(
    ...verdict.lines.map((line) => line.replaceAll(`${ROOT}/`, '')),
    `${name}: ${verdict.passed} passed`,
  );
  passed += verdict.passed;
  failed += verdict.failed;
}
console.log(lines.join('\n'));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
