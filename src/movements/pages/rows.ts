import type { Page } from '../../platform/page.ts';

/** The rows of a page of a listing. */

/** A movement as it is read. */
export interface Row {
  id: string;
  account_id: string;
  name: string | null;
  dc: 'Debit' | 'Credit';
  code: string | null;
  amount: string;
  balance: string | null;
  description: string | null;
  date_issue: string;
  date_readed: string;
  opponent_id: string | null;
  opponent_iban: string | null;
  unique_id: string;
  /** Only of a withdrawn movement. */
  withdrawn_at?: string;
  withdrawn_reason?: string;
}

/** The rows of a page. */
export interface FoundPage extends Page<Row> {
  /** The date_readed, or withdrawn_at, of the last movement that a search has looked at. */
  searchedThrough?: string | undefined;
}

/** The columns of a movement. Two values: the minutes and the text of the zone. */
export const COLUMNS = `t.id, t.account_id, t.name, t.dc, t.code, t.amount, t.balance, t.description, t.date_issue,
  CONCAT(DATE_FORMAT(t.date_readed + INTERVAL ? MINUTE, '%Y-%m-%d %H:%i:%s'), ?) AS date_readed,
  t.opponent_id, t.opponent_iban, CONVERT(t.unique_id USING utf8mb4) AS unique_id`;

export const NOTHING: FoundPage = { rows: [], next: null };

export const inOrder = (ids: readonly string[], rows: ReadonlyMap<string, Row>): Row[] =>
  ids.flatMap((id) => rows.get(id) ?? []);
