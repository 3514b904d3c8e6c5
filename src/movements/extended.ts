import * as v from 'valibot';
import { showAmount } from '../../packages/statements/src/amounts.ts';
import type { Sql } from '../database/transaction.ts';
import { Amount, documented, IdView, withExample } from '../platform/validation.ts';

/** Details of movements that only answers and notifications with `extended` have. */

const said = <T extends v.GenericSchema>(schema: T, description: string, example: v.InferOutput<T>) =>
  v.pipe(
    v.nullable(schema),
    documented<v.InferOutput<T> | null>({ examples: [example] }),
    v.description(`${description} null: the bank does not say.`),
  );

export const Currency = v.pipe(v.string(), v.regex(/^[A-Z]{3}$/));

/** A payment of a batch. */
const DetailView = v.object({
  dc: withExample(v.picklist(['Debit', 'Credit']), 'Credit'),
  amount: withExample(Amount, '12500.00'),
  name: said(v.string(), 'The counterparty.', 'DENIZ YAZILIM A.S.'),
  description: said(v.string(), 'What the payment is for.', 'FATURA 2025-118'),
  opponent_iban: said(v.string(), 'The account of the counterparty.', 'TR470011100000099000005511'),
  end_to_end_id: said(v.string(), "The payer's reference for the payment.", 'FATURA-2025-118'),
  creditor_reference: said(v.string(), 'With correct check digits.', 'RF18539007547034'),
});

type Detail = v.InferOutput<typeof DetailView>;

/** The object `extended` of a movement. */
export const ExtendedView = v.object({
  currency: v.pipe(
    withExample(Currency, 'TRY'),
    v.description('ISO 4217. The currency of the account, if the bank does not say.'),
  ),
  value_date: said(v.pipe(v.string(), v.isoDate()), 'From when the money counts for interest.', '2025-11-04'),
  end_to_end_id: said(v.string(), "The payer's reference for the payment.", 'FATURA-2025-118'),
  creditor_reference: said(
    v.string(),
    'With correct check digits: ISO 11649 (RF…), 27 digits of a QR-bill, or Belgian +++123/4567/89002+++.',
    'RF18539007547034',
  ),
  mandate_reference: said(v.string(), 'Of a direct debit.', 'MANDAT-404-7'),
  bank_transaction_code: said(
    v.string(),
    'The kind of transaction, such as PMNT-RCDT-ESCT.',
    'PMNT-RCDT-ESCT',
  ),
  statement_id: said(IdView, 'The statement that has brought the movement.', 1),
  line: said(IdView, 'Its line in the file of the statement.', 8),
  reverses: said(
    IdView,
    'The movement that this one takes back, if exactly one matches and it is still stored.',
    5,
  ),
  original_amount: said(Amount, 'The amount in the currency in which the payment was made.', '300.00'),
  original_currency: said(Currency, 'ISO 4217.', 'USD'),
  exchange_rate: said(v.string(), 'As the bank has it, with a decimal point.', '41.667'),
  details: v.pipe(
    v.optional(v.array(DetailView)),
    v.description(
      'Of a batch whose details came after it was stored: the payments that it consists of, at most 1,000 and 256 KiB. A movement without such details has no such member.',
    ),
  ),
  details_more: v.pipe(
    v.optional(v.boolean()),
    documented({ examples: [true] }),
    v.description('The batch has more details than are shown here. Otherwise there is no such member.'),
  ),
});

export type Extended = v.InferOutput<typeof ExtendedView>;

/** The object of a movement without details. */
export const nothingSaid = (currency: string): Extended => ({
  currency,
  value_date: null,
  end_to_end_id: null,
  creditor_reference: null,
  mandate_reference: null,
  bank_transaction_code: null,
  statement_id: null,
  line: null,
  reverses: null,
  original_amount: null,
  original_currency: null,
  exchange_rate: null,
});

interface Row extends Record<Exclude<keyof Extended, 'details' | 'details_more'>, unknown> {
  id: string;
  currency: string;
  statement_id: string | null;
  line: number | null;
  reverses: string | null;
  original_amount: string | null;
  original_currency: string | null;
}

/** Where movements are, as long as they are not withdrawn, and afterwards. Their details stay where they are. */
export type MovementTable = 'transactions' | 'withdrawn_transactions';

/** A movement that was sent as JSON has no details. Indexes: the primary keys, and withdrawn_transactions_id. */
const readExtendedOf = (table: MovementTable) => `
  SELECT STRAIGHT_JOIN t.id, COALESCE(d.currency, a.currency) AS currency, d.value_date, d.end_to_end_id, d.creditor_reference,
    d.mandate_reference, IF(d.transaction_id IS NULL, NULL, t.code) AS bank_transaction_code, d.statement_id, d.line, d.reverses,
    d.original_amount, d.original_currency, d.exchange_rate
  FROM ${table} t JOIN accounts a ON a.id = t.account_id LEFT JOIN transaction_details d FORCE INDEX (PRIMARY) ON d.transaction_id = t.id
  WHERE t.id IN (?)`;

