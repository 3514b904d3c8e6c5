import * as v from 'valibot';
import { TransactionView } from '../movements/body.ts';
import { Count, IdView, withExample } from '../platform/validation.ts';

/** The dry run of a withdrawal, as the API shows it. */

/** The most movements that are counted. */
export const MOST_COUNTED = 100_000;

const Status = v.picklist(['complete', 'incomplete', 'contradictory', 'unknown']);

export const WithdrawalPlanView = v.object({
  withdrawal: v.object({
    import_id: IdView,
    statement_id: v.nullable(IdView),
    matched: Count,
    withdrawn: Count,
    kept: Count,
    is_whole: v.pipe(
      v.boolean(),
      v.description(`false: only the first ${MOST_COUNTED} movements were counted. All are withdrawn.`),
    ),
    statements: v.pipe(Count, v.description('The statements that would not count any more.')),
    unlisted_import_id: v.pipe(
      withExample(v.nullable(IdView), 9),
      v.description(
        'A later import with more duplicates than are listed. It may have confirmed any of the movements, so all are kept.',
      ),
    ),
    completeness: v.pipe(
      v.array(v.object({ account_id: IdView, before: Status, after: Status })),
      v.description('Of the accounts of the statements, at most ten.'),
    ),
  }),
  transactions: v.array(v.object({ ...TransactionView.entries, outcome: v.picklist(['withdrawn', 'kept']) })),
});

export type WithdrawalPlanView = v.InferOutput<typeof WithdrawalPlanView>;

/** Says in words that all movements are kept because of another import; null: there is no such import. */
export const describeUnlisted = ({
  unlisted_import_id: id,
}: Pick<WithdrawalPlanView['withdrawal'], 'unlisted_import_id'>): string | null =>
  id === null
    ? null
    : `Import ${id} came later, and has more duplicates than are listed. It may have confirmed any of these movements, so all are kept. If it was a mistake too, withdraw import ${id} first.`;
