import { parseAmount } from '../amounts.ts';
import { keepKnown, readRate } from '../shared/payment-references.ts';
import { quote } from '../shared/text.ts';
import type {
  AccountReference,
  Balance,
  Entry,
  EntryDetails,
  MinorUnits,
  StatementEvent,
} from '../statement.ts';
import { calendarDate, readIban } from '../values.ts';
import type { Aggregate } from './aggregates.ts';

type Issue = Extract<StatementEvent, { type: 'issue' }>;

const readValue = (aggregate: Aggregate, ...names: string[]): string | null => {
  for (const name of names) {
    const value = aggregate.values.get(name);
    if (value !== undefined && value !== '') return value;
  }
  return null;
};

/**
 * The account of a STMTRS or CCSTMTRS.
 * @param organisation the bank's name in the sign-on response. It replaces the BANKID, which a credit card does not have.
 */
export function toAccount(statement: Aggregate, organisation: string | null): AccountReference {
  const number = readValue(statement, 'BANKACCTFROM.ACCTID', 'CCACCTFROM.ACCTID');
  const iban = readIban(number ?? '');
  const type = readValue(statement, 'BANKACCTFROM.ACCTTYPE')?.toUpperCase() ?? null;
  return {
    iban,
    number: iban === null ? number : null,
    currency: readValue(statement, 'CURDEF')?.toUpperCase() ?? null,
    bank: readValue(statement, 'BANKACCTFROM.BANKID') ?? organisation,
    ...(type !== null && /^[A-Z]{2,20}$/.test(type) && { type }),
  };
}

/** The ledger balance of a STMTRS or CCSTMTRS, or a sentence about what is wrong with it. Null if there is none. */
export function toClosing(statement: Aggregate): Balance | string | null {
  const text = statement.values.get('LEDGERBAL.BALAMT');
  if (text === undefined) return null;
  const amount = statement.ambiguous.has('LEDGERBAL.BALAMT') ? null : parseSignedAmount(text);
  if (amount === null)
    return `The ledger balance (LEDGERBAL, BALAMT) is ${quote(text)}. It must be one amount such as -1234.56.`;
  return { amount, date: parseDate(readValue(statement, 'LEDGERBAL.DTASOF') ?? '') };
}

/** The days that a BANKTRANLIST is about (OFX 2.2, 11.4.2.2). */
export const toRange = (list: Aggregate): { from: string | null; to: string | null } => ({
  from: parseDate(readValue(list, 'DTSTART') ?? ''),
  to: parseDate(readValue(list, 'DTEND') ?? ''),
});

/** Maps a STMTTRN, or a STMTTRNP, which is pending, to an entry, or says why it cannot be read. */
export function toEntry(transaction: Aggregate, inPendingList: boolean): Entry | Issue {
  const isPending = inPendingList || transaction.name === 'STMTTRNP';
  const issue = (path: string, message: string): Issue => ({
    type: 'issue',
    line: transaction.line,
    path,
    message,
  });

  const dateName = transaction.name === 'STMTTRNP' ? 'DTTRAN' : 'DTPOSTED';
  for (const name of ['TRNAMT', dateName]) {
    if (transaction.ambiguous.has(name))
      return issue(
        name,
        `${name} stands more than once in one transaction, or has a tag inside. Another tag may be missing.`,
      );
  }
  const amount = readAmount(transaction);
  if (typeof amount === 'string') return issue('TRNAMT', amount);
  const found = transaction.values.get(dateName);
  const date = parseDate(found ?? '');
  if (date === null)
    return issue(
      dateName,
      found === undefined
        ? `The transaction has no ${dateName}.`
        : `${dateName} is ${quote(found)}. It must be a date such as 20260301.`,
    );
  // The bank corrects a transaction that it sent before (OFX 2.2, 11.4.4.1). Stored movements never change.
  const corrected = readValue(transaction, 'CORRECTFITID');
  if (corrected !== null) {
    const action =
      readValue(transaction, 'CORRECTACTION')?.toUpperCase() === 'DELETE' ? 'deletes' : 'replaces';
    return issue(
      'CORRECTFITID',
      `This transaction ${action} the earlier one ${quote(corrected)}. Corrections are not imported. Check both by hand.`,
    );
  }

  const opponent = readValue(transaction, 'BANKACCTTO.ACCTID', 'CCACCTTO.ACCTID');
  const opponentIban = readIban(opponent ?? '');
  const details = readEntryDetails(transaction);
  return {
    line: transaction.line,
    status: isPending ? 'pending' : 'booked',
    date,
    dc: amount.isNegative ? 'Debit' : 'Credit',
    amount: amount.size,
    currency: readValue(transaction, 'CURRENCY.CURSYM')?.toUpperCase() ?? null,
    balance: null,
    code: readValue(transaction, 'TRNTYPE'),
    description: describe(transaction),
    name: readValue(transaction, 'EXTDNAME', 'NAME', 'PAYEE.NAME'),
    opponentId: opponentIban === null ? opponent : null,
    opponentIban,
    reference: readValue(transaction, 'FITID'),
    ...(details === undefined ? {} : { details }),
  };
}

