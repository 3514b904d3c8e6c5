import type { Sql } from '../../database/transaction.ts';
import type { FileWarning, RowDecisions } from './decide-rows.ts';
import { decideRows } from './decide-safely.ts';
import { type IdentifyEntries, type Identity, OutdatedIdentitiesError } from './entry.ts';
import type { AccountEntries } from './file-entries.ts';
import { type Days, readStoredRows } from './read-stored.ts';

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
  /** Warnings about statements whose balances have changed, or that contradict stored ones. */
  warnings(): readonly FileWarning[];
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
  let decided = { identities: new Map<number, Identity>(), warnings: [] as RowDecisions['warnings'] };
  const ranges = [...accounts].flatMap(([accountId, { days }]) =>
    days.map(({ from, to }: Days) => [accountId, from, to]),
  );

  async function decide(sql: Sql): Promise<void> {
    decided = { identities: new Map(), warnings: [] };
    for (const [accountId, { statements, days }] of accounts) {
      const stored = await readStoredRows(sql, accountId, days);
      const decision = await decideRows(customerId, { accountId, importId, mayAssume, stored, statements });
      for (const [index, identity] of decision.identities) decided.identities.set(index, identity);
      decided.warnings.push(...decision.warnings);
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

const NEWEST = 'SELECT last_transaction_id AS newest FROM import_locks WHERE customer_id = ?';
