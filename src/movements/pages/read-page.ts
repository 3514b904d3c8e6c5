import type { Sql } from '../../database/transaction.ts';
import { createGiveWay } from '../../platform/give-way.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { cutPage, type Page } from '../../platform/page.ts';
import {
  beyond,
  conditions,
  findIdRange,
  type IdRange,
  isSearch,
  type Listing,
  NEAR_PAGES,
  narrowToDates,
  type PageStart,
  seek,
  until,
} from '../listing.ts';
import { columnsOf, type FilteredMovement, matches } from '../movement-filter.ts';

/** Reads the movements of a page of a listing. */

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
}

/** The rows of a page. */
export interface FoundPage extends Page<Row> {
  /** The date_readed of the last movement that a filter has looked at. */
  searchedThrough?: string | undefined;
}

const COLUMNS = `t.id, t.account_id, t.name, t.dc, t.code, t.amount, t.balance, t.description, t.date_issue,
  CONCAT(DATE_FORMAT(t.date_readed + INTERVAL ? MINUTE, '%Y-%m-%d %H:%i:%s'), ?) AS date_readed,
  t.opponent_id, t.opponent_iban, CONVERT(t.unique_id USING utf8mb4) AS unique_id`;

/** Reads movements of a customer by their ids. Index: the primary key. @returns them by id. Those that retention has removed are missing. */
export async function readByIds(
  sql: Sql,
  { customerId }: Pick<Listing, 'customerId'>,
  ids: readonly string[],
  zone: ZoneOffset,
): Promise<Map<string, Row>> {
  if (ids.length === 0) return new Map();
  const rows = await sql.query<Row[]>(
    `SELECT ${COLUMNS} FROM transactions t WHERE t.id IN (?) AND t.customer_id = ?`,
    [zone.minutes, zone.text, ids, customerId],
  );
  return new Map(rows.map((row) => [row.id, row]));
}

const inOrder = (ids: readonly string[], rows: ReadonlyMap<string, Row>): Row[] =>
  ids.flatMap((id) => rows.get(id) ?? []);

const NOTHING: FoundPage = { rows: [], next: null };

/**
 * Reads a page.
 *
 * A far page is found with `seek`. Other pages are searched from the beginning of the listing to at most one page beyond their end.
 * This succeeds if nearly all movements lie between the dates, as they do after a cursor. If it fails, the dates are turned into a
 * range of ids, at a cost that grows with the number of days and accounts. The movements of an import, or with a unique_id, are few.
 */
export async function readPage(sql: Sql, listing: Listing, zone: ZoneOffset): Promise<FoundPage> {
  const { starts, ends, page, perPage } = listing;
  const range = await findIdRange(sql, listing);
  if (range === null) return NOTHING;
  const offset = (page - 1) * perPage;
  const hasDates = starts !== null || ends !== null;
  if (!hasDates || listing.import !== undefined || listing.uniqueId !== undefined) {
    return readFrom(
      sql,
      listing,
      hasSegments(listing) ? await seek(sql, listing, range) : { range, offset },
      zone,
    );
  }
  if (hasSegments(listing)) return readFarPage(sql, listing, await seek(sql, listing, range), zone);
  const ahead = await lookAhead(sql, listing, range);
  if (ahead === null || (ahead.date_issue >= (starts ?? '') && (ends === null || ahead.date_issue <= ends))) {
    const near = ahead === null ? range : until(range, ahead.id, listing);
    const found = await readFrom(sql, listing, { range: near, offset }, zone);
    if (ahead === null || found.next !== null) return found;
  }
  const narrowed = await narrowToDates(sql, listing, range);
  return narrowed === null ? NOTHING : readFrom(sql, listing, { range: narrowed, offset }, zone);
}

/** Whether segments find the page. They count the movements of accounts and days from the oldest on. */
const hasSegments = ({ page, isReversed, dc, uniqueId, ...listing }: Listing): boolean =>
  page > NEAR_PAGES &&
  isReversed !== true &&
  dc === undefined &&
  listing.import === undefined &&
  uniqueId === undefined;

/** Reads a far page. If it may be the last one, narrows the range to the dates, so that the walk ends there. */
async function readFarPage(
  sql: Sql,
  listing: Listing,
  start: PageStart,
  zone: ZoneOffset,
): Promise<FoundPage> {
  if (start.full) return readFrom(sql, listing, start, zone);
  const range = await narrowToDates(sql, listing, start.range);
  return range === null ? NOTHING : readFrom(sql, listing, { ...start, range }, zone);
}

