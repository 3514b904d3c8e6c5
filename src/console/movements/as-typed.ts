import type { Filters } from '../page/elements.tsx';

/** Reads what people type into the form as the API writes it. What is not recognised goes to the API as it is, which says what is wrong. */

/** "1.250,50" and "89,90". */
const WITH_COMMA = /^[+-]?(?:\d{1,3}(?:\.\d{3})+|\d{1,18}),\d{1,2}$/;
/** "1,250.50" */
const WITH_THOUSANDS = /^[+-]?\d{1,3}(?:,\d{3})+\.\d{1,3}$/;

function asAmount(text: string): string {
  if (WITH_COMMA.test(text)) return text.replaceAll('.', '').replace(',', '.');
  return WITH_THOUSANDS.test(text) ? text.replaceAll(',', '') : text;
}

/**
 * Amounts may have a decimal comma and separators of thousands. As in the table, an amount with a minus is a debit, unless a direction is
 * chosen. A currency may be in small letters.
 */
export function asTyped(filters: Filters): Filters {
  const amounts = Object.fromEntries(
    ['amount', 'amount_min', 'amount_max'].map((name) => [name, filters[name] && asAmount(filters[name])]),
  );
  const { amount } = amounts;
  const sign = filters.dc ? undefined : amount?.[0];
  return {
    ...filters,
    ...amounts,
    ...(sign === '-' && { amount: amount?.slice(1), dc: 'Debit' }),
    ...(sign === '+' && { amount: amount?.slice(1), dc: 'Credit' }),
    currency: filters.currency?.toUpperCase(),
  };
}
