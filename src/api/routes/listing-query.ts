import type { Context } from 'hono';
import * as v from 'valibot';
import { parseThousandths } from '../../../packages/statements/src/amounts.ts';
import type { MinorUnits } from '../../../packages/statements/src/statement.ts';
import { chooseType } from '../../http/accept.ts';
import type { ApiEnv } from '../../http/app.ts';
import { Flag, readQuery, requireChunks } from '../../http/input.ts';
import { CURSOR_DESCRIPTION, Cursor, MAX_PER_PAGE, paging } from '../../http/paging.ts';
import { COLUMN_NAMES, type CsvOptions, defaultColumns, isExtendedColumn } from '../../movements/csv.ts';
import type { Listing } from '../../movements/listing.ts';
import { compactIban, type MovementFilter, wordsOf } from '../../movements/movement-filter.ts';
import { Moment, type ZoneOffset } from '../../platform/moment.ts';
import { invalid } from '../../platform/problem.ts';
import { CalendarDate, maxCharacters, wellFormed } from '../../platform/validation.ts';
import { IdText, WholeNumber } from '../../platform/whole-numbers.ts';

/** The query of the listings of movements. */

export const Fields = v.pipe(
  v.optional(v.picklist(['extended'], 'must be "extended", or left out')),
  v.description('"extended" adds what the bank says beyond the usual fields, as the object extended.'),
);

const MAX_PAGE = 999_999_999_999;

const AMOUNT_RULE =
  'must be an amount such as 1250 or 1250.50: at most 18 digits, and after a decimal point at most three, without thousands separators';

const AmountText = v.pipe(
  v.string(),
  v.regex(/^-?[0-9]{1,18}(?:\.[0-9]{1,3})?$/, AMOUNT_RULE),
  v.transform(parseThousandths),
);

const MOST_WORDS = 20;

const Words = v.pipe(
  v.string(),
  ...maxCharacters(200),
  wellFormed,
  v.transform(wordsOf),
  v.check((words) => words.length > 0 && words.length <= MOST_WORDS, `must have 1 to ${MOST_WORDS} words`),
);

/** Several texts with commas between them. @param rule what is told about other texts. */
const list = (isItem: (text: string) => boolean, most: number, rule: string) =>
  v.pipe(
    v.string(),
    v.check((text) => text.length <= 40 * most, rule),
    v.transform((text) => text.split(',').map((it) => it.trim())),
    v.check((items) => items.length <= most && items.every(isItem), rule),
  );

const MOST_ACCOUNTS = 100;

const describe = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.pipe(v.optional(schema), v.description(description));

