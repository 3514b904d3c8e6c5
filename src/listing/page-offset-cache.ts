import { hash } from 'node:crypto';
import { type Listing, NEAR_PAGES } from './listing.ts';
import type { Page } from './transactions.ts';

const MINUTE = 60_000;

/** About 2 MB when full. */
const KEPT_MARKS = 10_000;

/** A database that was restored from a backup gives ids out again: nothing is believed for longer than this. */
const LIFETIME = 10 * MINUTE;

/** Remembers at which ids numbered pages begin. */
export interface PageOffsetCache {
  /** The same page, counted from a cursor where the place of it or of one a little before is known; else the listing as it is. */
  shorten(listing: Listing): Listing;
  /** Remembers where the page that was read begins, and where the next one does. */
  keep(listing: Listing, page: Page): void;
}

/**
 * MySQL finds page 1,001 by its place among all rows before it. But movements are only ever added, in the order of
 * their ids, so that a full page never changes and the next one always begins behind the same id: who reads page after
 * page by number walks past nothing, or past the few that other processes were asked for. The oldest marks are forgotten
 * first; one that is missing costs the seek (segments.ts), no more.
 * @param clock milliseconds; must never go back.
 */
export function createPageOffsetCache({
  kept = KEPT_MARKS,
  clock = () => performance.now(),
} = {}): PageOffsetCache {
  const marks = new Map<string, { id: string; at: number }>();

  const set = (key: string, id: string) => {
    marks.delete(key);
    marks.set(key, { id, at: clock() });
    const oldest = marks.keys().next().value;
    if (marks.size > kept && oldest !== undefined) marks.delete(oldest);
  };

  return {
    shorten(listing) {
      if (listing.page === 1 || listing.cursor !== null) return listing;
      const name = nameOf(listing);
      for (let page = listing.page; page > Math.max(1, listing.page - NEAR_PAGES); page -= 1) {
        const mark = marks.get(keyOf(name, listing, page));
        if (mark !== undefined && clock() - mark.at <= LIFETIME)
          return { ...listing, cursor: mark.id, page: listing.page - page + 1 };
      }
      return listing;
    },
    keep(listing, { transactions, next }) {
      const [first] = transactions;
      if (listing.cursor !== null || first === undefined) return;
      const name = nameOf(listing);
      if (listing.page > 1) set(keyOf(name, listing, listing.page), String(BigInt(first.id) - 1n));
      if (next !== null) set(keyOf(name, listing, listing.page + 1), next);
    },
  };
}

/** All that decides which rows a listing has; hashed, since a limited key may name any number of accounts. */
const nameOf = ({ customerId, accountIds, starts, ends, after }: Listing): string =>
  hash('sha256', JSON.stringify([customerId, accountIds, starts, ends, after]));

/** A place in a listing, by the number of rows before it. */
const keyOf = (name: string, { perPage }: Listing, page: number): string => `${name} ${(page - 1) * perPage}`;
