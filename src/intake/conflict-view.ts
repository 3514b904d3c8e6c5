import * as v from 'valibot';
import { showAmount } from '../../packages/statements/src/amounts.ts';
import type { StoredMovement } from '../ledger/known-movements.ts';
import type { Movement } from '../ledger/movement.ts';
import { Count, IdView, Timestamp, withExample } from '../platform/validation.ts';

/** Shows the content of a row beside the content of the stored movement that the row was taken for. */

/** The example of a movement, in the month of the other examples. */
const STORED = {
  id: 1,
  name: 'DENIZ YAZILIM A.S.',
  dc: 'Credit' as const,
  code: 'FAT',
  amount: '12500.00',
  balance: '37500.00',
  description: 'FATURA 2025-118',
  date_issue: '2025-11-03',
  opponent_id: '98765432109',
  opponent_iban: 'TR470011100000099000005511',
  unique_id: 'FT25307001',
};

export const ContentView = {
  name: withExample(v.nullable(v.string()), STORED.name),
  dc: v.picklist(['Debit', 'Credit']),
  code: withExample(v.string(), STORED.code),
  amount: v.string(),
  balance: withExample(v.string(), STORED.balance),
  description: withExample(v.string(), STORED.description),
  date_issue: v.string(),
  opponent_id: withExample(v.string(), STORED.opponent_id),
  opponent_iban: withExample(v.string(), STORED.opponent_iban),
  unique_id: v.string(),
};

/** Shows the content of a movement. Fields that the bank did not send are empty, as in the listing. */
export const viewContent = (movement: Movement, currency: string | null) => ({
  name: movement.name,
  dc: movement.dc,
  code: movement.code ?? '',
  amount: showAmount(movement.amount, currency),
  balance: movement.balance === null ? '' : showAmount(movement.balance, currency),
  description: movement.description ?? '',
  date_issue: movement.date_issue,
  opponent_id: movement.opponent_id ?? '',
  opponent_iban: movement.opponent_iban ?? '',
  unique_id: movement.unique_id ?? '',
});

export const StoredView = v.object({ id: IdView, ...ContentView });

export const viewStoredMovement = (movement: StoredMovement, currency: string | null) => ({
  id: Number(movement.id),
  ...viewContent(movement, currency),
});

export const ConflictView = v.object({
  id: IdView,
  account_id: IdView,
  unique_id: v.string(),
  status: v.pipe(
    v.picklist(['open', 'stored', 'ignored']),
    v.description('open: nobody has decided yet. stored: the received version is a movement too.'),
  ),
  stored: v.pipe(StoredView, v.description('The movement that was stored first.')),
  received: v.pipe(
    v.object(ContentView),
    v.description('The row that came later, under the same unique_id.'),
  ),
  transaction_id: v.pipe(
    withExample(v.nullable(IdView), 11),
    v.description('The movement that was stored from the received row; null: the row was not stored.'),
  ),
  import_id: IdView,
  line: Count,
  received_at: Timestamp,
  decided_at: v.nullable(Timestamp),
});

/** A row of `movement_conflicts`. */
export interface ConflictRow {
  id: string;
  account_id: string;
  /** Of the account. */
  currency: string;
  transaction_id: string;
  /** A Movement, as JSON. */
  received: string;
  import_id: string;
  line: number;
  status: 'open' | 'stored' | 'ignored';
  stored_id: string | null;
  received_at: Date;
  decided_at: Date | null;
}

export function viewConflict(row: ConflictRow, stored: StoredMovement): v.InferOutput<typeof ConflictView> {
  const received = JSON.parse(row.received) as Movement;
  return {
    id: Number(row.id),
    account_id: Number(row.account_id),
    unique_id: received.unique_id ?? '',
    status: row.status,
    stored: viewStoredMovement(stored, row.currency),
    received: viewContent(received, row.currency),
    transaction_id: row.stored_id === null ? null : Number(row.stored_id),
    import_id: Number(row.import_id),
    line: row.line,
    received_at: row.received_at.toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
  };
}