/** The query of the listing of an account. */
export const AccountListingQuery = (zone: ZoneOffset) =>
  v.strictObject({
    starts: v.pipe(
      v.optional(CalendarDate),
      v.description('The first date_issue, inclusive. It must not be later than ends.'),
      v.examples(['2025-11-01']),
    ),
    ends: v.pipe(v.optional(CalendarDate), v.description('The last date_issue, inclusive.')),
    after: v.pipe(
      v.optional(Moment(zone)),
      v.description(
        'The earliest date_readed, or withdrawn_at with withdrawn=only, inclusive: YYYY-MM-DD HH:mm:ss with or without an offset. You can paste a date_readed.',
      ),
    ),
    dc: describe(
      v.picklist(['Debit', 'Credit'], 'must be "Debit" or "Credit"'),
      'The direction in which the money moved.',
    ),
    amount: describe(AmountText, 'The amount, with up to three decimals. 1250 is also 1250.00.'),
    amount_min: describe(AmountText, 'The least amount, inclusive.'),
    amount_max: describe(AmountText, 'The greatest amount, inclusive.'),
    currency: describe(
      v.pipe(v.string(), v.regex(/^[A-Z]{3}$/, 'must be a currency of three capital letters, such as EUR')),
      'The currency of the account (ISO 4217).',
    ),
    q: describe(
      Words,
      'Words. Each must occur in the description, the name, the opponent_id, the opponent_iban without blanks, or the code. Case and accents do not matter.',
    ),
    opponent_iban: describe(
      v.pipe(v.string(), ...maxCharacters(100), v.regex(/\S/, 'must not be blank'), v.transform(compactIban)),
      'The account of the counterparty. Blanks and case do not matter.',
    ),
    unique_id: describe(
      v.pipe(v.string(), v.regex(/\S/, 'must not be blank'), ...maxCharacters(255), wellFormed),
      "The movement's unique_id, exactly as it is listed.",
    ),
    import_id: describe(IdText, 'Only movements that this import has stored.'),
    withdrawn: describe(
      v.picklist(['only'], 'must be "only", or left out'),
      '"only" lists movements that were withdrawn, in the order of their withdrawals, with withdrawn_at and withdrawn_reason. Otherwise they are left out.',
    ),
    order: v.pipe(
      v.optional(v.picklist(['oldest', 'newest'], 'must be "oldest" or "newest"'), 'oldest'),
      v.description('Which movements come first. Both are in the order of ids, or of withdrawals.'),
    ),
    page: v.pipe(
      v.optional(WholeNumber(1, MAX_PAGE, 'must be a whole number from 1')),
      v.description(
        'The number of the page, from 1. Not together with cursor, q, an amount, opponent_iban, withdrawn or CSV.',
      ),
    ),
    per_page: v.pipe(
      paging('t1', MAX_PER_PAGE).per_page,
      v.description('The size of a page. A CSV has all pages.'),
    ),
    cursor: describe(Cursor('t1', 'u1', 'y1', 'z1'), CURSOR_DESCRIPTION),
    fields: Fields,
    format: describe(
      v.picklist(['json', 'csv'], 'must be "json" or "csv"'),
      '"csv" answers with a CSV file of all pages, whatever the header Accept says.',
    ),
    columns: describe(
      list(
        (name) => COLUMN_NAMES.includes(name),
        COLUMN_NAMES.length,
        `must be up to ${COLUMN_NAMES.length} names with commas between them, of: ${COLUMN_NAMES.join(', ')}`,
      ),
      `The columns of a CSV, in their order: ${COLUMN_NAMES.join(', ')}. signed_amount is negative for a Debit.`,
    ),
    separator: describe(
      v.picklist(['comma', 'semicolon'], 'must be "comma" or "semicolon"'),
      'The sign between the cells of a CSV. By default a comma. A spreadsheet whose decimal sign is a comma expects a semicolon.',
    ),
    decimal: describe(
      v.picklist(['point', 'comma'], 'must be "point" or "comma"'),
      'The decimal sign of the amounts of a CSV. By default a point.',
    ),
    bom: v.pipe(
      Flag,
      v.description('A CSV begins with a byte order mark, so that Excel takes it for UTF-8.'),
    ),
    raw: v.pipe(
      Flag,
      v.description(
        'A CSV has texts as they are. By default, a text that a spreadsheet would take for a formula has an apostrophe in front.',
      ),
    ),
  });

/** The query of the listing of all accounts. */
export const CustomerListingQuery = (zone: ZoneOffset) =>
  v.strictObject({
    ...AccountListingQuery(zone).entries,
    account: describe(
      list(
        (text) => v.is(IdText, text),
        MOST_ACCOUNTS,
        `must be at most ${MOST_ACCOUNTS} ids of accounts, with commas between them`,
      ),
      `Only these accounts: up to ${MOST_ACCOUNTS} ids, with commas between them.`,
    ),
  });

type Query = ReturnType<typeof CustomerListingQuery>;

/** The listing that a request asks for, and the form of the answer. */
export interface Asked {
  /** Without the accounts. */
  listing: Omit<Listing, 'customerId' | 'accountIds' | 'import'>;
  /** Only these accounts. */
  accountIds: readonly string[] | undefined;
  importId: string | undefined;
  /** Only accounts in this currency. */
  currency: string | undefined;
  isExtended: boolean;
  /** undefined: the answer is JSON. */
  csv: CsvOptions | undefined;
}

const JSON_TYPE = 'application/json';
export const CSV_TYPE = 'text/csv' as const;

