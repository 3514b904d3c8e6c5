import type { Movement } from '../movement.ts';
import type { AccountReference, MinorUnits } from './statement.ts';

/** A statement that begins: what it says about its account, and the account that was found, or why there is none. */
export interface BegunStatement {
  format: string;
  /** The name of its file within a zip; null: it did not come in a zip. */
  file: string | null;
  reference: AccountReference;
  account: FoundAccount;
}

/** An account of the customer that a statement is about; or why there is none, as a sentence for the sender. */
export type FoundAccount = { id: string; currency: string } | { problem: string };

/** The balances of a statement as the file has them, and the sums of its booked entries. */
export interface StatementTotals {
  opening: MinorUnits | null;
  credits: MinorUnits;
  debits: MinorUnits;
  closing: MinorUnits | null;
  /** By how much the closing balance is more than the opening balance and the entries give; null if one of them is missing. */
  difference: MinorUnits | null;
}

/**
 * What a line of an import gives. `value` is a movement that is parsed and not validated yet. `movement` is one of a statement, with
 * its account and its amounts in their form and its texts cut to their lengths, and `reference` is what the bank calls it. `issue` says
 * why a row could not be read; null: an earlier issue says it for this row too. A `warning`, the beginning of a `statement` and its
 * `totals` at its end are no rows.
 */
export type Row =
  | { line: number; value: unknown }
  | { line: number; movement: Movement; reference: string | null }
  | { line: number; issue: string | null; path?: string }
  | { line: number; warning: string }
  | { line: number; statement: BegunStatement }
  | { line: number; totals: StatementTotals };

/** Reads staged bytes part by part and yields their rows. */
export type Reader = (parts: AsyncIterable<Buffer>) => AsyncIterable<Row[]>;
