import { DATE_SHAPE } from '../platform/validation.ts';
import type { Movement } from './movement.ts';

/** Eighteen digits, the decimal point and two more digits. */
const LONGEST_AMOUNT = 21;

/**
 * Whether a movement of a statement passes the schema Movement for certain. Its account was found, its amounts come from formatAmount,
 * and its texts have been cut to their lengths, so little is left to check: this takes a tenth of the schema's time.
 * @returns false when the schema has to decide.
 */
export const isCertainlyValid = (movement: Movement): boolean =>
  movement.amount.length <= LONGEST_AMOUNT &&
  (movement.balance === null || movement.balance.length <= LONGEST_AMOUNT) &&
  DATE_SHAPE.test(movement.date_issue) &&
  isWellFormed(movement.code) &&
  isWellFormed(movement.description) &&
  isWellFormed(movement.name) &&
  isWellFormed(movement.opponent_id) &&
  isWellFormed(movement.opponent_iban);

/** See `wellFormed` in validation.ts. */
const isWellFormed = (text: string | null): boolean => text === null || text.isWellFormed();
