/**
 * One row of an import. `value` is parsed but not validated yet. `issue` says why the row could not be parsed.
 */
export type Row = { line: number; value: unknown } | { line: number; issue: string };

/** Reads staged bytes part by part and yields their rows. */
export type Reader = (parts: AsyncIterable<Buffer>) => AsyncIterable<Row[]>;
