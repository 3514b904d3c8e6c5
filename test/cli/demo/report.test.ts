import { describe, expect, it } from 'vitest';
import { matches } from '../../../src/cli/demo/demo-customer.ts';
import { findProblems, type Outcome, renderOutcomes } from '../../../src/cli/demo/report.ts';

const subscription = {
  title: 'Debits only',
  event: 'NEW_DEBIT',
  accountRef: null,
  encoding: 'json',
} as const;
const movement = (id: string) => ({
  id,
  account_id: '1',
  dc: 'Debit',
  amount: '12.50',
  date_issue: '2025-10-03',
});

const outcome = ({
  verified = ['1', '2'],
  problems = [] as string[],
  delivered = 2,
  ...rest
}: Partial<Outcome> & { verified?: string[]; problems?: string[]; delivered?: number } = {}): Outcome => ({
  subscriber: {
    subscription,
    url: '',
    verified: new Set(verified),
    problems,
    learn: () => {},
    close: async () => {},
  },
  accountTitle: 'all',
  expected: 2,
  matched: [movement('1'), movement('2')],
  progress: { matched: 2, delivered, retried: 1, pending: 0 },
  ...rest,
});

describe('the list of problems that the demo finds', () => {
  it('is empty when every expected delivery was made and verified', () => {
    expect(findProblems([outcome()])).toEqual([]);
  });

  it.each([
    [
      'a notification that never came',
      { verified: ['1'] },
      'Debits only lacks transaction 2 (2025-10-03, Debit 12.50).',
    ],
    [
      'a notification that is not recorded as delivered',
      { delivered: 1 },
      'Debits only: 1 of 2 were delivered.',
    ],
    [
      'a movement that was not stored',
      { expected: 3, delivered: 3 },
      'Debits only: 3 movements of the file match, 2 are stored.',
    ],
    [
      'a notification too many',
      { verified: ['1', '2', '9'] },
      'Debits only received 1 movements that do not match it.',
    ],
    [
      'a false signature',
      { problems: ['It is not signed.', 'It is not signed.'] },
      'Debits only refused a notification. It is not signed.',
    ],
  ])('reports %s', (_kind, change, problem) => {
    expect(findProblems([outcome(change)])).toEqual([problem]);
  });

  it('names the first five missing notifications, and counts the rest', () => {
    const matched = Array.from({ length: 8 }, (_, at) => movement(String(at)));
    const problems = findProblems([outcome({ matched, expected: 8, delivered: 8, verified: [] })]);
    expect(problems).toHaveLength(6);
    expect(problems.at(-1)).toBe('Debits only lacks 3 more.');
  });
});

describe('the table of the demo', () => {
  it('adds up the webhooks, with aligned numbers', () => {
    expect(renderOutcomes([outcome(), outcome({ expected: 1_000, accountTitle: 'Ana Hesap' })])).toEqual([
      'webhook      event      account    body  matched  delivered  retried  verified',
      'Debits only  NEW_DEBIT  all        json        2          2        1         2',
      'Debits only  NEW_DEBIT  Ana Hesap  json    1,000          2        1         2',
      'total                                      1,002          4        2         4',
    ]);
  });
});

describe('a subscription', () => {
  const one = { ...subscription, event: 'NEW_TRANSACTION', accountRef: '2' } as const;

  it.each([
    [subscription, { dc: 'Debit', account_id: '1' }, true],
    [subscription, { dc: 'Credit', account_id: '1' }, false],
    [one, { dc: 'Credit', account_id: '2' }, true],
    [one, { dc: 'Debit', account_id: '1' }, false],
  ])('matches by event and account (case %#)', (of, it, expected) => {
    expect(matches(of, it)).toBe(expected);
  });
});
