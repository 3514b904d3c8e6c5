import * as v from 'valibot';
import { formatAmount } from '../../packages/statements/src/amounts.ts';
import { ENCODINGS } from '../../packages/statements/src/encodings.ts';
import { isIban } from '../../packages/statements/src/values.ts';
import type { Account } from '../database/entities.ts';
import type { Runtime } from '../database/runtime.ts';
import type { Sql } from '../database/transaction.ts';
import { formatMoment, type ZoneOffset } from '../platform/moment.ts';
import {
  Count,
  documented,
  IdView,
  maxCharacters,
  Timestamp,
  Title,
  wellFormed,
  withExample,
} from '../platform/validation.ts';
import { Id } from '../platform/whole-numbers.ts';

const CURRENCIES = Intl.supportedValuesOf('currency');

/** An IBAN as people write it: with spaces, in upper or lower case. */
const IBAN_SHAPE = /^ *(?:[A-Za-z] *){2}(?:[0-9] *){2}(?:[A-Za-z0-9] *){11,30}$/;

const Iban = v.pipe(
  v.string('must be a string or null'),
  v.regex(IBAN_SHAPE, 'must be an IBAN, with or without spaces'),
  documented({ examples: ['TR320001000000099000000404'] }),
  v.transform((text) => text.replaceAll(' ', '').toUpperCase()),
  v.check(isIban, 'must be an IBAN with correct check digits'),
);

const AccountNumber = v.pipe(
  v.string('must be a string or null'),
  ...maxCharacters(64),
  v.regex(/\S/, 'must not be blank'),
  documented({ minLength: 1, examples: ['9900000040'] }),
  wellFormed,
  v.trim(),
  v.description(
    'The account number as the bank writes it. Statements that name no IBAN find the account by it.',
  ),
);

/** Decides about a row with the unique id of a stored movement and another direction, amount or date. */
export const OnConflict = v.pipe(
  v.picklist(['hold', 'store'], 'must be "hold" or "store"'),
  documented({ examples: ['hold'] }),
  v.description(
    'Decides about a row with the unique_id of a stored movement and another direction, amount or date. hold: it waits until you decide, at POST /v1/conflicts/{id}. store: it is stored as well, and sent.',
  ),
);

const LateAfterDays = v.pipe(
  v.nullable(
    v.pipe(
      v.number('must be a number of days, or null'),
      v.integer('must be a whole number of days'),
      v.minValue(1, 'must be at least 1'),
      v.maxValue(400, 'must be at most 400'),
    ),
  ),
  documented({ examples: [35] }),
  v.description(
    'This many days after the last day of a statement, the next one is late: the event statement.late. null: learnt from the statements that have come.',
  ),
);

const CheckBalances = v.pipe(
  v.boolean('must be true or false'),
  documented({ examples: [true] }),
  v.description(
    'Whether each balance of movements in JSON or NDJSON is compared with the balance before it and the amount. A row that contradicts gives the import a warning.',
  ),
);

/** Of an account or a source. */
export const Encoding = v.pipe(
  v.nullable(v.picklist(ENCODINGS, `must be null or one of ${ENCODINGS.join(', ')}`)),
  documented({ examples: ['windows-1254'] }),
  v.description('The encoding of text that is not UTF-8 in statement files. null: the letters decide.'),
);

const StatementNumbers = v.pipe(
  v.picklist(['use', 'ignore'], 'must be "use" or "ignore"'),
  documented({ examples: ['use'] }),
  v.description(
    'Whether numbers tell apart statements of a day that return to their opening balance. ignore: the bank counts downloads, so that the same bookings come under other numbers.',
  ),
);

/** The body of POST /v1/accounts. */
export const NewAccount = v.pipe(
  v.strictObject({
    bank: v.optional(Title),
    bank_id: withExample(v.optional(Id), 1),
    title: Title,
    currency: v.picklist(CURRENCIES, 'must be a currency of ISO 4217, such as "TRY"'),
    iban: v.nullish(Iban, null),
    number: v.nullish(AccountNumber, null),
    on_conflict: v.optional(OnConflict, 'hold'),
    late_after_days: v.optional(LateAfterDays, null),
    check_balances: v.optional(CheckBalances, false),
    statement_numbers: v.optional(StatementNumbers, 'use'),
    encoding: v.optional(Encoding, null),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (dataset.typed && (dataset.value.bank === undefined) === (dataset.value.bank_id === undefined)) {
      addIssue({
        message: 'must be given either by its name (bank) or by its id (bank_id), not both',
        path: [{ type: 'object', origin: 'value', input: dataset.value, key: 'bank', value: undefined }],
      });
    }
  }),
  documented({ oneOf: [{ required: ['bank'] }, { required: ['bank_id'] }] }),
);

/** The body of PATCH /v1/accounts/:id. null removes an IBAN or a number. */
export const AccountChange = v.pipe(
  v.strictObject({
    bank: v.pipe(
      v.optional(Title),
      documented({ examples: ['Ladin Bank'] }),
      v.description('The name of its bank. A new name is added to your banks.'),
    ),
    title: v.optional(Title),
    iban: v.optional(v.nullable(Iban)),
    number: v.optional(v.nullable(AccountNumber)),
    on_conflict: v.optional(OnConflict),
    late_after_days: v.optional(LateAfterDays),
    check_balances: v.optional(CheckBalances),
    statement_numbers: v.optional(StatementNumbers),
    encoding: v.optional(Encoding),
  }),
  v.check((change) => Object.keys(change).length > 0, 'must have at least one field to change'),
  documented({ minProperties: 1 }),
);

