/** Statements and rows in the form in which they are identified. All belong to one account. */

/** A row of a statement. */
export interface StatementRow {
  /** The booking date, YYYY-MM-DD. */
  day: string;
  /** In thousandths. Negative for a debit. */
  amount: bigint;
  /** The balance after the row, in thousandths; null: unknown. */
  balance: bigint | null;
  /** The bank's name for the row; null: none. */
  reference: string | null;
  /** All texts of the row. */
  text: string;
  /** The reference is not the bank's, but the account owner's. It is no id. Of stored rows it is not known. */
  isOwnReference?: true;
  /** The reference is the position of the row in its file. It is no id, and says nothing. Of stored rows it is not known. */
  isPosition?: true;
  /** A letter of the text could not be read (U+FFFD), or the text is cut there. */
  isBroken?: true;
  /** The row is one of the details of a batch. */
  batch?: Batch;
  /** The file calls the row a reversal. Banks mean either direction by that. */
  isReversal?: true;
}

/** An entry of the bank that its file lists as several rows. */
export interface Batch {
  /** The bank's name for it; null: none. */
  reference: string | null;
  /** In thousandths. Negative for a debit. */
  total: bigint;
}

/** A statement, or rows that came without one. */
export interface Statement {
  /** `none`: rows that came without a statement, as JSON. */
  kind: 'final' | 'interim' | 'none';
  format: string;
  number: string | null;
  /** The page number. */
  sequence: string | null;
  /** The first and the last day of the statement, YYYY-MM-DD. */
  from: string | null;
  to: string | null;
  opening: bigint | null;
  closing: bigint | null;
  /** In the order of the file. */
  rows: readonly StatementRow[];
}

/** A stored movement that a row may be. */
export interface Candidate {
  id: string;
  day: string;
  amount: bigint;
  text: string;
}

/** A stored statement. It has only rows of the days that were read. */
export interface StoredStatement extends Statement {
  /** null: rows without a statement. */
  id: string | null;
  /** The movement of each row, as an index into the movements. */
  movements: readonly number[];
  /** A hash of the statement's header, by which the same statement is recognised; null: rows without a statement. */
  fingerprint: string | null;
}

/** A statement of the file. */
export interface ReceivedStatement extends Statement {
  /** The name of its file, if the statements come from several. */
  file?: string | null;
  fingerprint: string | null;
  /** Rows that this import has stored before it was interrupted: the index of their movement by their position. */
  stored?: ReadonlyMap<number, number>;
}

/** The stored movements and statements of a file's days. */
export interface Stored {
  movements: readonly Candidate[];
  statements: readonly StoredStatement[];
}

export type KnownReason = 'same' | 'changed' | 'assumed';

/** A row of a statement that is a known movement. */
export type KnownRow = Pick<StatementRow, 'balance' | 'reference'> & { movement: number };

/**
 * The decision about a row. `movement` is an index into the stored movements, followed by the new movements of the file.
 *
 * - `new`: a movement that is not stored. `isAssumed`: it may be a known movement, because nothing proves the opposite. `replaces`:
 *   the movement that this row of the same statement was taken for before.
 * - `known`: a stored movement, or one that an earlier row of the file brings. `rows`: what the statement has instead of the row, because
 *   a batch and its details are one booking. The details of a batch have one row together, that of the first.
 * - `conflict`: the row has the bank's id of a movement, and another amount, and a final statement says that the movement was not booked.
 */
export type Decision = { movement: number } & (
  | { outcome: 'new'; isAssumed: boolean; replaces?: number }
  | { outcome: 'known'; reason: KnownReason; rows?: readonly KnownRow[] }
  | { outcome: 'conflict' }
);
