import type { Sql } from '../../database/transaction.ts';
import type { ZoneOffset } from '../../platform/moment.ts';
import { cutPage } from '../../platform/page.ts';
import {
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
import { columnsOf, matches } from '../movement-filter.ts';
import { COLUMNS, type FoundPage, inOrder, NOTHING, type Row } from './rows.ts';
import { type LookedAt, search } from './search.ts';

/** Reads the stored movements of a page of a listing. */

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
  if (isSearch(listing)) return searchStored(sql, listing, { range, offset }, zone);
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

/** Reads a page of the movements that pass a filter, or are of an import. */
function searchStored(
  sql: Sql,
  listing: Listing,
  place: Pick<PageStart, 'range' | 'offset'>,
  zone: ZoneOffset,
): Promise<FoundPage> {
  const { filter } = listing;
  const texts = filter === undefined ? [] : columnsOf(filter);
  const decided = [...texts, ...(listing.import === undefined ? [] : ['import_id'])];
  const selected = ['id', ...decided].map((column) => `t.${column}`).join(', ');
  return search<LookedAt & { import_id?: string }>(listing, place, {
    texts,
    look(range, most) {
      const { index, where, order, values } = conditions(listing, range);
      return sql.query(
        `SELECT ${selected} FROM transactions t FORCE INDEX (${index}) WHERE ${where} ORDER BY ${order} LIMIT ?`,
        [...values, most],
      );
    },
    isListed: (row) =>
      (listing.import === undefined || row.import_id === listing.import.id) &&
      (filter === undefined || matches(filter, row)),
    read: (ids) => readByIds(sql, listing, ids, zone),
    momentOf: ({ date_readed }) => date_readed,
  });
}