/** Reads what a request asks for. @throws {Problem} 422. */
export function readListing(
  c: Context<ApiEnv>,
  schema: Query | ReturnType<typeof AccountListingQuery>,
): Asked {
  const query: v.InferOutput<Query> = readQuery(c, schema);
  const { starts, ends, after, unique_id, import_id, page, cursor, order } = query;
  if ([starts, ends, after, unique_id, import_id].every((it) => it === undefined)) {
    throw invalid([
      { path: 'starts', message: 'is required, unless ends, after, unique_id or import_id is given' },
    ]);
  }
  if (starts !== undefined && ends !== undefined && starts > ends) {
    throw invalid([{ path: 'starts', message: 'must not be later than ends' }]);
  }
  const filter = filterOf(query);
  const isWithdrawn = query.withdrawn === 'only';
  const csv = csvOf(c, query);
  if (page !== undefined && cursor !== undefined) {
    throw invalid([{ path: 'page', message: 'must not be given together with cursor' }]);
  }
  if (page !== undefined && page > 1 && (filter !== undefined || isWithdrawn)) {
    const message =
      'must not be above 1 together with q, an amount, opponent_iban or withdrawn: follow the header Link, with its cursor, instead';
    throw invalid([{ path: 'page', message }]);
  }
  if (page !== undefined && csv !== undefined) {
    throw invalid([{ path: 'page', message: 'must not be given for a CSV, which has all pages' }]);
  }
  const isReversed = order === 'newest';
  if (cursor !== undefined && cursor.kind !== cursorKind({ isReversed, isWithdrawn })) {
    const message =
      cursor.kind === cursorKind({ isReversed: !isReversed, isWithdrawn })
        ? 'is of a listing in the other order: see order'
        : 'is of the other listing: see withdrawn';
    throw invalid([{ path: 'cursor', message }]);
  }
  return {
    listing: {
      starts: starts ?? null,
      ends: ends ?? null,
      after: after ?? null,
      dc: query.dc,
      uniqueId: unique_id,
      filter,
      isReversed,
      isWithdrawn,
      cursor: cursor?.id ?? null,
      page: page ?? 1,
      perPage: query.per_page,
    },
    accountIds: query.account,
    importId: import_id,
    currency: query.currency,
    isExtended: query.fields === 'extended' || (csv?.columns.some(isExtendedColumn) ?? false),
    csv,
  };
}

/** The kind of the cursors of a listing. */
export function cursorKind({ isReversed, isWithdrawn }: Pick<Listing, 'isReversed' | 'isWithdrawn'>) {
  if (isWithdrawn === true) return isReversed === true ? 'z1' : 'y1';
  return isReversed === true ? 'u1' : 't1';
}

function filterOf(query: v.InferOutput<Query>): MovementFilter | undefined {
  const { amount, amount_min, amount_max, q, opponent_iban: opponentIban } = query;
  const conditions = [amount, amount_min, amount_max, q, opponentIban];
  if (conditions.every((it) => it === undefined)) return undefined;
  if (amount_min !== undefined && amount_max !== undefined && amount_min > amount_max) {
    throw invalid([{ path: 'amount_min', message: 'must not be more than amount_max' }]);
  }
  return { least: greatest(amount, amount_min), most: least(amount, amount_max), words: q, opponentIban };
}

const greatest = (a: MinorUnits | undefined, b: MinorUnits | undefined) =>
  a === undefined || (b !== undefined && b > a) ? b : a;

const least = (a: MinorUnits | undefined, b: MinorUnits | undefined) =>
  a === undefined || (b !== undefined && b < a) ? b : a;

/** The parameters of a CSV. */
const OF_CSV = ['columns', 'separator', 'decimal', 'bom', 'raw'] as const;

function csvOf(c: Context<ApiEnv>, query: v.InferOutput<Query>): CsvOptions | undefined {
  const { format, columns, separator = 'comma', decimal = 'point', bom, raw, fields, withdrawn } = query;
  const isCsv =
    format === undefined
      ? chooseType(c.req.header('accept'), [JSON_TYPE, CSV_TYPE]) === CSV_TYPE
      : format === 'csv';
  if (!isCsv) {
    // Generated clients send the defaults, of which "false" is that of the flags.
    const given = OF_CSV.find((name) => ![undefined, 'false'].includes(c.req.query(name)));
    if (given === undefined) return undefined;
    throw invalid([{ path: given, message: 'is only for a CSV: see format' }]);
  }
  requireChunks(c);
  return {
    columns:
      columns ?? defaultColumns({ isExtended: fields === 'extended', isWithdrawn: withdrawn === 'only' }),
    separator,
    decimal,
    bom: bom === 'true',
    raw: raw === 'true',
  };
}
