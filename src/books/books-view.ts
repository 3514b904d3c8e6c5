import * as v from 'valibot';
import { Count, IdView, Timestamp, withExample } from '../platform/validation.ts';

/** What the API shows of the books of an account: statements, balances, and whether something is missing. */

const Money = v.nullable(v.string());
const Day = v.nullable(v.string());

export const StatementView = v.object({
  id: IdView,
  number: v.pipe(
    v.nullable(v.string()),
    v.description('How the bank calls it; null: the file does not say.'),
  ),
  sequence: v.pipe(v.nullable(v.string()), v.description('The page of a statement that comes in several.')),
  from: v.pipe(Day, v.description('As the file says, or else the day of the first entry.')),
  to: v.pipe(
    Day,
    v.description('As the file says, or else the day of the closing balance or the last entry.'),
  ),
  opening_balance: Money,
  closing_balance: Money,
  opening_balance_date: v.pipe(Day, v.description('Of the opening balance; null: the file does not say.')),
  closing_balance_date: v.pipe(Day, v.description('Of the closing balance; null: the file does not say.')),
  currency: v.string(),
  difference: v.pipe(
    withExample(Money, '40.00'),
    v.description('By how much its entries miss its closing balance; null: not at all.'),
  ),
  entries: Count,
  kind: v.pipe(v.picklist(['final', 'interim']), v.description('interim: a report of a day so far.')),
  import_id: IdView,
  line: Count,
  received_at: Timestamp,
});

const Direction = v.picklist(['Debit', 'Credit']);

export const MissingView = v.object({
  dc: withExample(Direction, 'Debit'),
  amount: withExample(v.string(), '40.00'),
  import_id: v.pipe(
    withExample(IdView, 2),
    v.description('The import that took the entry for another movement.'),
  ),
});

export const SurplusView = v.object({
  dc: withExample(Direction, 'Credit'),
  amount: withExample(v.string(), '12600.00'),
  transaction_id: v.pipe(
    withExample(IdView, 11),
    v.description('A movement that none of the statements has.'),
  ),
});

const ComparedPeriod = v.object({
  from: v.string(),
  to: v.string(),
  status: v.picklist(['complete', 'gap', 'overlap', 'contradiction']),
  opening_balance: v.string(),
  closing_balance: v.string(),
  difference: v.pipe(
    v.string(),
    v.description(
      'gap: what was booked in it, which is what is missing between the two balances. contradiction: by how much the balances, or the stored movements, differ.',
    ),
  ),
});

const PeriodView = v.object({
  ...ComparedPeriod.entries,
  missing: v.pipe(
    v.array(MissingView),
    v.description('Entries of the statements that are not stored. Send a file with them again.'),
  ),
  surplus: v.pipe(v.array(SurplusView), v.description('Stored movements that the statements do not have.')),
});

export const CompletenessView = v.object({
  status: v.pipe(
    v.picklist(['complete', 'incomplete', 'contradictory', 'unknown']),
    v.description('unknown: there is no final statement with an opening and a closing balance.'),
  ),
  periods: v.array(PeriodView),
  late_at: v.pipe(
    withExample(v.nullable(Timestamp), '2026-01-05T00:00:00.000Z'),
    v.description(
      'When the next statement is late, as late_after_days of the account says, or as the statements that have come tell; null: too few have come.',
    ),
  ),
});

export const BalanceView = v.object({
  date: v.pipe(v.string(), v.description('The day at whose end the account had this balance.')),
  balance: v.string(),
  currency: v.string(),
  source: v.pipe(
    v.picklist(['statement', 'movement']),
    v.description(
      'statement: the closing balance of a statement; a final one is preferred to an interim one. movement: the balance after the last movement of the day.',
    ),
  ),
  statement_id: v.nullable(IdView),
  transaction_id: v.nullable(IdView),
  import_id: IdView,
});

/** A gap before a statement. */
export const GapView = v.object({
  account_id: withExample(IdView, 1),
  from: v.pipe(withExample(v.string(), '2025-12-02'), v.description('The first day without a statement.')),
  to: withExample(v.string(), '2025-12-04'),
  difference: v.pipe(withExample(v.string(), '40.00'), v.description('What was booked in the gap.')),
  currency: withExample(v.string(), 'TRY'),
});

const COMPLETENESS = ['complete', 'incomplete', 'contradictory', 'unknown'] as const;

/** What GET /v1/verify answers, and `ledgerbell verify --json` prints. */
export const BooksReportView = v.object({
  status: v.picklist(['right', 'wrong']),
  deliveries: v.picklist(['done', 'pending']),
  accounts: v.array(
    v.object({
      id: IdView,
      title: v.string(),
      currency: v.string(),
      completeness: v.picklist(COMPLETENESS),
      periods: v.pipe(
        v.array(
          withExample(ComparedPeriod, {
            from: '2025-11-03',
            to: '2025-11-28',
            status: 'gap',
            opening_balance: '25000.00',
            closing_balance: '37540.00',
            difference: '40.00',
          }),
        ),
        v.description("The gaps and contradictions of the account's statements."),
      ),
      wrong_sums: v.array(
        withExample(
          v.object({
            from: v.string(),
            to: v.string(),
            statements: v.string(),
            movements: v.string(),
            difference: v.string(),
          }),
          {
            from: '2025-11-03',
            to: '2025-11-28',
            statements: '12540.00',
            movements: '12500.00',
            difference: '40.00',
          },
        ),
      ),
      missing: v.array(MissingView),
      surplus: v.array(SurplusView),
      open_conflicts: Count,
    }),
  ),
  pending: v.pipe(
    v.array(v.object({ webhook_id: IdView, title: v.string(), pending: Count })),
    v.description('Webhooks with deliveries that are neither delivered nor failed.'),
  ),
});