export type AccountChange = v.InferOutput<typeof AccountChange>;

export const BankView = v.object({ id: IdView, name: v.string() });

export const AccountView = v.object({
  id: IdView,
  bank: BankView,
  title: v.string(),
  balance: v.pipe(
    v.nullable(v.string()),
    v.description(
      'The newest balance that the bank has stated, plus what was booked on later days. Without a statement: that of the newest movement that has one. null: none has.',
    ),
  ),
  balance_source: v.pipe(
    v.picklist(['statement', 'computed']),
    v.description(
      'statement: balance begins with the closing balance of the newest statement. computed: it is that of the newest movement that has one.',
    ),
  ),
  balance_date: v.pipe(
    v.nullable(v.string()),
    v.description('The last day of that statement, or the day of that movement.'),
  ),
  difference: v.pipe(
    withExample(v.nullable(v.string()), '-40.00'),
    v.description(
      'balance less the balance after the newest movement. null: they are the same, or one of them is not known.',
    ),
  ),
  currency: v.string(),
  iban: v.nullable(v.string()),
  number: withExample(v.nullable(v.string()), '9900000040'),
  status: v.pipe(v.string(), v.description('active; or deleting, until all of its rows are deleted.')),
  on_conflict: OnConflict,
  late_after_days: LateAfterDays,
  check_balances: CheckBalances,
  statement_numbers: StatementNumbers,
  encoding: Encoding,
  last_work: v.nullable(v.string()),
  last_update: v.nullable(v.string()),
  error: v.nullable(v.string()),
  deletion: v.pipe(
    v.optional(
      v.object({
        requested_at: Timestamp,
        movements: withExample(v.nullable(Count), 12),
        movements_deleted: Count,
      }),
    ),
    v.description(
      'How far the deletion is, while the status is deleting. movements: how many there were when the work began; null: it has not begun.',
    ),
  ),
});

export type AccountView = v.InferOutput<typeof AccountView>;

/** Thousandths of the currency. */
export interface NewestBalance {
  /** null: neither a statement nor a movement has a balance. */
  balance: bigint | null;
  /** `statement`: the closing balance of the newest statement, and what was booked on later days. `computed`: that of the newest movement that has one. */
  source: 'statement' | 'computed';
  /** The last day of that statement, or the day of that movement. */
  date: string | null;
  /** `balance` less the balance of the newest movement. null: they are the same, or one of them is not known. */
  difference: bigint | null;
}

/** Shows accounts of one customer, with their balances and the progress of their deletions. */
export async function viewAccounts(
  { config, database }: Pick<Runtime, 'config' | 'database'>,
  accounts: readonly Account[],
  balances: ReadonlyMap<string, NewestBalance>,
): Promise<AccountView[]> {
  const progress = await readDeletionProgress(database, accounts);
  return accounts.map((account) => ({
    ...view(account, config.zone, progress.get(account.id)),
    ...viewBalance(balances.get(account.id), account.currency),
  }));
}

type BalanceOfAccount = Pick<AccountView, 'balance' | 'balance_source' | 'balance_date' | 'difference'>;

/** @param newest `undefined` if the account has been deleted in the meantime. */
function viewBalance(newest: NewestBalance | undefined, currency: string): BalanceOfAccount {
  const show = (amount: bigint | null = null) => (amount === null ? null : formatAmount(amount, currency));
  return {
    balance: show(newest?.balance),
    balance_source: newest?.source ?? 'computed',
    balance_date: newest?.date ?? null,
    difference: show(newest?.difference),
  };
}

const view = (
  account: Account,
  zone: ZoneOffset,
  deletion: AccountView['deletion'],
): Omit<AccountView, keyof BalanceOfAccount> => ({
  id: Number(account.id),
  bank: { id: Number(account.bank.id), name: account.bank.name },
  title: account.title,
  currency: account.currency,
  iban: account.iban,
  number: account.number,
  status: account.status,
  on_conflict: account.onConflict,
  late_after_days: account.lateAfterDays,
  check_balances: account.checkBalances,
  statement_numbers: account.statementNumbers,
  encoding: account.encoding as v.InferOutput<typeof Encoding>,
  last_work: account.lastWork === null ? null : formatMoment(account.lastWork, zone),
  last_update: account.lastUpdate === null ? null : formatMoment(account.lastUpdate, zone),
  error: account.error,
  ...(deletion === undefined ? {} : { deletion }),
});

/** Index: the primary key. */
const READ = `
  SELECT account_id, requested_at, movements, movements_deleted FROM deletions WHERE customer_id = ? AND account_id IN (?)`;

/** @returns the progress by account. Accounts that are not being deleted have none. */
async function readDeletionProgress(
  sql: Sql,
  accounts: readonly Account[],
): Promise<Map<string, AccountView['deletion']>> {
  const deleting = accounts.filter(({ status }) => status === 'deleting');
  const [first] = deleting;
  if (first === undefined) return new Map();
  const rows = await sql.query<
    { account_id: string; requested_at: Date; movements: string | null; movements_deleted: string }[]
  >(READ, [first.customerId, deleting.map(({ id }) => id)]);
  return new Map(
    rows.map((row) => [
      row.account_id,
      {
        requested_at: row.requested_at.toISOString(),
        movements: row.movements === null ? null : Number(row.movements),
        movements_deleted: Number(row.movements_deleted),
      },
    ]),
  );
}
