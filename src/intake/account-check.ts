import { LRUCache } from 'lru-cache';
import type { DataSource } from 'typeorm';
import { type Caller, maySee } from '../customers/caller.ts';
import {
  decimalsIssue,
  isOfRemovedTime,
  isUnidentified,
  type Movement,
  type RemovedTime,
  removedTimeIssue,
  UNKNOWN_ACCOUNT,
} from '../ledger/movement.ts';
import type { ValidationIssue } from '../platform/problem.ts';

/** Checks the movements of an upload against the accounts of its sender, before anything is stored. */

/** Customers whose accounts a process caches. */
const CACHED_CUSTOMERS = 10_000;

/**
 * Milliseconds for which a customer's accounts are cached. If they have changed by the time the movements are stored, `removals`
 * has changed too, and the movements are checked again.
 */
const KEPT_FOR = 10_000;

/** Index: the foreign key of accounts. */
const ACCOUNTS = `
  SELECT a.id, a.currency, a.check_balances, a.has_statements, l.removals, l.removed_before FROM import_locks l
  LEFT JOIN accounts a ON a.customer_id = l.customer_id AND a.status <> 'deleting' WHERE l.customer_id = ?`;

interface Known extends RemovedTime {
  /** The currency of each account. */
  accounts: ReadonlyMap<string, string>;
  /** Accounts whose running balances are checked. */
  balanced: ReadonlySet<string>;
  /** Accounts that have statements. */
  withStatements: ReadonlySet<string>;
  until: number;
}

/** The result of checking movements. They may be stored if `removals` has not changed by then. */
export interface CheckedMovements {
  issues: ValidationIssue[];
  removals: number;
  /**
   * The importer has to store the movements, because only the importer checks balances and finds rows without an id among the
   * entries of statements.
   */
  needImporter: boolean;
}

/** A movement, and its place in the body, from 0. */
export interface PlacedMovement {
  place: number;
  movement: Movement;
}

export interface AccountCheck {
  /**
   * Returns an issue for each movement of an account that the caller cannot see, of a time that retention has removed, or with more
   * decimals than its currency.
   * @param movements with their places in the body, from 0.
   */
  check(caller: Caller, movements: readonly PlacedMovement[]): Promise<CheckedMovements>;
  /** Returns the ids that are not of an account that the caller can see. */
  findUnknown(caller: Caller, accountIds: readonly string[]): Promise<Set<string>>;
  /** Reads the customer's accounts again at its next import. */
  forget(customerId: string): void;
}

/**
 * Caches the accounts of customers. Reads them again after ten seconds, or when a movement names an account that is not among them.
 */
export function createAccountCheck(
  database: DataSource,
  clock: () => number = () => performance.now(),
): AccountCheck {
  const cache = new LRUCache<string, Known>({ max: CACHED_CUSTOMERS });

  async function read(customerId: string): Promise<Known> {
    const until = clock() + KEPT_FOR;
    const rows = await database.query<
      {
        id: string | null;
        currency: string;
        check_balances: number;
        has_statements: number;
        removals: number;
        removed_before: string | null;
      }[]
    >(ACCOUNTS, [customerId]);
    const known = {
      accounts: new Map(
        rows.flatMap(({ id, currency }): [string, string][] => (id === null ? [] : [[id, currency]])),
      ),
      balanced: new Set(rows.flatMap(({ id, check_balances }) => (check_balances === 1 ? [id ?? ''] : []))),
      withStatements: new Set(
        rows.flatMap(({ id, has_statements }) => (has_statements === 1 ? [id ?? ''] : [])),
      ),
      removals: rows[0]?.removals ?? 0,
      removedBefore: rows[0]?.removed_before ?? null,
      until,
    };
    cache.set(customerId, known);
    return known;
  }

  /** Returns the customer's accounts, not from the cache if one of these is not among them. */
  async function know(caller: Caller, accountIds: readonly string[]): Promise<Known> {
    const cached = cache.get(caller.customerId);
    const isCurrent =
      cached !== undefined && cached.until > clock() && accountIds.every((id) => cached.accounts.has(id));
    return isCurrent ? cached : read(caller.customerId);
  }

  async function findUnknown(caller: Caller, accountIds: readonly string[]): Promise<Set<string>> {
    const { accounts } = await know(caller, accountIds);
    return new Set(accountIds.filter((id) => !accounts.has(id) || !maySee(caller, id)));
  }

  async function check(caller: Caller, movements: readonly PlacedMovement[]): Promise<CheckedMovements> {
    const known = await know(
      caller,
      movements.map(({ movement }) => movement.account_id),
    );
    const issueOf = (movement: Movement): ValidationIssue | null => {
      const { account_id } = movement;
      const currency = known.accounts.get(account_id);
      if (currency === undefined || !maySee(caller, account_id)) return UNKNOWN_ACCOUNT;
      if (isOfRemovedTime(movement, known)) return removedTimeIssue(known);
      return decimalsIssue(movement, currency);
    };
    const issues = movements.flatMap(({ movement, place }) => {
      const issue = issueOf(movement);
      return issue === null ? [] : [{ ...issue, path: `transactions.${place}.${issue.path}` }];
    });
    const needImporter =
      known.balanced.size + known.withStatements.size > 0 &&
      movements.some(
        ({ movement: it }) =>
          known.balanced.has(it.account_id) ||
          (known.withStatements.has(it.account_id) && isUnidentified(it)),
      );
    return { issues, removals: known.removals, needImporter };
  }

  return { check, findUnknown, forget: (customerId) => void cache.delete(customerId) };
}
