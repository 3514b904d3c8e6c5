import * as v from 'valibot';
import { Count, IdView, Timestamp } from '../platform/validation.ts';

/** Withdrawals, as the API shows them. */

const WITHDRAWAL_STATUSES = ['queued', 'running', 'done', 'failed'] as const;

/** A row of `withdrawals`. */
export interface WithdrawalRow {
  id: string;
  customer_id: string;
  import_id: string;
  /** 0: the whole import. */
  statement_id: string;
  reason: string;
  status: (typeof WITHDRAWAL_STATUSES)[number];
  withdrawn: number;
  kept: number;
  created_at: Date;
  finished_at: Date | null;
}

const Matched = v.pipe(
  Count,
  v.description('The movements of the import or statement that were looked at: withdrawn and kept.'),
);
const Kept = v.pipe(
  Count,
  v.description('They stay, because another statement or another import has them too.'),
);

export const WithdrawalView = v.object({
  id: IdView,
  import_id: IdView,
  statement_id: v.pipe(v.nullable(IdView), v.description('null: the whole import is withdrawn.')),
  status: v.pipe(
    v.picklist(WITHDRAWAL_STATUSES),
    v.description('failed: it has ended with an error ten times in a row. Send the request again to go on.'),
  ),
  matched: Matched,
  withdrawn: Count,
  kept: Kept,
  reason: v.string(),
  created_at: Timestamp,
  finished_at: v.nullable(Timestamp),
});

export const viewWithdrawal = (row: WithdrawalRow): v.InferOutput<typeof WithdrawalView> => ({
  id: Number(row.id),
  import_id: Number(row.import_id),
  statement_id: row.statement_id === '0' ? null : Number(row.statement_id),
  status: row.status,
  matched: row.withdrawn + row.kept,
  withdrawn: row.withdrawn,
  kept: row.kept,
  reason: row.reason,
  created_at: row.created_at.toISOString(),
  finished_at: row.finished_at?.toISOString() ?? null,
});