/** Finds the first movement after the next page, ignoring dates. Reads the index only. @returns null when there is none. */
async function lookAhead(sql: Sql, listing: Listing, range: IdRange) {
  const { index, where, order, values } = conditions({ ...listing, starts: null, ends: null }, range);
  const [row] = await sql.query<{ id: string; date_issue: string }[]>(
    `SELECT t.id, t.date_issue FROM transactions t FORCE INDEX (${index}) WHERE ${where} ORDER BY ${order} LIMIT 1 OFFSET ?`,
    [...values, (listing.page + 1) * listing.perPage],
  );
  return row ?? null;
}

/** Reads a page from a known place on, and one row more to know whether there is a next page. */
async function readFrom(
  sql: Sql,
  listing: Listing,
  { range, offset }: Pick<PageStart, 'range' | 'offset'>,
  zone: ZoneOffset,
): Promise<FoundPage> {
  const { perPage } = listing;
  if (isSearch(listing)) return search(sql, listing, { range, offset }, zone);
  const { index, where, order, values } = conditions(listing, range);
  const from = `FROM transactions t FORCE INDEX (${index}) WHERE ${where} ORDER BY ${order} LIMIT ?`;
  if (offset === 0) {
    const rows = await sql.query<Row[]>(`SELECT ${COLUMNS} ${from}`, [
      zone.minutes,
      zone.text,
      ...values,
      perPage + 1,
    ]);
    return cutPage(rows, perPage);
  }
  // Rows before the page are skipped in the index. Only the rows of the page are read completely.
  const found = await sql.query<{ id: string }[]>(`SELECT t.id ${from} OFFSET ?`, [
    ...values,
    perPage + 1,
    offset,
  ]);
  const { rows, next } = cutPage(found, perPage);
  const ids = rows.map(({ id }) => id);
  const read = await readByIds(sql, listing, ids, zone);
  return { rows: inOrder(ids, read), next };
}

/** The most movements that a filter looks at for one page. */
export const MOST_SEARCHED = 200_000;

/** The most text that a filter looks at for one page, in UTF-16 code units. Texts may have 4,000 characters; most have a hundred. */
const MOST_TEXT = 64 * 1024 * 1024;

/** Movements that are read at a time. */
const SEARCH_STEP = 2_000;

/**
 * Reads a page of the movements that pass a filter, or are of an import. The page ends early when so many movements, or so much text, were
 * looked at that the client should hear how far the search has come.
 */
async function search(
  sql: Sql,
  listing: Listing,
  place: Pick<PageStart, 'range' | 'offset'>,
  zone: ZoneOffset,
): Promise<FoundPage> {
  const { ids, next, last } = await findMatches(sql, listing, place);
  const through = next ?? last;
  const read = await readByIds(sql, listing, through === undefined ? ids : [...ids, through], zone);
  const searchedThrough = through === undefined ? undefined : read.get(through)?.date_readed;
  return { rows: inOrder(ids, read), next, searchedThrough };
}

/** @returns the ids of the page, the id after which the search goes on, and that of the last movement that was looked at. */
async function findMatches(
  sql: Sql,
  listing: Listing,
  { range, offset }: Pick<PageStart, 'range' | 'offset'>,
): Promise<{ ids: string[]; next: string | null; last: string | undefined }> {
  const { filter, perPage } = listing;
  const columns = filter === undefined ? [] : columnsOf(filter);
  const decided = [...columns, ...(listing.import === undefined ? [] : ['import_id'])];
  const selected = ['id', ...decided].map((column) => `t.${column}`).join(', ');
  const giveWay = createGiveWay();
  const ids: string[] = [];
  let rest = range;
  let skipped = 0;
  let searched = 0;
  let text = 0;
  let last: string | undefined;
  for (;;) {
    const { index, where, order, values } = conditions(listing, rest);
    const rows = await sql.query<({ id: string; import_id?: string } & FilteredMovement)[]>(
      `SELECT ${selected} FROM transactions t FORCE INDEX (${index}) WHERE ${where} ORDER BY ${order} LIMIT ?`,
      [...values, SEARCH_STEP],
    );
    for (const row of rows) {
      const turn = giveWay();
      if (turn !== undefined) await turn;
      for (const column of columns) text += row[column]?.length ?? 0;
      if (listing.import !== undefined && row.import_id !== listing.import.id) continue;
      if (filter !== undefined && !matches(filter, row)) continue;
      if (skipped < offset) {
        skipped += 1;
        continue;
      }
      if (ids.length === perPage) return { ids, next: ids.at(-1) ?? null, last };
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
