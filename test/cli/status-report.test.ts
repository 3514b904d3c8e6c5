import { expect, it } from 'vitest';
import { findProblems, type StatusReport } from '../../src/cli/status-report.ts';
import { NO_WORK } from '../support/no-work.ts';

const WORK: NonNullable<StatusReport['work']> = {
  totals: NO_WORK,
  oldestPending: null,
  webhooks: [],
  webhooksBehind: 0,
  imports: [],
  sources: [],
  sourcesInTrouble: { failing: 0, withWrongFile: 0 },
  deletions: [],
};

const problemsWith = (totals: Partial<typeof WORK.totals>) =>
  findProblems({
    mysql: 'ok',
    redis: 'ok',
    migrations: 'ok',
    hostProblems: [],
    processProblems: [],
    processes: { api: 1, importer: 1, delivery: 1, maintenance: 1 },
    work: { ...WORK, totals: { ...WORK.totals, ...totals } },
  });

it('status reports an import that waits while no movement of its customer is stored as a problem', () => {
  expect(problemsWith({ importsStuck: 1 })).toEqual([
    '1 import has been waiting for more than 5 minutes, and nothing of the same customer is stored.',
  ]);
});

it('status reports an import that was given up as a problem, but not an import of an unreadable file', () => {
  expect(problemsWith({ importsFailedLately: 1 })).toEqual([]);
  expect(problemsWith({ importsGivenUp: 2 })).toEqual(['2 imports were given up.']);
});
