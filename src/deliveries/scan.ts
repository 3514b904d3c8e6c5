/** More than this many found end a scan: a page. */
export const PER_PAGE = 100;

/** Entries of an index read in one statement, but for the first, which is a page: most listings leave out little. */
const WINDOW = 1_000;

/** Entries looked at for one page: what matches rarely must not be searched for without an end. */
export const MOST_LOOKED_AT = 10_000;

/** Movements that one source has for a page, newest first. */
export interface Found {
  ids: string[];
  /** All from this movement on has been looked at; 0: everything. */
  reached: bigint;
}

/** What is left of MOST_LOOKED_AT; several scans for one page share it. */
export interface Budget {
  entries: number;
}

/**
 * Goes through an index from an entry down, until there is more than a page, or the budget is used up.
 * @param before the first entry is below this movement.
 * @param read entries below a movement, in descending order.
 * @param keep those of them that belong to the listing.
 */
export async function scan<T extends { id: string }>(
  { before, budget }: { before: string; budget: Budget },
  read: (before: string, limit: number) => Promise<T[]>,
  keep: (entries: T[]) => Promise<T[]> | T[],
): Promise<Found> {
  const ids: string[] = [];
  for (let from = before, limit = PER_PAGE + 1; ; limit = WINDOW) {
    const entries = await read(from, limit);
    for (const { id } of await keep(entries)) ids.push(id);
    budget.entries -= entries.length;
    const last = entries.at(-1);
    if (last === undefined || entries.length < limit) return { ids, reached: 0n };
    if (ids.length > PER_PAGE || budget.entries <= 0) return { ids, reached: BigInt(last.id) };
    from = last.id;
  }
}
