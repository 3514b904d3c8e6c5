/**
 * One row of an import. `value` is what the format made of it and has still to be checked; `fault` says why nothing
 * could be made of it.
 */
export type Row = { line: number; value: unknown } | { line: number; fault: string };

/** Reads staged bytes piece by piece and yields the rows of each: never the whole of a large file at once. */
export type Reader = (pieces: AsyncIterable<Buffer>) => AsyncIterable<Row[]>;
