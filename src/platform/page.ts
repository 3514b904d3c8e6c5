/** A page of a list, cut out of rows of which one more was read than the page has. */
export interface Page<Row> {
  rows: Row[];
  /** The id of the last row, after which the next page begins. null: there is no next page. */
  next: string | null;
}

/** Cuts a page out of rows. One more than `perPage` was read, so that it is known whether there is a next page. */
export function cutPage<Row extends { id: string }>(found: readonly Row[], perPage: number): Page<Row> {
  const rows = found.slice(0, perPage);
  return { rows, next: found.length > perPage ? (rows.at(-1)?.id ?? null) : null };
}
