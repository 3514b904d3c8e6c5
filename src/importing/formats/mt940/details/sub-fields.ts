import { readIban } from '../iban-text.ts';
import { readSepaTags } from './sepa-tags.ts';
import { type Details, joinWrapped, LINE_WIDTH, SUB_FIELD_WIDTH, tidy } from './text.ts';

/** The transaction code of three digits, the separator and a sub-field, or a sub-field alone. */
const START = /^(?:\d{3}([^\p{L}\p{N}\s.,:-])|([?~^<>@&]))(?:[01]0|2\d|3[0-8]|6[0-3])/u;
const REMITTANCE = [...range(20, 29), ...range(60, 63)];
const NAME = [32, 33];
/** The sub-fields that exist. The separator before other digits is part of the text. */
const CODES = new Set([0, 10, 11, ...range(20, 38), ...range(60, 65), 70, 71]);

/** The separator of sub-fields; null if the text has none. */
export function separatorOf(text: string): string | null {
  const [, afterCode, first] = START.exec(text) ?? [];
  return afterCode ?? first ?? null;
}

/**
 * Reads the sub-fields that German, Austrian, Swiss and Polish banks write, here with the separator ?: ?00 booking text, ?20 to ?29 and
 * ?60 to ?63 remittance information, ?31 account (or ?38 IBAN), ?32 and ?33 name.
 * Source: Deutsche Kreditwirtschaft, "DFÜ-Abkommen, Anlage 3", chapter 8 (MT940, field 86).
 */
export function readSubFields(lines: readonly string[], separator: string): Details {
  const fields = splitSubFields(joinLines(lines, separator), separator);
  const remittance = joinFields(fields, REMITTANCE);
  const tags = readSepaTags(remittance);
  const account = tidy(fields[31] ?? '');
  const accountIban = readIban(account ?? '');
  return {
    description: tags.remittance ?? tidy(remittance) ?? tidy(fields[0] ?? ''),
    name: tidy(joinFields(fields, NAME)) ?? tags.name,
    opponentId: accountIban === null ? account : null,
    opponentIban: accountIban ?? readIban(fields[38] ?? '') ?? tags.iban,
  };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** The texts of sub-fields by their codes. */
type SubFields = readonly (string | undefined)[];

function joinFields(fields: SubFields, codes: readonly number[]): string {
  const parts: string[] = [];
  for (const code of codes) {
    const text = fields[code];
    if (text !== undefined) parts.push(text);
  }
  return joinWrapped(parts, SUB_FIELD_WIDTH);
}

function splitSubFields(text: string, separator: string): SubFields {
  const fields: (string | undefined)[] = [];
  let open = -1;
  for (let at = text.indexOf(separator); at !== -1; ) {
    const start = at + separator.length;
    at = text.indexOf(separator, start);
    const end = at === -1 ? text.length : at;
    const code = codeAt(text, start);
    if (CODES.has(code) && fields[code] === undefined) {
      open = code;
      fields[code] = text.slice(start + 2, end);
    } else if (open !== -1) {
      // Each sub-field comes once. This is the separator within text, such as "Really?20 EUR".
      fields[open] += separator + text.slice(start, end);
    }
  }
  return fields;
}

const ZERO = 0x30;

/** Two digits as a number; -1 for anything else. */
function codeAt(text: string, at: number): number {
  const tens = text.charCodeAt(at) - ZERO;
  const ones = text.charCodeAt(at + 1) - ZERO;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : -1;
}

/** A line that lacks one character lost the blank at its end. */
function joinLines(lines: readonly string[], separator: string): string {
  let text = '';
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index] as string;
    const isLast = index === lines.length - 1;
    const isWrapped = line.length === LINE_WIDTH - 1 && !isLast && !lines[index + 1]?.startsWith(separator);
    text += isWrapped ? `${line} ` : line;
  }
  return text;
}
