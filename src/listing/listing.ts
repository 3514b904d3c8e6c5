/** Which movements, and which page of them. Order: id ascending. */
export interface Listing {
  customerId: string;
  /** The accounts to list. 'all': every account of the customer. */
  accountIds: 'all' | readonly string[];
  /** Inclusive, on date_issue. */
  starts: string | null;
  ends: string | null;
  /** Inclusive, on date_readed; UTC as MySQL writes it. */
  after: string | null;
  /** The listing begins after this id. null: from the first movement. */
  cursor: string | null;
  /** From 1. Counted from the cursor, if there is one. */
  page: number;
  perPage: number;
}

/** A page up to this far from a known position is reached by walking the index: about 4 ms with a thousand rows per page. */
export const NEAR_PAGES = 20;
