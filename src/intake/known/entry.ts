import type { Sql } from '../../database/transaction.ts';
import type { Movement } from '../../ledger/movement.ts';
import { ASSUMED_NEW, knownRow, type RowFate } from '../../ledger/row-fate.ts';
import type { EntryStatement, RowDetails } from '../importer/rows.ts';

/** A valid row that is identified by its statement or by the stored movements. */
export interface StatementEntry {
  line: number;
  /** Its amount and its balance are in the form of `canonical`. */
  movement: Movement;
  /** The bank's name for it. */
  reference: string | null;
  statement: EntryStatement;
  details: RowDetails;
  /** Its number among the rows of the file, from 0. */
  index: number;
  /** Its number among the entries of this file with the same account, date, direction and amount, from 1. */
  ordinal: number;
}

/** A stored movement; or the unique id of one that an earlier entry of the file brings. */
export type KnownMovement = { transactionId: string } | { uniqueId: string };

/** An entry with the bank's id of a movement, and another amount. */
export interface ConflictingEntry {
  accountId: string;
  /** The stored movement. null: an earlier entry of the file brings it. */
  transactionId: string | null;
  /** Its direction, amount and date. See `versionOf`. */
  version: string;
}

/** An entry is a new movement, a known movement, or conflicts with a movement. */
export type Identity =
  | {
      uniqueId: string;
      /** Nothing proves that it is not a known movement. */
      isAssumed: boolean;
      /** The movement that this entry of the same statement was taken for before. */
      replaces: { statementId: string; transactionId: string } | null;
    }
  | {
      /** The unique id of the movement with which the entry conflicts. */
      uniqueId: string;
      conflict: ConflictingEntry;
    }
  | {
      known: KnownMovement;
      reason: 'same' | 'changed' | 'assumed';
      /** A batch and its details are one booking: the statement is stored with these rows instead of the entry. */
      rows?: readonly (Pick<Movement, 'balance'> & { reference: string | null; known: KnownMovement })[];
      /** The same statement has brought the same movement before. */
      isRepeated: boolean;
    };

/**
 * What becomes of an entry. null: it is simply new.
 * @param decide what becomes of an entry that conflicts.
 */
export function fateOf(identity: Identity, decide: (conflict: ConflictingEntry) => RowFate): RowFate | null {
  if ('known' in identity) return knownRow(identity.reason);
  if ('conflict' in identity) return decide(identity.conflict);
  return identity.isAssumed ? ASSUMED_NEW : null;
}

/**
 * Identifies the entries of a chunk.
 * @param sql a transaction that holds the customer's import lock, unless nothing is to be stored.
 * @param newest the id of the customer's newest movement, from the customer's lock.
 * @throws {KnownDaysError} when the whole file has to be read first.
 * @throws {OutdatedIdentitiesError} when they have to be identified anew, without the lock.
 */
export type IdentifyEntries = (
  sql: Sql,
  newest: string,
  entries: readonly StatementEntry[],
) => Promise<Identity[]>;

/** Other imports have stored movements of the file's days since its entries were identified. */
export class OutdatedIdentitiesError extends Error {
  override name = 'OutdatedIdentitiesError';
}

/**
 * The whole file has to be read before its entries can be identified, because other imports have stored movements or statements of
 * its days, or two of its statements may have entries in common.
 */
export class KnownDaysError extends Error {
  override name = 'KnownDaysError';
}
