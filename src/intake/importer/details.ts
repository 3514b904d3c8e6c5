import { formatAmount } from '../../../packages/statements/src/amounts.ts';
import type { Sql } from '../../database/transaction.ts';
import type { StatementEntry } from '../known/entry.ts';
import { parseStatementId, shortenReference } from '../known/statement-id.ts';
import type { EntryStatement } from './rows.ts';

/** Stores details from statements for which a movement has no field. */

/** The movements that the chunk has added. Index: transactions_customer_page. */
const ADDED = `
  SELECT id, account_id, CONVERT(unique_id USING utf8mb4) AS unique_id FROM transactions FORCE INDEX (transactions_customer_page)
  WHERE customer_id = ? AND id > ?`;

const ADD = `
  INSERT INTO transaction_details (transaction_id, customer_id, statement_id, line, position, currency, value_date, end_to_end_id,
    creditor_reference, mandate_reference, original_amount, original_currency, exchange_rate, batch_reference, batch_amount,
    is_reversal) VALUES ?`;

/** As in the table transaction_details. A longer text is not taken for a reference. */
const LONGEST_ID = 140;
const LONGEST_REFERENCE = 35;

interface AddedMovement {
  id: string;
  account_id: string;
  unique_id: string;
}

/** An entry with the unique id that its movement was stored under. */
export type AddedEntry = StatementEntry & {
  uniqueId: string;
  /** No movement has its id. Otherwise it conflicts with the movement of that id. */
  isNew: boolean;
};

/**
 * Stores the details of the movements that a chunk has added.
 * @param sql a transaction that holds the customer's import lock.
 * @param chunk.newest the id of the customer's newest movement before the chunk.
 */
export async function storeDetails(
  sql: Sql,
  chunk: { customerId: string; newest: string; entries: readonly AddedEntry[] },
  statementIds: ReadonlyMap<EntryStatement, string>,
): Promise<void> {
  const { customerId, newest, entries } = chunk;
  if (entries.length === 0) return;
  const added = await sql.query<AddedMovement[]>(ADDED, [customerId, newest]);
  const ids = new Map(added.map((it) => [`${it.account_id} ${it.unique_id}`, it.id]));
  const rows: unknown[][] = [];
  const reversals: Reversal[] = [];
  for (const { line, index, movement, uniqueId, statement, details, reference } of entries) {
    if (statement.kind === 'none') continue;
    const key = `${movement.account_id} ${uniqueId}`;
    const id = ids.get(key);
    // A known movement keeps the details that it came with.
    if (id === undefined) continue;
    ids.delete(key);
    const { originalAmount, isReversal } = details;
    const endToEndId = withinLength(details.endToEndId, LONGEST_ID);
    rows.push([
      id,
      customerId,
      statementIds.get(statement) ?? null,
      line,
      index,
      details.currency,
      details.valueDate ?? null,
      endToEndId,
      withinLength(details.creditorReference, LONGEST_REFERENCE),
      withinLength(details.mandateReference, LONGEST_ID),
      originalAmount === undefined ? null : formatAmount(originalAmount, null),
      details.originalCurrency ?? null,
      details.exchangeRate ?? null,
      shortenReference(details.batch?.reference ?? null),
      details.batch === undefined ? null : formatAmount(details.batch.amount, null),
      isReversal === true,
    ]);
    if (isReversal) reversals.push({ id, movement, endToEndId, reference });
  }
  if (rows.length > 0) await sql.query(ADD, [rows]);
  for (const reversal of reversals) await linkReversal(sql, reversal);
}

/** The movements whose details came with another import. Index: the primary key. */
const DETAILED =
  'SELECT DISTINCT transaction_id FROM batch_details WHERE transaction_id IN (?) AND import_id <> ?';

const ADD_TO_BATCH = `
  INSERT IGNORE INTO batch_details (transaction_id, position, customer_id, import_id, dc, amount, name, description, opponent_iban,
    end_to_end_id, creditor_reference) VALUES ?`;

