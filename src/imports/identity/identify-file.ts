import type { Sql } from '../../platform/database/transaction.ts';
import { formatAmount } from '../../statements/values.ts';
import { versionOf } from '../known-movements.ts';
import { groupOf } from './books.ts';
import { type IdentifyEntries, type Identity, OutdatedIdentitiesError } from './entry.ts';
import type { AccountEntries, FileStatement } from './file-entries.ts';
import { identify } from './identify.ts';
import { type Days, type ReadBooks, readBooks } from './read-stored.ts';
import type { Decision, ReceivedStatement, StatementRow } from './statement.ts';
import { formatStatementId } from './statement-id.ts';

/** Identifies the entries of a whole file at once, where this cannot be done chunk by chunk; see KnownDaysError. */

/** Finds movements of these days that other imports have stored since. Index: transactions_customer_page. */
const ADDED = (ranges: number) => `
  SELECT id FROM transactions FORCE INDEX (transactions_customer_page)
  WHERE customer_id = ? AND id > ? AND import_id <> ?
    AND (${Array(ranges).fill('(account_id = ? AND date_issue BETWEEN ? AND ?)').join(' OR ')}) LIMIT 1`;

/**
 * Other imports may keep storing movements of the same days. At this attempt, the decision is made while the customer is locked.
 */
const MOST_OUTDATED = 4;

export interface FileIdentifier {
  identify: IdentifyEntries;
  /**
   * Decides before the customer is locked, unless the last decision still holds. `identify` then only checks that decision, so that
   * other imports wait less for the lock.
   */
  prepare(sql: Sql): Promise<void>;
  /** The last decision, by the number of the row in the file. */
  identities(): ReadonlyMap<number, Identity>;
  /** Warnings about statements whose balances have changed. */
  warnings(): readonly { line: number; message: string }[];
}

interface FileOptions {
  customerId: string;
  importId: string;
  /** All entries of the file by account. */
  accounts: ReadonlyMap<string, AccountEntries>;
  mayAssume: boolean;
}

export function createFileIdentifier({
  customerId,
  importId,
  accounts,
  mayAssume,
}: FileOptions): FileIdentifier {
  /** Movements up to this id have been checked. */
  let readThrough: bigint | null = null;
  /** How often in a row `identify` has found the decision out of date. */
  let outdated = 0;
  let decided: Decided = { identities: new Map(), warnings: [] };
  const ranges = [...accounts].flatMap(([accountId, { days }]) =>
    days.map(({ from, to }: Days) => [accountId, from, to]),
  );

  async function decide(sql: Sql): Promise<void> {
    decided = { identities: new Map(), warnings: [] };
    for (const [accountId, { statements, days }] of accounts) {
      const books = await readBooks(sql, accountId, days, importId);
      const own = ownMovements(books, importId);
      const received = statements.map((it): ReceivedStatement => ({ ...it, stored: storedRows(it, own) }));
      const { decisions, shifts } = identify(books, received, { mayAssume, useNumbers: books.useNumbers });
      toIdentities(accountId, books, statements, decisions, decided.identities);
      decided.warnings.push(
        ...shifts.map(({ statement, shift }) => ({
          line: statements[statement]?.line ?? 0,
          message: warningOf(shift),
        })),
      );
    }
  }

  async function isOutdated(sql: Sql, newest: bigint): Promise<boolean> {
    if (readThrough === null) return true;
    if (readThrough >= newest || ranges.length === 0) return false;
    const values = [customerId, String(readThrough), importId, ...ranges.flat()];
    return (await sql.query<unknown[]>(ADDED(ranges.length), values)).length > 0;
  }

  return {
    async prepare(sql) {
      const [lock] = await sql.query<{ newest: string }[]>(NEWEST, [customerId]);
      const newest = BigInt(lock?.newest ?? 0);
      if (await isOutdated(sql, newest)) await decide(sql);
      readThrough = newest;
    },
    async identify(sql, newest, entries) {
      if (entries.length === 0) return [];
      if (await isOutdated(sql, BigInt(newest))) {
        outdated += 1;
        if (outdated < MOST_OUTDATED)
          throw new OutdatedIdentitiesError('others have stored movements of these days');
        await decide(sql);
      }
      outdated = 0;
      readThrough = BigInt(newest);
      return entries.map(({ index }) => decided.identities.get(index) as Identity);
    },
    identities: () => decided.identities,
    warnings: () => decided.warnings,
  };
}

const warningOf = (shift: bigint) =>
  `The balances of this statement are ${formatAmount(shift)} more than those of the same entries before. The bank has probably inserted an entry on an earlier day: a statement of that day is missing.`;

const NEWEST = 'SELECT last_transaction_id AS newest FROM import_locks WHERE customer_id = ?';

interface Decided {
  /** By the number of the row in the file. */
  identities: Map<number, Identity>;
  warnings: { line: number; message: string }[];
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
  amount: formatAmount(amount < 0n ? -amount : amount),
});

/** Gives new movements their unique ids, and refers known ones to their movements. */
function toIdentities(
  accountId: string,
  { movements, statements, origins }: ReadBooks,
  received: readonly FileStatement[],
  decisions: readonly (readonly Decision[])[],
  identities: Map<number, Identity>,
): void {
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
        identities.set(indexes[position] as number, { uniqueId, isAssumed: decision.isAssumed, replaces });
        continue;
      }
      const stored = movements[movement];
      if (decision.outcome === 'conflict') {
        const { day, amount } = rows[position] as StatementRow;
        const version = versionOf({ ...unsigned(amount), date_issue: day });
        const uniqueId = origins[movement]?.uniqueId ?? uniqueIds.get(movement) ?? '';
        const conflict = { transactionId: stored?.id ?? null, uniqueId, accountId, version };
        identities.set(indexes[position] as number, { conflict });
        continue;
      }
      const known =
        stored === undefined ? { uniqueId: uniqueIds.get(movement) ?? '' } : { transactionId: stored.id };
      identities.set(indexes[position] as number, {
        known,
        reason: decision.reason,
        isRepeated: brought.has(movement),
      });
    }
  }
}
