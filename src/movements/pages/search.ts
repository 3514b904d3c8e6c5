import { createGiveWay } from '../../platform/give-way.ts';
import { beyond, type IdRange, type Listing, type PageStart } from '../listing.ts';
import type { FilteredMovement } from '../movement-filter.ts';
import { type FoundPage, inOrder, type Row } from './rows.ts';

/** Finds the movements of a page by looking at one after another. */

/** The most movements that a search looks at for one page. */
export const MOST_SEARCHED = 200_000;

/** The most text that a search looks at for one page, in UTF-16 code units. Texts may have 4,000 characters; most have a hundred. */
const MOST_TEXT = 64 * 1024 * 1024;

/** Movements that are read at a time. */
export const SEARCH_STEP = 2_000;

/** A movement that a search looks at, with its position in the listing as its id, and with the columns that decide. */
export type LookedAt = { id: string } & FilteredMovement;

/** The movements that are searched. */
interface Searched<It extends LookedAt> {
  /** The columns that count for the most text. */
  texts: readonly (keyof FilteredMovement)[];
  /** Reads the first movements of a range, in the order of the listing. */
  look: (range: IdRange, most: number) => Promise<It[]>;
  isListed: (movement: It) => boolean;
  /** Reads movements by their positions. */
  read: (ids: readonly string[]) => Promise<Map<string, Row>>;
  /** The moment of a row with which `after` is compared. */
  momentOf: (row: Row) => string | undefined;
}

/**
 * Searches a page. It ends early when so many movements, or so much text, were looked at that the client should hear how far the search
 * has come.
 */
export async function search<It extends LookedAt>(
  listing: Listing,
  place: Pick<PageStart, 'range' | 'offset'>,
  searched: Searched<It>,
): Promise<FoundPage> {
  const { ids, next, last } = await findMatches(listing, place, searched);
  const through = next ?? last;
  const read = await searched.read(through === undefined ? ids : [...ids, through]);
  const lastRow = through === undefined ? undefined : read.get(through);
  return {
    rows: inOrder(ids, read),
    next,
    searchedThrough: lastRow === undefined ? undefined : searched.momentOf(lastRow),
  };
}

/** @returns the ids of the page, the id after which the search goes on, and that of the last movement that was looked at. */
async function findMatches<It extends LookedAt>(
  listing: Listing,
  { range, offset }: Pick<PageStart, 'range' | 'offset'>,
  { texts, look, isListed }: Searched<It>,
): Promise<{ ids: string[]; next: string | null; last: string | undefined }> {
  const giveWay = createGiveWay();
  const ids: string[] = [];
  let rest = range;
  let skipped = 0;
  let searched = 0;
  let text = 0;
  let last: string | undefined;
  for (;;) {
    const rows = await look(rest, SEARCH_STEP);
    for (const row of rows) {
      const turn = giveWay();
      if (turn !== undefined) await turn;
      for (const column of texts) text += row[column]?.length ?? 0;
      if (!isListed(row)) continue;
      if (skipped < offset) {
        skipped += 1;
        continue;
      }
      if (ids.length === listing.perPage) return { ids, next: ids.at(-1) ?? null, last };
      ids.push(row.id);
    }
    last = rows.at(-1)?.id ?? last;
    if (rows.length < SEARCH_STEP || last === undefined) return { ids, next: null, last };
    searched += rows.length;
    // No cursor leads to a page that is counted from the beginning.
    if (offset === 0 && (searched >= MOST_SEARCHED || text >= MOST_TEXT)) return { ids, next: last, last };
    rest = beyond(rest, last, listing);
  }
}