/** Most details of a movement, and most bytes of them as JSON. */
const MOST_DETAILS = 1_000;
const MOST_DETAIL_BYTES = 256 * 1024;

/** Most bytes of the details of all movements that are read together. The last movement may exceed it. */
const MOST_BYTES_TOGETHER = 4 * 1024 * 1024;

const DETAILS_AT_A_TIME = 2_000;

/** Index: the primary key. */
const READ_DETAILS = `
  SELECT transaction_id, position, dc, amount, name, description, opponent_iban, end_to_end_id, creditor_reference FROM batch_details
  WHERE transaction_id IN (?) AND (transaction_id > ? OR position > ?) ORDER BY transaction_id, position LIMIT ${DETAILS_AT_A_TIME}`;

/** Movements with what the bank says of them. */
interface ExtendedRead {
  /** By the movements' ids. */
  extended: Map<string, Extended>;
  /** The last of these movements, whose details were not read, because those of the others are long. */
  unread: readonly string[];
}

/** Reads what the bank says of these movements, with limits on the details of batches. */
export async function readExtended(
  sql: Sql,
  ids: readonly string[],
  table: MovementTable = 'transactions',
): Promise<ExtendedRead> {
  if (ids.length === 0) return { extended: new Map(), unread: [] };
  const rows = await sql.query<Row[]>(readExtendedOf(table), [ids]);
  if (table === 'transactions') await forgetRemoved(sql, rows);
  const extended = new Map(rows.map(({ id, ...row }) => [id, toExtended(row)]));
  return { extended, unread: await readDetails(sql, ids, extended) };
}

/** Index: the primary key. */
const FIND_STORED = 'SELECT id FROM transactions WHERE id IN (?)';

/** A stored movement takes back none that is withdrawn or removed. A withdrawn movement is shown as it was. */
async function forgetRemoved(sql: Sql, rows: readonly Row[]): Promise<void> {
  const reversals = rows.filter(({ reverses }) => reverses !== null);
  if (reversals.length === 0) return;
  const found = await sql.query<{ id: string }[]>(FIND_STORED, [reversals.map(({ reverses }) => reverses)]);
  const stored = new Set(found.map(({ id }) => id));
  for (const row of reversals) if (row.reverses !== null && !stored.has(row.reverses)) row.reverses = null;
}

/** Adds the details. @returns the ids of movements that were not reached. */
async function readDetails(
  sql: Sql,
  ids: readonly string[],
  extended: ReadonlyMap<string, Extended>,
): Promise<string[]> {
  let left = ids.toSorted((one, other) => Number(one) - Number(other));
  let last = { id: '0', position: -1 };
  let together = 0;
  let bytes = 0;
  while (left.length > 0) {
    const details = await sql.query<(Detail & { transaction_id: string; position: number })[]>(READ_DETAILS, [
      left,
      last.id,
      last.position,
    ]);
    for (const { transaction_id: id, position, ...detail } of details) {
      if (id !== last.id) {
        if (together > MOST_BYTES_TOGETHER) return left.filter((it) => Number(it) >= Number(id));
        bytes = 0;
      }
      last = { id, position };
      const ofBatch = extended.get(id);
      if (ofBatch === undefined || ofBatch.details_more) continue;
      const shown: Detail = { ...detail, amount: showAmount(detail.amount, ofBatch.currency) };
      const size = Buffer.byteLength(JSON.stringify(shown));
      ofBatch.details ??= [];
      if (ofBatch.details.length < MOST_DETAILS && bytes + size <= MOST_DETAIL_BYTES) {
        ofBatch.details.push(shown);
        bytes += size;
        together += size;
      } else ofBatch.details_more = true;
    }
    if (details.length < DETAILS_AT_A_TIME) break;
    const isWhole = extended.get(last.id)?.details_more !== true;
    left = left.filter((it) => Number(it) > Number(last.id) || (isWhole && it === last.id));
  }
  return [];
}

/** Index: the primary key. */
const FIND_WITH_BATCH_DETAILS =
  'SELECT DISTINCT transaction_id FROM batch_details WHERE transaction_id IN (?)';

/** As `readExtended`, but of all movements: those whose details are not read have none, and say that there are more. */
export async function readExtendedPage(
  sql: Sql,
  ids: readonly string[],
  table: MovementTable,
): Promise<Map<string, Extended>> {
  const { extended, unread } = await readExtended(sql, ids, table);
  if (unread.length === 0) return extended;
  for (const { transaction_id: id } of await sql.query<{ transaction_id: string }[]>(
    FIND_WITH_BATCH_DETAILS,
    [unread],
  )) {
    const ofBatch = extended.get(id);
    if (ofBatch !== undefined) Object.assign(ofBatch, { details: [], details_more: true });
  }
  return extended;
}

const toExtended = (row: Omit<Row, 'id'>): Extended => ({
  ...(row as Extended),
  original_amount:
    row.original_amount === null ? null : showAmount(row.original_amount, row.original_currency),
  statement_id: row.statement_id === null ? null : Number(row.statement_id),
  reverses: row.reverses === null ? null : Number(row.reverses),
});
