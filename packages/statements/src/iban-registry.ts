/**
 * Where the bank's code stands in an IBAN, by country: SWIFT's IBAN registry (ISO 13616), as of October 2026.
 */

/** The length of an IBAN; and where, after its first four characters, the bank's code begins and ends, and where its branch's code ends. */
type Structure = readonly [length: number, bankFrom: number, bankTo: number, branchTo: number];

const STRUCTURES: Readonly<Record<string, Structure>> = {
  AD: [24, 0, 4, 8],
  AE: [23, 0, 3, 3],
  AL: [28, 0, 3, 8],
  AT: [20, 0, 5, 5],
  AZ: [28, 0, 4, 4],
  BA: [20, 0, 3, 6],
  BE: [16, 0, 3, 3],
  BG: [22, 0, 4, 8],
  BH: [22, 0, 4, 4],
  BI: [27, 0, 5, 10],
  BR: [29, 0, 8, 13],
  BY: [28, 0, 4, 4],
  CH: [21, 0, 5, 5],
  CR: [22, 0, 4, 4],
  CY: [28, 0, 3, 8],
  CZ: [24, 0, 4, 4],
  DE: [22, 0, 8, 8],
  DJ: [27, 0, 5, 10],
  DK: [18, 0, 4, 4],
  DO: [28, 0, 4, 4],
  EE: [20, 0, 2, 2],
  EG: [29, 0, 4, 8],
  ES: [24, 0, 4, 8],
  FI: [18, 0, 3, 3],
  FK: [18, 0, 2, 2],
  FO: [18, 0, 4, 4],
  FR: [27, 0, 5, 5],
  GB: [22, 0, 4, 10],
  GE: [22, 0, 2, 2],
  GI: [23, 0, 4, 4],
  GL: [18, 0, 4, 4],
  GR: [27, 0, 3, 7],
  GT: [28, 0, 4, 4],
  HN: [28, 0, 4, 4],
  HR: [21, 0, 7, 7],
  HU: [28, 0, 3, 7],
  IE: [22, 0, 4, 10],
  IL: [23, 0, 3, 6],
  IQ: [23, 0, 4, 7],
  IS: [26, 0, 2, 4],
  IT: [27, 1, 6, 11],
  JO: [30, 0, 4, 8],
  KW: [30, 0, 4, 4],
  KZ: [20, 0, 3, 3],
  LB: [28, 0, 4, 4],
  LC: [32, 0, 4, 4],
  LI: [21, 0, 5, 5],
  LT: [20, 0, 5, 5],
  LU: [20, 0, 3, 3],
  LV: [21, 0, 4, 4],
  LY: [25, 0, 3, 6],
  MC: [27, 0, 5, 10],
  MD: [24, 0, 2, 2],
  ME: [22, 0, 3, 3],
  MK: [19, 0, 3, 3],
  MN: [20, 0, 4, 4],
  MR: [27, 0, 5, 10],
  MT: [31, 0, 4, 9],
  MU: [30, 0, 6, 8],
  NI: [28, 0, 4, 4],
  NL: [18, 0, 4, 4],
  NO: [15, 0, 4, 4],
  OM: [23, 0, 3, 3],
  PK: [24, 0, 4, 4],
  PL: [28, 0, 8, 8],
  PS: [29, 0, 4, 4],
  PT: [25, 0, 4, 4],
  QA: [29, 0, 4, 4],
  RO: [24, 0, 4, 4],
  RS: [22, 0, 3, 3],
  RU: [33, 0, 9, 14],
  SA: [24, 0, 2, 2],
  SC: [31, 0, 6, 8],
  SD: [18, 0, 2, 2],
  SE: [24, 0, 3, 3],
  SI: [19, 0, 5, 5],
  SK: [24, 0, 4, 4],
  SM: [27, 1, 6, 11],
  SO: [23, 0, 4, 7],
  ST: [25, 0, 4, 8],
  SV: [28, 0, 4, 4],
  TL: [23, 0, 3, 3],
  TN: [24, 0, 2, 5],
  TR: [26, 0, 5, 5],
  UA: [29, 0, 6, 6],
  VA: [22, 0, 3, 3],
  VG: [24, 0, 4, 4],
  XK: [20, 0, 2, 4],
  YE: [30, 0, 4, 8],
};

/** How many characters an IBAN of a country has. undefined: the registry does not have the country. */
export const ibanLength = (country: string): number | undefined => STRUCTURES[country]?.[0];

/** The countries of the registry, as two letters. */
export const IBAN_COUNTRIES: readonly string[] = Object.keys(STRUCTURES);

/**
 * The codes by which files name the bank of an IBAN: the bank's code, that of its branch, and both together.
 * @param iban without spaces, in upper case.
 * @returns an empty list if the country is not in the registry, or the IBAN has another length.
 */
export function bankCodesOf(iban: string): string[] {
  const structure = STRUCTURES[iban.slice(0, 2)];
  if (structure === undefined || iban.length !== structure[0]) return [];
  const [, from, to, branchTo] = structure;
  const own = iban.slice(4);
  const codes = [own.slice(from, to), own.slice(to, branchTo), own.slice(from, branchTo)];
  return [...new Set(codes)].filter((code) => code !== '');
}
