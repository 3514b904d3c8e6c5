/**
 * What a line of an import gives. `value` is a movement that is parsed and not validated yet; `reference` is what the bank calls
 * it, in a statement. `issue` says why a row could not be read; null: an earlier issue says it for this row too. A `warning` and the
 * beginning of a `statement` are no rows.
 */
export type Row =
  | { line: number; value: unknown; reference?: string | null }
  | { line: number; issue: string | null; path?: string }
  | { line: number; warning: string }
  | { line: number; statement: true };

/** Reads staged bytes part by part and yields their rows. */
export type Reader = (parts: AsyncIterable<Buffer>) => AsyncIterable<Row[]>;
