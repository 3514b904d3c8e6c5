import * as v from 'valibot';
import { CalendarDate, Id, maxCharacters, wellFormed } from '../validation.ts';

const MONEY_RULE =
  'must be a string such as "1250.00": at most 18 digits, and at most two more after a decimal point, without an exponent';

/** Stays a string, because a float is not exact. Fits DECIMAL(20,2). */
const Money = v.pipe(v.string(MONEY_RULE), v.regex(/^-?[0-9]{1,18}(\.[0-9]{1,2})?$/, MONEY_RULE));

/** Text that is stored exactly as it was sent. */
const text = (length: number) =>
  v.nullish(v.pipe(v.string('must be a string or null'), ...maxCharacters(length), wellFormed), null);

/** One movement as a client sends it, in JSON or as a line of NDJSON. */
export const Movement = v.strictObject({
  account_id: Id,
  dc: v.picklist(['Debit', 'Credit'], 'must be "Debit" or "Credit"'),
  code: text(64),
  amount: Money,
  balance: v.nullish(Money, null),
  description: text(4_000),
  date_issue: CalendarDate,
  opponent_id: text(64),
  opponent_iban: text(64),
  unique_id: text(255),
  name: text(255),
});

export type Movement = v.InferOutput<typeof Movement>;
