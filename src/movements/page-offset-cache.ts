import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Listing, NEAR_PAGES } from './listing.ts';
import type { Page } from './transactions.ts';

const MINUTE = 60_000;

/** About 2 MB when full. */
const MAX_ENTRIES = 10_000;

/** Entries expire, because a database that was restored from a backup assigns ids again. */
const LIFETIME = 10 * MINUTE;

/** Remembers at which ids numbered pages begin. */
export interface PageOffsetCache {
  /**
   * Returns the same page counted from a cursor, if the position of this page or of one shortly before it is known. Otherwise
   * returns `listing`.
   */
  shorten(listing: Listing): Listing;
  /** Remembers where a page that was read begins, and where the next one begins. */
  keep(listing: Listing, page: Page): void;
}

/**
 * To find page 1,001, MySQL walks past all rows before it. The cache avoids this. Movements are added in the order of their ids and
 * seldom removed, so a full page hardly ever changes, and the next page begins after the same id. A client that reads page after
 * page by number walks past nothing, or only past the few pages that other processes have answered. After a removal, pages shift
 * once the entries have expired. A missing entry costs only the seek (segments.ts).
 * @param clock milliseconds; above 0; must never go back.
 */
export function createPageOffsetCache({
  kept = MAX_ENTRIES,
  clock = () => performance.now(),
} = {}): PageOffsetCache {
  const ids = new LRUCache<string, string>({
    max: kept,
    ttl: LIFETIME,
    ttlResolution: 0,
    perf: { now: clock },
  });

  return {
    shorten(listing) {
      if (listing.page === 1 || listing.cursor !== null) return listing;
      const name = nameOf(listing);
      for (let page = listing.page; page > Math.max(1, listing.page - NEAR_PAGES); page -= 1) {
        const id = ids.get(keyOf(name, listing, page));
        if (id !== undefined) return { ...listing, cursor: id, page: listing.page - page + 1 };
      }
      return listing;
    },
    keep(listing, { transactions, next }) {
      const [first] = transactions;
      if (listing.cursor !== null || first === undefined) return;
      const name = nameOf(listing);
      if (listing.page > 1) ids.set(keyOf(name, listing, listing.page), String(BigInt(first.id) - 1n));
      if (next !== null) ids.set(keyOf(name, listing, listing.page + 1), next);
    },
  };
}

/**
 * A hash of everything that decides the rows of a listing. It is a hash because a limited API key may have any number of accounts.
 */
const nameOf = ({ customerId, accountIds, starts, ends, after }: Listing): string =>
  hash('sha256', JSON.stringify([customerId, accountIds, starts, ends, after]));

/** A position in a listing, given by the number of rows before it. */
const keyOf = (name: string, { perPage }: Listing, page: number): string => `${name} ${(page - 1) * perPage}`;
