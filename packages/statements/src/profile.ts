import * as v from 'valibot';
import { isEncoding } from './encodings.ts';
import { DATE_FORMATS } from './profiles/values.ts';

const text = v.pipe(v.string('must be a text'), v.nonEmpty('must not be empty'));

const COLUMN_RULE = 'must be a heading, or a position from 1 to 256';

const Column = v.union(
  [
    text,
    v.pipe(
      v.number(COLUMN_RULE),
      v.integer(COLUMN_RULE),
      v.minValue(1, COLUMN_RULE),
      v.maxValue(256, COLUMN_RULE),
    ),
  ],
  COLUMN_RULE,
);

const Columns = v.union(
  [Column, v.pipe(v.array(Column), v.nonEmpty(COLUMN_RULE))],
  `${COLUMN_RULE}, or a list of these`,
);

const Texts = v.pipe(v.array(text, 'must be a list of texts'), v.nonEmpty('must have at least one text'));

/** The place of the account's number or currency: beside a label above the table, in a column, or in the profile itself. */
const CellReference = v.union(
  [
    v.strictObject({ label: v.union([text, Texts]) }),
    v.strictObject({ column: Column }),
    v.strictObject({ value: text }),
  ],
  'must be { "label": … }, { "column": … } or { "value": … }',
);

const Label = v.strictObject({ label: v.union([text, Texts], 'must be a text or a list of texts') });

const rows = (most: number) => {
  const rule = `must be a number of rows from 0 to ${most}`;
  return v.pipe(v.number(rule), v.integer(rule), v.minValue(0, rule), v.maxValue(most, rule));
};

const COUNTRY_RULE = 'must be a country code of two letters, such as "TR"';

const ENCODING_RULE = 'must be an encoding, such as "windows-1250" or "ibm852"';

const ColumnMap = v.strictObject({
  date: Column,
  description: v.optional(Columns),
  amount: v.optional(Column),
  debit: v.optional(Column),
  credit: v.optional(Column),
  /** The bank's fee in the same row, which is subtracted from the amount. */
  fee: v.optional(Column),
  indicator: v.optional(v.strictObject({ column: Column, debit: Texts, credit: Texts })),
  /** A row with this column and without an amount is a part of the row before, which has the whole amount. */
  detail: v.optional(Column),
  balance: v.optional(Column),
  currency: v.optional(Column),
  reference: v.optional(Column),
  /** The counterparty's name. Some banks have a column for the payer and one for the payee. */
  name: v.optional(v.union([Column, v.strictObject({ debit: Column, credit: Column })], COLUMN_RULE)),
  /** The counterparty's IBAN or account number. */
  counterparty: v.optional(Column),
  code: v.optional(Column),
  valueDate: v.optional(Column),
  endToEndId: v.optional(Column),
  mandateReference: v.optional(Column),
  creditorReference: v.optional(Column),
  status: v.optional(
    v.strictObject({
      column: Column,
      booked: v.optional(Texts),
      pending: v.optional(Texts),
      ignored: v.optional(Texts),
    }),
  ),
});

const DELIMITER_RULE = 'must be ",", ";", "|" or a tab';

const Delimiter = v.picklist([',', ';', '\t', '|'], DELIMITER_RULE);

/** A profile in its JSON file, without its variants, or one of these in full. docs/formats/csv.md explains every key. */
export const ProfileFile = v.strictObject({
  bank: text,
  /** ISO 3166-1. */
  country: v.optional(v.pipe(v.string(COUNTRY_RULE), v.regex(/^[A-Z]{2}$/, COUNTRY_RULE))),
  /** Where the format is documented. */
  source: text,
  delimiter: v.union([Delimiter, v.pipe(v.array(Delimiter), v.nonEmpty(DELIMITER_RULE))], DELIMITER_RULE),
  quote: v.optional(v.nullable(v.picklist(['"', "'"], `must be '"', "'" or null`)), '"'),
  encoding: v.optional(v.pipe(text, v.check(isEncoding, ENCODING_RULE))),
  decimalSign: v.picklist([',', '.'], 'must be "," or "."'),
  currencyTexts: v.optional(Texts),
  dateFormats: v.pipe(
    v.array(v.picklist(DATE_FORMATS, `must be one of ${DATE_FORMATS.join(', ')}`), 'must be a list'),
    v.nonEmpty('must have at least one format'),
  ),
  /** The text in place of the date of a pending movement. */
  pendingDates: v.optional(v.array(v.string('must be a text'), 'must be a list of texts')),
  heading: v.optional(Texts),
  skipRows: v.optional(rows(100)),
  trailerRows: v.optional(rows(20), 0),
  columns: ColumnMap,
  positive: v.optional(v.picklist(['credit', 'debit'], 'must be "credit" or "debit"'), 'credit'),
  negativeDebits: v.optional(v.boolean('must be true or false'), false),
  continuationRows: v.optional(v.boolean('must be true or false'), false),
  account: v.optional(
    v.strictObject({ number: v.optional(CellReference), currency: v.optional(CellReference) }),
    {},
  ),
  openingBalance: v.optional(Label),
  closingBalance: v.optional(Label),
});

export type ProfileFile = v.InferOutput<typeof ProfileFile>;

/** The columns, signs and formats of one heading of a bank's export. */
export type Layout = Omit<ProfileFile, 'delimiter'> & {
  name: string;
  delimiter: v.InferOutput<typeof Delimiter>;
  /** The rows of a file have shown that three digits after the decimal sign are decimals. */
  threeDecimals?: boolean;
};

/** The layout of a bank's export, and the others that it has in other languages or had in other years. */
export type Profile = Layout & { variants: readonly Layout[] };

/** All layouts of profiles. */
export const layoutsOf = (profiles: readonly Profile[]): Layout[] =>
  profiles.flatMap((profile) => [profile, ...profile.variants]);

export type Column = v.InferOutput<typeof Column>;
export type CellReference = v.InferOutput<typeof CellReference>;
export type Label = v.InferOutput<typeof Label>;

/** The columns, with their keys, that decide the account, the date or the amount of a row. */
export function decidingColumns({
  columns,
  account,
}: Pick<ProfileFile, 'columns' | 'account'>): [string, Column | undefined][] {
  const accountColumns = (['number', 'currency'] as const).map((key): [string, Column | undefined] => {
    const place = account[key];
    return [`account.${key}.column`, place !== undefined && 'column' in place ? place.column : undefined];
  });
  return [
    ['columns.date', columns.date],
    ['columns.amount', columns.amount],
    ['columns.debit', columns.debit],
    ['columns.credit', columns.credit],
    ['columns.fee', columns.fee],
    ['columns.indicator.column', columns.indicator?.column],
    ['columns.status.column', columns.status?.column],
    ...accountColumns,
  ];
}
