/**
 * The content of a statement file in any format. The parser of a format yields these events in the order of the file. Parsers know
 * nothing of stored accounts or movements.
 */

/** Thousandths of the currency's unit, for all currencies. Money is never a float. */
export type MinorUnits = bigint;

/** The account that a statement names, as far as it names one. */
export interface AccountReference {
  /** Without spaces, in upper case. Not validated. */
  iban: string | null;
  /** The account number as the bank writes it. */
  number: string | null;
  /** ISO 4217. */
  currency: string | null;
  /** The file does not say the currency, and the format's standard does. */
  isCurrencyAssumed?: true;
  /** The bank's BIC, code or name. */
  bank: string | null;
  /** The type of account, if one number may have several: ACCTTYPE of OFX, such as SAVINGS. */
  type?: string;
}

export interface Balance {
  /** Negative for an overdrawn account. */
  amount: MinorUnits;
  /** See `Entry`. */
  mayBeThousands?: true;
  /** YYYY-MM-DD; null if the file does not say. */
  date: string | null;
}

/** One line of a statement. */
export interface Entry {
  /** The line of the file at which it begins, from 1. */
  line: number;
  /** A pending entry is not a movement until it is booked. */
  status: 'booked' | 'pending';
  /** The booking date, YYYY-MM-DD, as it stands in the file. Never shifted by a time zone. */
  date: string;
  /** The direction in which the money moved. */
  dc: 'Debit' | 'Credit';
  /** Not negative. */
  amount: MinorUnits;
  /**
   * The amount is written with three digits after the decimal sign of a format that also knows the other decimal sign, such as "5,000".
   * They are decimals if the currency has three. Else the sign may separate thousands.
   */
  mayBeThousands?: true;
  /** ISO 4217; null: the statement's. */
  currency: string | null;
  /** The balance after this entry, if the file says it for each entry. */
  balance: MinorUnits | null;
  /** The same as `mayBeThousands`, for the balance. */
  mayBalanceBeThousands?: true;
  /** The bank's code for the kind of transaction. */
  code: string | null;
  description: string | null;
  /** The counterparty's name. */
  name: string | null;
  /** The counterparty's account number if it is not an IBAN, or another identifier. */
  opponentId: string | null;
  /** The counterparty's IBAN as it stands in the file, without spaces, valid or not. */
  opponentIban: string | null;
  /** The bank's name for this entry, if it has one. It may not be unique, now or later. */
  reference: string | null;
  /** The reference is the account owner's, because the bank gives none. It is no id. */
  isOwnReference?: true;
  /** Absent if the file has no details. */
  details?: EntryDetails;
}

/** Details of an entry beyond the fields of a movement. Absent where the bank does not give them. */
export interface EntryDetails {
  /** YYYY-MM-DD */
  valueDate?: string;
  endToEndId?: string;
  /** Valid, without spaces; see `readCreditorReference`. Of Belgium: `+++123/4567/89002+++`. */
  creditorReference?: string;
  mandateReference?: string;
  /** The entry takes back an earlier one. */
  isReversal?: true;
  /** In the currency in which the payment was made. */
  originalAmount?: MinorUnits;
  originalCurrency?: string;
  /** A decimal number as the file has it, with a point. */
  exchangeRate?: string;
  /** The entry of the bank of which this is one of the details: its reference, and its amount, negative for a debit. */
  batch?: { reference: string | null; amount: MinorUnits };
}

/** The name of a statement, and the time that it covers according to the file. */
export interface StatementIdentity {
  /** The bank's number of the statement, or its id. */
  number: string | null;
  /** The page of a statement that comes in several. */
  sequence: string | null;
  /** YYYY-MM-DD */
  from: string | null;
  to: string | null;
}

export const NO_IDENTITY: StatementIdentity = { number: null, sequence: null, from: null, to: null };

export type StatementEvent =
  /** A statement begins. All following events belong to it, up to its `end`. */
  | {
      type: 'statement';
      line: number;
      account: AccountReference;
      /** `interim`: a report of the day so far (MT942, camt.052), or of single entries (camt.054). */
      kind: 'final' | 'interim';
      opening: Balance | null;
      identity: StatementIdentity;
    }
  | { type: 'entry'; entry: Entry }
  /** An entry that could not be read, with the field (`path`) and, in the message, what was found and what is allowed. */
  | { type: 'issue'; line: number; path: string; message: string }
  /** An error that costs no entry, such as an unreadable balance. */
  | { type: 'warning'; line: number; message: string }
  /** The statement is complete, or broke off; a warning says so in that case. */
  | { type: 'end'; line: number; closing: Balance | null };

/** Parses the text of a file. Must accept any split of the text, and may hold only one entry and a few headers in memory. */
export type StatementParser = (text: AsyncIterable<string>) => AsyncIterable<StatementEvent[]>;