/**
 * Stores the details of batches that are stored already. The first import that brings some decides.
 * @param entries each with the movement of its batch.
 */
export async function storeBatchDetails(
  sql: Sql,
  { customerId, importId }: { customerId: string; importId: string },
  entries: readonly { entry: StatementEntry; transactionId: string }[],
): Promise<void> {
  if (entries.length === 0) return;
  const ids = [...new Set(entries.map(({ transactionId }) => transactionId))];
  const known = await sql.query<{ transaction_id: string }[]>(DETAILED, [ids, importId]);
  const areKnown = new Set(known.map((it) => it.transaction_id));
  const rows = entries
    .filter(({ transactionId }) => !areKnown.has(transactionId))
    .map(({ entry: { index, movement, details }, transactionId }) => [
      ...[transactionId, index, customerId, importId, movement.dc, movement.amount],
      ...[movement.name, movement.description, movement.opponent_iban],
      withinLength(details.endToEndId, LONGEST_ID),
      withinLength(details.creditorReference, LONGEST_REFERENCE),
    ]);
  if (rows.length > 0) await sql.query(ADD_TO_BATCH, [rows]);
}

const withinLength = (text: string | undefined, longest: number): string | null =>
  text === undefined || text.length > longest ? null : text;

type Reversal = Pick<StatementEntry, 'movement' | 'reference'> & { id: string; endToEndId: string | null };

/**
 * How many days back a reversed movement is searched. A bank takes back a payment within days. A debtor may take back a SEPA direct
 * debit within eight weeks.
 */
const DAYS_BACK = 92;
const DAY = 86_400_000;

/** Most movements with the same amount among which the reversed movement is searched. */
const MOST_CANDIDATES = 1_000;

/** Finds movements by the day, direction and amount at the beginning of their unique ids. Index: transactions_unique_id. */
const CANDIDATES = (days: number) => `
  SELECT t.id, CONVERT(t.unique_id USING utf8mb4) AS unique_id, d.end_to_end_id
  FROM transactions t FORCE INDEX (transactions_unique_id) LEFT JOIN transaction_details d ON d.transaction_id = t.id
  WHERE t.account_id = ? AND (${Array(days).fill('t.unique_id BETWEEN ? AND ?').join(' OR ')}) AND t.id < ? LIMIT ?`;

const LINK = 'UPDATE transaction_details SET reverses = ? WHERE transaction_id = ?';

/**
 * Links a reversal to the one earlier movement that it can mean: of the same account and amount in the opposite direction, with the
 * same end-to-end id or the same reference of the bank. A reversal that can mean none or several gets no link.
 */
export async function linkReversal(
  sql: Sql,
  { id, movement, endToEndId, reference }: Reversal,
): Promise<void> {
  if (endToEndId === null && reference === null) return;
  const dc = movement.dc === 'Debit' ? 'Credit' : 'Debit';
  const ranges = Array.from({ length: DAYS_BACK + 1 }, (_, days) => {
    const date = new Date(Date.parse(movement.date_issue) - days * DAY).toISOString().slice(0, 10);
    const start = `statement:${date}:${dc}:${movement.amount}:`;
    // ";" is the character after ":".
    return [start, start.replace(/:$/, ';')];
  });
  const values = [movement.account_id, ...ranges.flat(), id, MOST_CANDIDATES];
  const candidates = await sql.query<{ id: string; unique_id: string; end_to_end_id: string | null }[]>(
    CANDIDATES(ranges.length),
    values,
  );
  if (candidates.length === MOST_CANDIDATES) return;
  const own = shortenReference(reference);
  const [only, ...others] = candidates.filter(
    (it) =>
      (endToEndId !== null && it.end_to_end_id === endToEndId) ||
      (own !== null && parseStatementId(it.unique_id).reference === own),
  );
  if (only !== undefined && others.length === 0) await sql.query(LINK, [only.id, id]);
}