/**
 * ORIGCURRENCY names the currency before the bank converted the amount. CURRENCY names the currency in which the amount is given
 * (OFX 2.2, 5.2).
 */
function readEntryDetails({ values }: Aggregate): EntryDetails | undefined {
  const available = values.get('DTAVAIL');
  const original = values.get('ORIGCURRENCY.CURSYM');
  return keepKnown<EntryDetails>({
    valueDate: available === undefined ? undefined : (parseDate(available) ?? undefined),
    originalCurrency:
      original !== undefined && /^[A-Za-z]{3}$/.test(original) ? original.toUpperCase() : undefined,
    exchangeRate: readRate(values.get('ORIGCURRENCY.CURRATE') ?? values.get('CURRENCY.CURRATE')),
  });
}

function readAmount(transaction: Aggregate): { size: bigint; isNegative: boolean } | string {
  const text = transaction.values.get('TRNAMT');
  if (text === undefined) return 'The transaction has no TRNAMT.';
  const amount = parseSignedAmount(text);
  if (amount === null) {
    const reason = /^[^,]*,\d{3}$/.test(text)
      ? ' The comma may separate thousands or decimals, so the amount is not clear.'
      : '';
    return `TRNAMT is ${quote(text)}. It must be an amount with at most two decimals, such as -1234.56.${reason}`;
  }
  return { size: amount < 0n ? -amount : amount, isNegative: text.includes('-') || amount < 0n };
}

/** The memo, or the name if there is no memo, and the check number unless that text contains it. */
function describe(transaction: Aggregate): string | null {
  const text = readValue(transaction, 'MEMO', 'EXTDNAME', 'NAME', 'PAYEE.NAME');
  const check = readValue(transaction, 'CHECKNUM');
  if (check === null || /^0+$/.test(check) || text?.includes(check)) return text;
  return text === null ? check : `${text} ${check}`;
}

/** Up to 17 digits, from the year to the milliseconds. A time or a zone may follow. Neither changes the date. */
const DATE =
  /^(\d{4})(-?)(\d{2})\2(\d{2})(?:[T ]?(?:\d{2}:?){0,3}(?:[.:,]\d{1,6})?\s*(?:\[[^\]]*\]?|Z|GMT|UTC|[+-]\d{2}:?\d{2})?)$/;

/**
 * Reads the date as it stands: `20260301120000.000[-5:EST]` is 2026-03-01.
 * @returns YYYY-MM-DD; null if it is no date
 */
export function parseDate(text: string): string | null {
  const match = DATE.exec(text);
  if (match === null) return null;
  const [, year, , month, day] = match;
  return calendarDate(Number(year), Number(month), Number(day));
}

const SIGNED = /^([+\-\u2212]?)\s*([\d.,]+(?:\s+[\d.,]+)*)\s*([+-]?)$/;

/**
 * Reads a signed amount. The decimal sign is "." or "," (OFX 2.2, 3.2.9.2). OFX allows no thousands separators, but some banks
 * write them. "1,234.56" and "1 234,56" are read, because they have only one meaning. "1,234" is refused, because it could have
 * two.
 * @returns thousandths; null if the text is not such an amount, or has more than three decimals that are not 0
 */
export function parseSignedAmount(text: string): MinorUnits | null {
  const [, before = '', number = '', after = ''] = SIGNED.exec(text.slice(0, 100)) ?? [];
  if (before !== '' && after !== '') return null;
  const amount = parseUnsigned(number);
  if (amount === null) return null;
  return before + after === '-' || before === '\u2212' ? -amount : amount;
}

function parseUnsigned(number: string): MinorUnits | null {
  if (/^\d*(?:\.\d*)?$/.test(number)) return parseAmount(number, '.');
  if (/^\d+,\d{3}$/.test(number)) return null;
  if (/^\d*,\d*$/.test(number)) return parseAmount(number, ',');
  const [, whole, decimalSign, fraction = ''] =
    /^(\d{1,3}(?:,\d{3})+)(\.)(\d*)$/.exec(number) ??
    /^(\d{1,3}(?:\.\d{3})+)(,)(\d*)$/.exec(number) ??
    /^(\d{1,3}(?:\s\d{3})+)(?:([.,])(\d*))?$/.exec(number) ??
    [];
  if (whole === undefined) return null;
  if (/^\s/.test(whole.replace(/\d/g, '')) && decimalSign === ',' && fraction.length === 3) return null;
  return parseAmount(`${whole.replace(/\D/g, '')}.${fraction}`, '.');
}
