import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasSeed, seedsOf } from './seeds.ts';
import { failedFilesOf, judge, type Report, type Run } from './verdict.ts';

const PATH = '/repo/test/http/guesses.test.ts';

type Results = Record<string, 'passed' | 'failed' | 'skipped'>;

/** What a report says about a file, as vitest 4.1 writes it. */
const fileResult = (name: string, tests: Results, more: { status?: string; message?: string } = {}) => ({
  assertionResults: Object.entries(tests).map(([title, status]) => ({
    ancestorTitles: ['guesses'],
    fullName: `guesses ${title}`,
    status,
    title,
    duration: 14.72,
    failureMessages: status === 'failed' ? [`AssertionError: ${title}\n    at ${name}:7:17`] : [],
    meta: {},
    tags: [],
  })),
  startTime: 1795889047792,
  endTime: 1795889047807.28,
  status: Object.values(tests).includes('failed') ? 'failed' : 'passed',
  message: '',
  name,
  ...more,
});

const report = (files: ReturnType<typeof fileResult>[], unhandledErrors: string[] = []): Report => ({
  testResults: files,
  projects: Object.fromEntries(files.map(({ name }) => [name, ['product']])),
  unhandledErrors,
});

const run = (tests: Results, exitCode = Object.values(tests).includes('failed') ? 1 : 0): Run => ({
  exitCode,
  report: report([fileResult(PATH, tests)]),
});

const repeated = (again: Run) => new Map([[PATH, again]]);

const first = run({ a: 'passed', b: 'failed', c: 'skipped' });

describe('the verdict on a run', () => {
  it('counts the tests of all files', () => {
    const both = report([
      fileResult(PATH, { a: 'passed', b: 'passed', c: 'skipped' }),
      fileResult('/repo/test/x.test.ts', { a: 'passed' }),
    ]);
    expect(judge({ exitCode: 0, report: both }, new Map())).toEqual({ passed: 3, failed: 0, lines: [] });
  });

  it('is a failure, with its message, when what failed was not repeated', () => {
    expect(failedFilesOf(first)).toEqual([PATH]);
    expect(judge(first, new Map())).toEqual({
      passed: 1,
      failed: 1,
      lines: [`failed: ${PATH}: guesses b`, `AssertionError: b\n    at ${PATH}:7:17`],
    });
  });

  it('names what has a seed, and its seeds', () => {
    const { failed, lines } = judge(first, new Map(), () => 'seed: 77');
    expect(failed).toBe(1);
    expect(lines.at(-1)).toBe('It has a seed, and is not repeated: seed: 77');
  });

  it.each<[string, Run]>([
    ['has no report', { exitCode: 1, report: null }],
    ['has no test', { exitCode: 0, report: report([]) }],
    ['left out all its tests', run({ a: 'skipped' })],
    ['ended with an error, and no test failed', run({ a: 'passed' }, 1)],
    [
      'has an error that no test had',
      { exitCode: 1, report: report([fileResult(PATH, { a: 'passed' })], ['Error: x']) },
    ],
  ])('is a failure when the run %s', (_, failing) => {
    expect(failedFilesOf(failing)).toEqual([]);
    expect(judge(failing, new Map())).toMatchObject({ failed: 1 });
  });

  it('is a failure when a test is flaky, and there was an error that no test had', () => {
    const withError = {
      exitCode: 1,
      report: report([fileResult(PATH, { b: 'failed' })], ['Error: nobody caught this']),
    };
    expect(judge(withError, repeated(run({ b: 'passed' })))).toEqual({
      passed: 1,
      failed: 1,
      lines: [`flaky: ${PATH}: guesses b`, 'failed: an error that no test had', 'Error: nobody caught this'],
    });
  });
});

describe('the verdict on a file that was repeated', () => {
  it('counts a test that passed then as passed, and names it', () => {
    expect(judge(first, repeated(run({ a: 'passed', b: 'passed', c: 'skipped' })))).toEqual({
      passed: 2,
      failed: 0,
      lines: [`flaky: ${PATH}: guesses b`],
    });
  });

  it('counts a file whose preparation failed only the first time as passed', () => {
    const report1 = report([fileResult(PATH, { a: 'skipped' }, { status: 'failed', message: 'hook' })]);
    const failing = { exitCode: 1, report: report1 };
    expect(judge(failing, new Map())).toMatchObject({
      passed: 0,
      failed: 1,
      lines: [/the file itself/, 'hook'].map((it) => expect.stringMatching(it)),
    });
    expect(judge(failing, repeated(run({ a: 'passed' })))).toEqual({
      passed: 1,
      failed: 0,
      lines: [`flaky: ${PATH}: the file itself`],
    });
    expect(judge(failing, repeated(run({ a: 'skipped' })))).toMatchObject({ passed: 0, failed: 1 });
  });

  it.each<[string, Run, number]>([
    ['it fails again', run({ a: 'passed', b: 'failed' }), 1],
    ['it is left out', run({ a: 'passed', b: 'skipped' }), 1],
    ['there is no report', { exitCode: 1, report: null }, 1],
    ['there is no test', { exitCode: 0, report: report([]) }, 0],
  ])('is a failure when %s', (_, again, passed) => {
    const { lines, ...counts } = judge(first, repeated(again));
    expect(counts).toEqual({ passed, failed: 1 });
    expect(lines[0]).toBe(`failed: ${PATH}: guesses b`);
    expect(lines.join('\n')).not.toContain('flaky');
  });

  it('is a failure when it ended with an error that no test had', () => {
    expect(judge(first, repeated(run({ a: 'passed', b: 'passed' }, 1)))).toMatchObject({ failed: 1 });
  });

  it('is a failure when another test of it fails then', () => {
    const { passed, failed, lines } = judge(first, repeated(run({ a: 'failed', b: 'passed' })));
    expect({ passed, failed }).toEqual({ passed: 1, failed: 1 });
    expect(lines).toContain(`failed: ${PATH}: guesses a`);
    expect(lines).toContain(`flaky: ${PATH}: guesses b`);
  });
});

describe('what has a seed', () => {
  const test = (name: string) => join(import.meta.dirname, '../..', name);

  it.each([
    ['imports fast-check', 'http/cursor.test.ts', true],
    ['imports a file that imports fast-check', 'api/audited-routes.test.ts', true],
    ['uses a seed of its own', 'durability/short.test.ts', true],
    ['imports dice', 'books/statement-days.test.ts', true],
    ['imports only a type of a file with a seed', 'console/server-problems.disk.test.ts', false],
    ['has none', 'http/guesses.test.ts', false],
  ])('a test that %s', (_, name, expected) => expect(hasSeed(test(name))).toBe(expected));

  it('is printed from the message of the failure, or else from the test', () => {
    const path = test('api/fuzz.test.ts');
    expect(seedsOf(path, 'GET /v1/accounts: Property failed after 1 tests\n{ seed: 77, path: "0:1" }')).toBe(
      'seed: 77',
    );
    expect(seedsOf(path, 'MODEL_SEED=482328341, schedule 5')).toBe('MODEL_SEED=482328341');
    expect(seedsOf(path, 'read ECONNRESET')).toBe('SEED = 20_261_231');
    expect(seedsOf(test('http/cursor.test.ts'), 'Error: x')).toMatch(/none is known/);
  });
});
