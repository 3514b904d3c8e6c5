/** The size of a page. A scan ends when it has found more than this. */
export const PER_PAGE = 100;

/** Entries of an index read per statement. The first statement reads only a page, since most listings leave out little. */
const WINDOW = 1_000;

/** Entries read for one page at most, so that a search for rare matches ends. */
export const MOST_LOOKED_AT = 10_000;

/** Movements that one source has found for a page, newest first. */
export interface Found {
  ids: string[];
  /** All movements from this one on have been read; 0: all there are. */
  reached: bigint;
}

/** What is left of MOST_LOOKED_AT. Several scans for one page share it. */
export interface Budget {
  entries: number;
}

/**
 * Reads an index downward from `before`, until more than a page is found or the budget is used up.
 * @param before the first entry is below this movement.
 * @param read returns entries below a movement, in descending order.
 * @param keep returns those that belong to the listing.
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
