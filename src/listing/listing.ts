/** Which movements, and which page of them. Order: id ascending. */
export interface Listing {
  customerId: string;
  /** The accounts to list; 'all' of the customer. */
  accountIds: 'all' | readonly string[];
  /** Inclusive, on date_issue. */
  starts: string | null;
  ends: string | null;
  /** Inclusive, on date_readed; UTC as MySQL writes it. */
  after: string | null;
  /** Behind this id; null: from the first. */
  cursor: string | null;
  /** From 1; counted from the cursor, if there is one. */
  page: number;
  perPage: number;
}

/** So many pages on from a place that is known, a page is walked to: about 4 ms by a thousand rows a page. */
export const NEAR_PAGES = 20;
