/**
 * Decimals of the currencies that do not have two (ISO 4217, list one). The BAI2 specification of 2005 has its own list, in which
 * the euro has no decimals in some countries. Banks follow ISO 4217. `Intl` of Node.js 20 says 0 for IQD.
 */
const DECIMALS = new Map<string, number>([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'
    .split(' ')
    .map((currency): [string, number] => [currency, 0]),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((currency): [string, number] => [currency, 3]),
  ['CLF', 4],
  ['UYW', 4],
]);

/** How many decimals a currency has. */
export const decimalsOf = (currency: string): number => DECIMALS.get(currency) ?? 2;
