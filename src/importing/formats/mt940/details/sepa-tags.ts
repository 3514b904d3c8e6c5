import { readIban } from '../iban-text.ts';
import { tidy } from './text.ts';

/** Source: Deutsche Kreditwirtschaft, "DFÜ-Abkommen, Anlage 3", chapter 8: identifiers in the remittance information. */
const TAG =
  /(EREF|KREF|MREF|PREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|PURP|RREF|RCMT|SQTP|(?<![A-Z])(?:IBAN|BIC))\+/;

export interface SepaTags {
  /** SVWZ+ */
  remittance: string | null;
  /** ABWA+ or ABWE+: on whose behalf it was sent, or for whom it was received. */
  name: string | null;
  /** IBAN+ */
  iban: string | null;
}

const NO_TAGS: SepaTags = { remittance: null, name: null, iban: null };

/** Reads tags such as EREF+, KREF+, MREF+, CRED+, SVWZ+ and IBAN+ in remittance information. Text without them has none. */
export function readSepaTags(text: string): SepaTags {
  if (!text.includes('+')) return NO_TAGS;
  const values = new Map<string, string>();
  // What is before the first tag, then each tag and what follows it.
  const parts = text.split(TAG);
  for (let at = 1; at < parts.length; at += 2) {
    const tag = parts[at] as string;
    const value = tidy(parts[at + 1] as string);
    if (value !== null && !values.has(tag)) values.set(tag, value);
  }
  const [iban = ''] = (values.get('IBAN') ?? '').split(' ');
  return {
    remittance: values.get('SVWZ') ?? null,
    name: values.get('ABWA') ?? values.get('ABWE') ?? null,
    iban: readIban(iban),
  };
}
