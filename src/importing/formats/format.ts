/**
 * One row of an import. `value` is what the format made of it and has still to be checked; `issue` says why nothing
 * could be made of it.
 */
export type Row = { line: number; value: unknown } | { line: number; issue: string };

/** Reads staged bytes part by part and yields the rows of each: never the whole of a large file at once. */
export type Reader = (parts: AsyncIterable<Buffer>) => AsyncIterable<Row[]>;
