/** Index entries read per statement. The first statement reads a page, because most listings leave out few entries. */
const WINDOW = 1_000;

/** Entries read for one page at most, so that a search for rare matches ends. */
export const MOST_LOOKED_AT = 10_000;

/** Deliveries of a webhook, of the movements after < id < before. More than `perPage` of them end a scan. */
export interface DeliveryRange {
  webhookId: string;
  after: string;
  before: string;
  perPage: number;
  /** The webhook is an OPERATIONAL one: its deliveries are of events, and not of movements. */
  ofEvents?: boolean;
}

/** The movements that one source has for a page, newest first. */
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
  { before, perPage, budget }: { before: string; perPage: number; budget: Budget },
  read: (before: string, limit: number) => Promise<T[]>,
  keep: (entries: T[]) => Promise<T[]> | T[],
): Promise<Found> {
  const ids: string[] = [];
  for (let from = before, limit = perPage + 1; ; limit = WINDOW) {
    const entries = await read(from, limit);
    for (const { id } of await keep(entries)) ids.push(id);
    budget.entries -= entries.length;
    const last = entries.at(-1);
    if (last === undefined || entries.length < limit) return { ids, reached: 0n };
    if (ids.length > perPage || budget.entries <= 0) return { ids, reached: BigInt(last.id) };
    from = last.id;
  }
}
