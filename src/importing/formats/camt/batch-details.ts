import type { MinorUnits } from '../statement.ts';
import type { Field, Fields } from './element-paths.ts';
import { readAmount, readDirection } from './field-values.ts';

/** A TxDtls element of an entry. */
export interface Detail {
  line: number;
  fields: Fields;
}

/** An entry's own amount, or a detail's share of it. */
export interface Share {
  amount: MinorUnits;
  dc: 'Debit' | 'Credit';
}

/** The elements with a detail's amount: Amt since version 03, AmtDtls/TxAmt in all. */
const AMOUNTS = [
  ['amount', 'currency'],
  ['transactionAmount', 'transactionCurrency'],
] as const;

/**
 * Divides the amount of a batch among its details.
 * @returns a share per detail; null unless there are several details, each with an amount in the currency of the entry, and they add
 * up to the amount of the entry.
 */
export function divide(entry: Share, currency: string | null, details: readonly Detail[]): Share[] | null {
  if (details.length < 2) return null;
  for (const order of [AMOUNTS, AMOUNTS.toReversed()]) {
    const shares = details.map(({ fields }) => readShare(fields, order, entry.dc, currency));
    const sum = shares.reduce((total, share) => total + signed(share), 0n);
    if (shares.every((share) => share !== null) && sum === signed(entry)) return shares;
  }
  return null;
}

const signed = (share: Share | null): MinorUnits =>
  share === null ? 0n : share.dc === 'Debit' ? -share.amount : share.amount;

function readShare(
  fields: Fields,
  order: readonly (readonly ['amount' | 'transactionAmount', 'currency' | 'transactionCurrency'])[],
  entryDirection: 'Debit' | 'Credit',
  entryCurrency: string | null,
): Share | null {
  const dc = fields.dc === undefined ? entryDirection : readDirection(fields.dc);
  const [amountField] = order.find(([amount, currency]) => {
    return fields[amount] !== undefined && (fields[currency] ?? entryCurrency) === entryCurrency;
  }) ?? [null];
  const amount = amountField === null ? null : readAmount(fields[amountField] ?? '');
  return dc === null || amount === null ? null : { amount, dc };
}

/** What all details of an entry say alike. */
export function findCommonFields(details: readonly Detail[]): Fields {
  const [first, ...others] = details.map(({ fields }) => fields);
  if (others.length === 0) return first ?? {};
  const common = { ...first };
  for (const field of Object.keys(common) as Field[])
    if (others.some((other) => other[field] !== common[field])) delete common[field];
  return common;
}
