/** What a run of vitest says about a file. A file that two projects run is there twice. */
interface FileResult {
  /** Its path. */
  name: string;
  status: string;
  /** Why the file failed, when none of its tests did. */
  message: string;
  assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
}

/** What `reporter.ts` writes. */
export interface Report {
  testResults: FileResult[];
  projects: Record<string, string[]>;
  unhandledErrors: string[];
}

export interface Run {
  exitCode: number;
  /** Null: it has not written one. */
  report: Report | null;
}

interface Failure {
  /** The full name of the test, or WHOLE_FILE. */
  test: string;
  message: string;
}

export interface Verdict {
  passed: number;
  failed: number;
  /** For people: what failed, and what is flaky. */
  lines: string[];
}

/** Stands for a test, where a file fails although none of its tests has. */
const WHOLE_FILE = 'the file itself';

/** A report of thousands of lines is not read. */
const LONGEST_MESSAGE = 2_000;

/** The paths of the files that failed. */
export const failedFilesOf = ({ report }: Run): string[] => [
  ...new Set(
    report?.testResults.map(({ name }) => name).filter((path) => failuresOf(report, path).length > 0) ?? [],
  ),
];

/** What failed in a file: its tests, or the file itself. */
export function failuresOf(report: Report, path: string): Failure[] {
  return resultsOf(report, path).flatMap(({ status, message, assertionResults }) => {
    const failures = assertionResults
      .filter((test) => test.status === 'failed')
      .map(({ fullName, failureMessages }) => ({ test: fullName, message: failureMessages.join('\n') }));
    return status === 'failed' && failures.length === 0 ? [{ test: WHOLE_FILE, message }] : failures;
  });
}

/**
 * The verdict on a run of the tests. A file that was repeated counts as its repetition says, and its flaky tests as passed.
 * @param repeated by path, the files that failed and were run again, each alone.
 * @param seedsOf what to print for a failure of a file that is never repeated; null for other files.
 */
export function judge(
  run: Run,
  repeated: ReadonlyMap<string, Run>,
  seedsOf: (path: string, message: string) => string | null = () => null,
): Verdict {
  const { report, exitCode } = run;
  if (report === null) return { passed: 0, failed: 1, lines: [`failed: no report, exit code ${exitCode}`] };
  const verdict: Verdict = { passed: 0, failed: 0, lines: [] };
  const fail = (where: string, message: string) => {
    verdict.failed += 1;
    verdict.lines.push(`failed: ${where}`, ...(message === '' ? [] : [message.slice(0, LONGEST_MESSAGE)]));
  };

  for (const path of new Set(report.testResults.map(({ name }) => name))) {
    const first = failuresOf(report, path);
    const again = repeated.get(path);
    const failures = again === undefined ? first : failedAgain(path, first, again);
    verdict.passed += passedIn(again?.report ?? report, path).length;
    for (const { test, message } of failures) {
      fail(`${path}: ${test}`, message);
      const seeds = seedsOf(path, message);
      if (seeds !== null) verdict.lines.push(`It has a seed, and is not repeated: ${seeds}`);
    }
    const failed = new Set(failures.map(({ test }) => test));
    for (const { test } of first)
      if (!failed.has(test) && !failed.has(WHOLE_FILE)) verdict.lines.push(`flaky: ${path}: ${test}`);
  }

  for (const error of report.unhandledErrors) fail('an error that no test had', error);
  if (exitCode !== 0 && failedFilesOf(run).length === 0 && report.unhandledErrors.length === 0)
    fail(`exit code ${exitCode}, and no test failed`, '');
  if (verdict.passed === 0 && verdict.failed === 0) fail('no test has passed', '');
  return verdict;
}

/** What still fails after a file was repeated. */
function failedAgain(path: string, first: readonly Failure[], { report, exitCode }: Run): Failure[] {
  if (report === null) return first.map(({ test, message }) => ({ test, message: `${message}\n(twice)` }));
  const failures = failuresOf(report, path);
  if (failures.length === 0 && exitCode !== 0)
    return [{ test: WHOLE_FILE, message: report.unhandledErrors.join('\n') || `exit code ${exitCode}` }];
  // What was left out in the repetition has not passed.
  const passed = new Set(passedIn(report, path));
  const seen = new Set(failures.map(({ test }) => test));
  const isLost = ({ test }: Failure) =>
    !seen.has(test) && (test === WHOLE_FILE ? passed.size === 0 : !passed.has(test));
  return [...failures, ...first.filter(isLost)];
}

const resultsOf = (report: Report, path: string): FileResult[] =>
  report.testResults.filter(({ name }) => name === path);

const passedIn = (report: Report, path: string): string[] =>
  resultsOf(report, path).flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === 'passed').map(({ fullName }) => fullName),
  );
