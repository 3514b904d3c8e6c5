import * as v from 'valibot';
import { Count, Timestamp, withExample } from '../platform/validation.ts';

/** The document that GET /v1/verdict answers and `ledgerbell status --json` prints. */

export const TroubleView = v.object({
  kind: v.string(),
  scope: v.pipe(
    v.string(),
    v.description(
      'installation: its own. endpoint: of a subscriber, a sender or a bank, and the service itself works.',
    ),
  ),
  severity: v.string(),
  count: Count,
  subject: v.nullable(
    v.object({
      type: v.picklist(['webhook', 'source', 'import', 'account']),
      id: Count,
      title: withExample(v.string(), 'Muhasebe'),
      customer: v.string(),
    }),
  ),
  since: v.nullable(Timestamp),
  pending: withExample(v.nullable(Count), 9),
  oldest: withExample(v.nullable(Timestamp), '2025-11-30T18:20:00.000Z'),
  money: v.array(
    withExample(v.object({ currency: v.string(), amount: v.string() }), {
      currency: 'TRY',
      amount: '12540.00',
    }),
  ),
  sentence: v.string(),
  help: v.string(),
  page: v.pipe(v.string(), v.description('The path of the page of the console that shows it.')),
});

export const DeletionView = withExample(
  v.object({
    customer_id: Count,
    account_id: v.nullable(Count),
    requested_at: Timestamp,
    movements: v.nullable(Count),
    movements_deleted: Count,
  }),
  {
    customer_id: 1,
    account_id: 1,
    requested_at: '2025-11-30T18:20:00.000Z',
    movements: 12,
    movements_deleted: 4,
  },
);

export const StatusView = v.object({
  status: v.picklist(['well', 'not well']),
  problems: v.pipe(
    withExample(v.array(v.string()), ["The clock of api on bell-1 is 3 s ahead of MySQL's."]),
    v.description('What is wrong with the installation itself, in one sentence for each.'),
  ),
  troubles: v.pipe(v.array(TroubleView), v.description('The worst first.')),
  mysql: v.string(),
  redis: v.string(),
  migrations: v.picklist(['ok', 'not run', 'unknown']),
  processes: v.pipe(v.nullable(v.record(v.string(), Count)), v.description('How many run, by role.')),
  pending: v.nullable(Count),
  held: v.nullable(Count),
  pulled: v.nullable(Count),
  replays_to_come: v.nullable(Count),
  oldest_pending_at: withExample(v.nullable(Timestamp), '2025-11-30T18:20:00.000Z'),
  circuits_open: v.nullable(Count),
  imports: v.nullable(v.record(v.string(), Count)),
  deletions: v.nullable(v.array(DeletionView)),
});
export type StatusView = v.InferOutput<typeof StatusView>;
