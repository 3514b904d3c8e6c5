import { groupOf } from '../../../packages/reconcile/src/books.ts';
import { type Contradiction, findContradictions } from '../../../packages/reconcile/src/contradictions.ts';
import { findKnown } from '../../../packages/reconcile/src/known.ts';
import type { Decision, ReceivedStatement, StatementRow } from '../../../packages/reconcile/src/statement.ts';
import { formatAmount } from '../../../packages/statements/src/amounts.ts';
import { versionOf } from '../../ledger/row-fate.ts';
import type { Identity, KnownMovement } from './entry.ts';
import type { FileStatement } from './file-entries.ts';
import { type ReadBooks, type StoredRows, toBooks } from './read-stored.ts';
import { formatStatementId } from './statement-id.ts';

/** The rows of a file about one account, and the stored rows to compare them with. */
export interface RowsToDecide {
  accountId: string;
  importId: string;
  /** Whether a row is taken for a stored movement if nothing tells them apart. */
  mayAssume: boolean;
  stored: StoredRows;
  /** The statements of the file about the account. */
  statements: readonly FileStatement[];
}

export interface RowDecisions {
  /** Each with the number of the row in the file. */
  identities: [number, Identity][];
  /** Statements whose balances have changed, or that contradict stored ones. */
  warnings: FileWarning[];
}

/** A warning about a statement of the file. */
export interface FileWarning {
  line: number;
  message: string;
  /** The id of the stored statement that the statement contradicts. */
  contradicts?: string;
}

/** Decides for each row of a file whether it is a stored movement. Pure. */
export function decideAll({
  accountId,
  importId,
  mayAssume,
  stored,
  statements,
}: RowsToDecide): RowDecisions {
  const books = toBooks(stored, importId);
  const own = ownMovements(books, importId);
  const received = statements.map((it): ReceivedStatement => ({ ...it, stored: storedRows(it, own) }));
  const { decisions, warnings } = findKnown(books, received, {
    mayAssume,
    useNumbers: stored.useNumbers,
    currency: stored.currency,
  });
  return {
    identities: toIdentities(accountId, books, statements, decisions),
    warnings: [
      ...warnings.map(({ statement, message }) => ({ line: statements[statement]?.line ?? 0, message })),
      ...findContradictions(books.statements, statements, stored).flatMap((it) =>
        describeContradiction(it, statements, stored.currency),
      ),
    ],
  };
}

function describeContradiction(
  { statement, stored }: Contradiction,
  statements: readonly FileStatement[],
  currency: string | null,
): FileWarning[] {
  const received = statements[statement];
  if (received === undefined || stored.id === null) return [];
  const [before, now] = [stored.closing, received.closing].map((it) =>
    it === null ? null : formatAmount(it, currency),
  );
  const difference =
    before === null || now === null ? 'they have other entries' : `closing ${before}, now ${now}`;
  const message = `This statement contradicts statement ${stored.id} of ${stored.to}: ${difference}. If it replaces it, withdraw statement ${stored.id}.`;
  return [{ line: received.line, message, contradicts: stored.id }];
}

/** The movements that this import has stored before it was interrupted or had to decide again, by the number of the row. */
function ownMovements({ origins }: ReadBooks, importId: string): Map<number, number> {
  const own = new Map<number, number>();
  for (const [movement, origin] of origins.entries())
    if (origin.importId === importId && origin.position !== null) own.set(origin.position, movement);
  return own;
}

function storedRows({ indexes }: FileStatement, own: ReadonlyMap<number, number>): Map<number, number> {
  const rows = new Map<number, number>();
  if (own.size === 0) return rows;
  for (const [position, index] of indexes.entries()) {
    const movement = own.get(index);
    if (movement !== undefined) rows.set(position, movement);
  }
  return rows;
}

const unsigned = (amount: bigint) => ({
  dc: amount < 0n ? ('Debit' as const) : ('Credit' as const),
  amount: formatAmount(amount < 0n ? -amount : amount, null),
});

/** Gives new movements their unique ids, and refers known ones to their movements. */
function toIdentities(
  accountId: string,
  { movements, statements, origins }: ReadBooks,
  received: readonly FileStatement[],
  decisions: readonly (readonly Decision[])[],
): [number, Identity][] {
  const identities: [number, Identity][] = [];
  const numbers = new Map<string, number>();
  const counts = new Map<string, number>();
  for (const [index, movement] of movements.entries()) {
    const group = groupOf(movement);
    const count = (counts.get(group) ?? 0) + 1;
    counts.set(group, count);
    numbers.set(group, Math.max(numbers.get(group) ?? 0, count, origins[index]?.number ?? 0));
  }
  const idOf = (row: StatementRow): string => {
    const { day, amount, reference } = row;
    const group = groupOf(row);
    const number = (numbers.get(group) ?? 0) + 1;
    numbers.set(group, number);
    return formatStatementId({ ...unsigned(amount), date_issue: day }, { number, reference });
  };
  const same = new Map(statements.map((it) => [it.fingerprint, it]));
  const uniqueIds = new Map<number, string>();
  const nameOf = (movement: number): KnownMovement => {
    const stored = movements[movement];
    return stored === undefined ? { uniqueId: uniqueIds.get(movement) ?? '' } : { transactionId: stored.id };
  };
  for (const [index, { rows, indexes, fingerprint }] of received.entries()) {
    const before = fingerprint === null ? undefined : same.get(fingerprint);
    const brought = new Set(before?.movements);
    for (const [position, decision] of (decisions[index] ?? []).entries()) {
      const { movement } = decision;
      if (decision.outcome === 'new') {
        const uniqueId = idOf(rows[position] as StatementRow);
        uniqueIds.set(movement, uniqueId);
        const replaced = decision.replaces === undefined ? undefined : movements[decision.replaces]?.id;
        const replaces =
          replaced === undefined || before?.id == null
            ? null
            : { statementId: before.id, transactionId: replaced };
        identities.push([indexes[position] as number, { uniqueId, isAssumed: decision.isAssumed, replaces }]);
        continue;
      }
      if (decision.outcome === 'conflict') {
        // The row gets the id of the movement, so that it is held as a row of JSON with that id is.
        const uniqueId = origins[movement]?.uniqueId ?? uniqueIds.get(movement) ?? '';
        const { day, amount } = rows[position] as StatementRow;
        const version = versionOf({ ...unsigned(amount), date_issue: day });
        const transactionId = movements[movement]?.id ?? null;
        identities.push([
          indexes[position] as number,
          { uniqueId, conflict: { accountId, transactionId, version } },
        ]);
        continue;
      }
      const { reason } = decision;
      const ofBatch = decision.rows?.map((row) => ({
        known: nameOf(row.movement),
        balance: row.balance === null ? null : formatAmount(row.balance, null),
        reference: row.reference,
      }));
      identities.push([
        indexes[position] as number,
        {
          known: nameOf(movement),
          reason,
          isRepeated: brought.has(movement),
          ...(ofBatch && { rows: ofBatch }),
        },
      ]);
    }
  }
  return identities;
}
