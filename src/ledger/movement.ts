import * as v from 'valibot';
import { CalendarDate, Id, maxCharacters, type ValidationIssue, wellFormed } from '../platform/validation.ts';

const MONEY_RULE =
  'must be a string such as "1250.00": at most 18 digits, and at most two more after a decimal point, without an exponent';

/** A string, because a float is not exact. Fits DECIMAL(20,2). */
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

/** The removed part of a customer's movements, as an import has read it before it checks its rows. */
export interface RemovedTime {
  /**
   * Grows when an account is to be deleted, gets its first statements or has its check_balances set, and when `removedBefore`
   * changes. If it has changed when the rows are stored, they have to be checked again.
   */
  removals: number;
  /** Movements that were issued before this day (YYYY-MM-DD) have been removed; null: none have. */
  removedBefore: string | null;
}

/**
 * Whether a movement is of a time whose movements have been removed. The movement may have been stored and delivered before, and
 * nothing is left to recognise it by. So it is rejected, and never stored and delivered a second time.
 */
export const isOfRemovedTime = (
  { date_issue }: { date_issue: string },
  { removedBefore }: Pick<RemovedTime, 'removedBefore'>,
): boolean => removedBefore !== null && date_issue < removedBefore;

/** The validation issue of such a movement. */
export const removedTimeIssue = ({ removedBefore }: RemovedTime): ValidationIssue => ({
  path: 'date_issue',
  message: `is before ${removedBefore}: the movements of that time have been removed, so a repeated one would not be recognised`,
});

/** The same issue for another customer's account and for an account that does not exist. */
export const UNKNOWN_ACCOUNT: ValidationIssue = {
  path: 'account_id',
  message: 'is not one of your accounts',
};

/** Whether a row without an id is taken for an equal stored movement (`known`, the default), or stored. */
export type Unidentified = 'known' | 'store';
