import { keepKnown, readCreditorReference, readPaymentReference } from '../shared/payment-references.ts';
import { joinTexts, squeeze } from '../shared/text.ts';
import type { EntryDetails } from '../statement.ts';
import type { Field } from './fields.ts';
import { readIban } from './values.ts';

/** The transaction code of three digits, the separator and a sub-field, or a sub-field alone. */
const START = /^(?:\d{3}([^\p{L}\p{N}\s.,:-])|([?~^<>@&]))(?:[01]0|2\d|3[0-8]|6[0-3])/u;
const REMITTANCE = [...range(20, 29), ...range(60, 63)];
const NAME = [32, 33];
/** The sub-fields that exist. The separator before other digits is part of the text. */
const CODES = new Set([0, 10, 11, ...range(20, 38), ...range(60, 65), 70, 71]);

/** The separator of sub-fields; null if the text has none. */
function separatorOf(text: string): string | null {
  const [, afterCode, first] = START.exec(text) ?? [];
  return afterCode ?? first ?? null;
}

/**
 * Reads the sub-fields that German, Austrian, Swiss and Polish banks write, here with the separator ?: ?00 booking text, ?20 to ?29 and
 * ?60 to ?63 remittance information, ?31 account (or ?38 IBAN), ?32 and ?33 name.
 * Source: Deutsche Kreditwirtschaft, "DFÜ-Abkommen, Anlage 3", chapter 8 (MT940, field 86).
 */
function readSubFields(lines: readonly string[], separator: string, isOwn: IsOwn): Details {
  const fields = splitSubFields(joinLines(lines, separator), separator);
  const remittance = joinFields(fields, REMITTANCE);
  const tags = readSepaTags(remittance, () => joinFields(fields, REMITTANCE, ''));
  const account = tidy(fields[31] ?? '');
  if (account !== null && isOwn(account)) return readTriodos(fields);
  const accountIban = readIban(account ?? '');
  return {
    description: tags.remittance ?? tidy(remittance) ?? tidy(fields[0] ?? ''),
    name: tidy(joinFields(fields, NAME)) ?? tags.name,
    opponentId: accountIban === null ? account : null,
    opponentIban: accountIban ?? readIban(fields[38] ?? '') ?? tags.iban,
    ...tags.references,
  };
}

const BIC = /^[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/;

/**
 * Reads sub-fields in which ?31 is the own account, as Triodos writes them: the counterparty's number is in ?10, or is zero, and then
 * its BIC and IBAN are in ?20 and ?21, before the text.
 */
function readTriodos(fields: SubFields): Details {
  const [bic = '', iban = ''] = [fields[20], fields[21]];
  const opponentIban = BIC.test(bic.trim()) ? readIban(iban) : null;
  const account = tidy(fields[10] ?? '');
  const remittance = joinFields(fields, opponentIban === null ? REMITTANCE : REMITTANCE.slice(2));
  return {
    description: tidy(remittance) ?? tidy(fields[0] ?? ''),
    name: tidy(joinFields(fields, NAME)),
    opponentId: opponentIban !== null || account === null || /^0*$/.test(account) ? null : account,
    opponentIban,
  };
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** The texts of sub-fields by their codes. */
type SubFields = readonly (string | undefined)[];

function joinFields(fields: SubFields, codes: readonly number[], blank = ' '): string {
  const parts: string[] = [];
  for (const code of codes) {
    const text = fields[code];
    if (text !== undefined) parts.push(text);
  }
  return joinWrapped(parts, SUB_FIELD_WIDTH, blank);
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
      // Each sub-field comes only once, so this is a separator within text, such as "Really?20 EUR".
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

/** Joins lines. A line that is one character too short has lost the blank at its end. */
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

/** A line of :86: has 65 characters, a sub-field 27. */
export const LINE_WIDTH = 65;
const SUB_FIELD_WIDTH = 27;

/** Whether a number or an IBAN is the statement's own account. */
export type IsOwn = (account: string) => boolean;

/** The references in the text of a payment. */
type TextReferences = Pick<EntryDetails, 'endToEndId' | 'mandateReference' | 'creditorReference'>;

/** The content of an entry's text. */
export interface Details {
  description: string | null;
  name: string | null;
  opponentId: string | null;
  opponentIban: string | null;
  /** Absent if it has none. */
  references?: TextReferences;
}

const NO_DETAILS: Details = { description: null, name: null, opponentId: null, opponentIban: null };

/** Removes blanks at the ends, and keeps one blank where there were several; null if nothing is left. */
export const tidy = (text: string): string | null => squeeze(text) || null;

/**
 * Joins text that was wrapped at a width. A full part was cut anywhere, perhaps within a word. After a shorter part there was a
 * blank, which many banks drop at the end of a line.
 */
export function joinWrapped(parts: readonly string[], width: number, blank = ' '): string {
  const last = parts.length - 1;
  let text = '';
  for (let index = 0; index <= last; index += 1) {
    const part = parts[index] as string;
    text += part.length < width && index < last ? part + blank : part;
  }
  return text;
}

/** Lines are cut within words, at 65 characters or a little before. */
const WIDTH = 60;
const TAGS =
  'ACCW|ADDR|BBAN|BENM|BIC|CDTRREF|CDTRREFTP|CHGS|CNTP|CREF|CSID|EREF|EXCH|IBAN|ID|INIT|IREF|ISDT|KREF|MARF|NAME|NRTX|OCMT|ORDP|PREF|PURP|REMI|RTRN|RTYP|SVCL|TRCD|TRTP|TRXID|UCRD|UDTR|ULTB|ULTC|ULTD';
/** A text begins after its tag's slash, so that a remittance "ID" is not the tag /ID/. */
const TAG = new RegExp(`/(?:(?<text>NAME|REMI)/|(?<other>${TAGS})(?=/))`, 'g');
const SLASH_TAG_START = new RegExp(`^/(?:${TAGS})/`);

const hasSlashTags = (text: string): boolean => SLASH_TAG_START.test(text);

/**
 * Reads the tags of Dutch banks: "/TRTP/…/IBAN/…/NAME/…/REMI/…/EREF/…" (ABN AMRO), "/EREF/…/BENM//NAME/…/REMI/…" (Rabobank),
 * "/CNTP/<IBAN>/<BIC>/<name>/<place>//REMI/USTD//…" (ING).
 */
function readSlashTags(lines: readonly string[]): Details {
  const text = joinWrapped(lines, WIDTH);
  const tags = splitSlashTags(text);
  const id = (tag: string) =>
    readIdentifier(tags.get(tag), () => splitSlashTags(joinWrapped(lines, WIDTH, '')).get(tag));
  const [party = '', , partyName = ''] = (tags.get('CNTP') ?? '').split('/');
  const account = tags.get('IBAN') ?? tags.get('BBAN') ?? party;
  const iban = readIban(account);
  const remittance = (tags.get('REMI') ?? tags.get('CDTRREF') ?? '').replace(
    /^(?:USTD\/\/|STRD\/(?:CUR|ISO)\/)/,
    '',
  );
  const description = tidy(remittance);
  return {
    // Why the payment comes back, such as MS03 or AM04 (ISO 20022, External Code Sets, return reasons).
    description: description === null ? tidy(text) : joinTexts(description, tidy(tags.get('RTRN') ?? '')),
    name:
      tidy(tags.get('NAME') ?? '') ??
      tidy(partyName) ??
      PARTIES.map((tag) => tidy(tags.get(tag) ?? '')).find(Boolean) ??
      null,
    opponentId: iban === null ? tidy(account) : null,
    opponentIban: iban,
    ...readReferences(
      id('EREF'),
      id('MARF'),
      readCreditorReference(tags.get('CREF')) ?? readCreditorReference(remittance),
    ),
  };
}

function splitSlashTags(text: string): ReadonlyMap<string, string> {
  const tags = new Map<string, string>();
  const matches = [...text.matchAll(TAG)];
  matches.forEach((match, index) => {
    const tag = match.groups?.text ?? match.groups?.other ?? '';
    const value = trimSlashes(text.slice(match.index + match[0].length, matches[index + 1]?.index));
    if (value !== '' && !tags.has(tag)) tags.set(tag, value);
  });
  return tags;
}

/** Tags whose value is the party's name, where it has no tag of its own. */
const PARTIES = ['BENM', 'ORDP', 'ULTB', 'ULTC', 'ULTD', 'UCRD', 'UDTR'];

function trimSlashes(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && (text[start] === '/' || text[start] === ' ')) start += 1;
  while (end > start && (text[end - 1] === '/' || text[end - 1] === ' ')) end -= 1;
  return text.slice(start, end);
}

/** Source: Deutsche Kreditwirtschaft, "DFÜ-Abkommen, Anlage 3", chapter 8: identifiers in the remittance information. */
const SEPA_TAG =
  /(EREF|KREF|MREF|PREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|PURP|RREF|RCMT|SQTP|(?<![A-Z])(?:IBAN|BIC))\+/;

interface SepaTags {
  /** SVWZ+ */
  remittance: string | null;
  /** ABWA+ or ABWE+: the party on whose behalf the payment was sent, or for whom it was received. */
  name: string | null;
  /** IBAN+ */
  iban: string | null;
  /** EREF+, MREF+, and a creditor reference in KREF+ or SVWZ+. */
  references: Pick<Details, 'references'>;
}

const NO_TAGS: SepaTags = { remittance: null, name: null, iban: null, references: {} };

/**
 * Reads tags such as EREF+, KREF+, MREF+, CRED+, SVWZ+ and IBAN+ in remittance information.
 * @param unspaced the same text without blanks where a sub-field or line ended
 */
function readSepaTags(text: string, unspaced: () => string): SepaTags {
  if (!text.includes('+')) return NO_TAGS;
  const values = splitSepaTags(text);
  const [iban = ''] = (values.get('IBAN') ?? '').split(' ');
  const id = (tag: string) => readIdentifier(values.get(tag), () => splitSepaTags(unspaced()).get(tag));
  return {
    remittance: values.get('SVWZ') ?? null,
    name: values.get('ABWA') ?? values.get('ABWE') ?? null,
    iban: readIban(iban),
    references: readReferences(
      id('EREF'),
      id('MREF'),
      readCreditorReference(values.get('KREF')) ?? readCreditorReference(values.get('SVWZ')),
    ),
  };
}

function splitSepaTags(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  // The text before the first tag, then each tag with the text after it.
  const parts = text.split(SEPA_TAG);
  for (let at = 1; at < parts.length; at += 2) {
    const tag = parts[at] as string;
    const value = tidy(parts[at + 1] as string);
    if (value !== null && !values.has(tag)) values.set(tag, value);
  }
  return values;
}

/** An identifier goes on after the end of a sub-field or line. Blanks within it are its own. */
const readIdentifier = (text: string | undefined, unspaced: () => string | undefined) =>
  text?.includes(' ') ? unspaced() : text;

function readReferences(
  endToEnd: string | undefined,
  mandate: string | undefined,
  creditorReference: string | undefined,
): Pick<Details, 'references'> {
  const references = keepKnown<TextReferences>({
    endToEndId: readPaymentReference(endToEnd),
    mandateReference: readPaymentReference(mandate),
    creditorReference,
  });
  return references === undefined ? {} : { references };
}

/**
 * Reads :NS: of an entry. German software writes lines into it that begin with a number: 01 to 14 remittance information, 15 and 16
 * name, 17 booking text, 34 account.
 */
function readNumberedLines(lines: readonly string[]): Details {
  const select = (from: number, to: number) =>
    joinWrapped(
      lines.filter((line) => isWithin(line, from, to)).map((line) => line.slice(2)),
      SUB_FIELD_WIDTH,
    );
  const account = tidy(select(34, 34));
  const iban = readIban(account ?? '');
  return {
    description: tidy(select(1, 14)) ?? tidy(select(17, 17)),
    name: tidy(select(15, 16)),
    opponentId: iban === null ? account : null,
    opponentIban: iban,
  };
}

function isWithin(line: string, from: number, to: number): boolean {
  const number = /^\d\d/.exec(line)?.[0];
  return number !== undefined && Number(number) >= from && Number(number) <= to;
}

/** ASN, RegioBank and SNS write the account and the name on the first line, then an empty line. */
const ACCOUNT_AND_NAME = /^([A-Z]{2}\d{2}[A-Z0-9]{11,30}|\d{7,10})(?: (.*))?$/;
/** Knab writes a line of its own. */
const LABELS = /^REK: ([A-Z0-9]{15,34})\/NAAM: (.*)$/;

/** Reads text without a structure. Finds the counterparty only where a bank is known to write it. */
function readFreeText(lines: readonly string[]): Details {
  const [first = '', second, ...rest] = lines;
  const heading = second?.trim() === '' ? ACCOUNT_AND_NAME.exec(first.trim()) : null;
  if (heading) return withCounterparty(rest, heading[1], heading[2]);
  const last = LABELS.exec(lines.at(-1)?.trim() ?? '');
  if (last) return withCounterparty(lines.slice(0, -1), last[1], last[2]);
  const text = joinWrapped(lines, LINE_WIDTH);
  const tags = readSepaTags(text, () => joinWrapped(lines, LINE_WIDTH, ''));
  return {
    ...NO_DETAILS,
    description: tags.remittance ?? tidy(text),
    name: tags.name,
    opponentIban: tags.iban,
    ...tags.references,
  };
}

function withCounterparty(text: readonly string[], account = '', name = ''): Details {
  const iban = readIban(account);
  return {
    description: tidy(joinWrapped(text, LINE_WIDTH)) ?? tidy(name),
    name: tidy(name),
    opponentId: iban === null ? account : null,
    opponentIban: iban,
  };
}

/**
 * Reads the fields :86: (there may be several) or :NS: that follow an entry.
 * @param isOwn whether an account is the statement's, which is never the counterparty's
 */
export function readDetails(fields: readonly Field[], isOwn: IsOwn): Details {
  const [first, ...others] = textsOf(fields);
  if (first === undefined) {
    const numbered = fields.flatMap((field) => (field.tag === 'NS' ? field.lines : []));
    return numbered.length === 0 ? NO_DETAILS : readNumberedLines(numbered);
  }
  const details = readText(first, isOwn);
  if (others.length === 0) return details;
  return others
    .map((lines) => readText(lines, isOwn))
    .reduce(
      (all, more) => ({
        description: joinTexts(all.description, more.description),
        name: all.name ?? more.name,
        opponentId: all.opponentId ?? more.opponentId,
        opponentIban: all.opponentIban ?? more.opponentIban,
        ...((all.references ?? more.references) && { references: { ...more.references, ...all.references } }),
      }),
      details,
    );
}

/** The mark of the structure is within this many characters, perhaps after some blanks. */
const LONG = 60;
/** A field that has only the transaction code, before another that repeats it (ING Poland). */
const CODE_ALONE = /^\s*\d{3}\s*$/;
/** A field that begins with the transaction code and sub-fields. */
const CODE_AND_FIELDS = /^\s*\d{3}[^\p{L}\p{N}\s.,:-]\d\d/u;

/** The texts of an entry. Most have one. A further :86: continues the text, unless it has sub-fields of its own. */
function textsOf(fields: readonly Field[]): (readonly string[])[] {
  const [only] = fields;
  if (fields.length === 1 && only?.tag === '86' && only.lines[0]?.trim() !== '') return [only.lines];
  const texts: string[][] = [];
  for (const { tag, lines } of fields) {
    if (tag !== '86') continue;
    const last = texts.at(-1);
    if (last === undefined || CODE_AND_FIELDS.test(lines[0] ?? '')) texts.push([...lines]);
    else last.push(...lines);
  }
  const isEmpty = (lines: readonly string[]) => lines.every((line) => line.trim() === '');
  const filled = texts.filter((lines) => !isEmpty(lines));
  return filled.length < 2
    ? filled
    : filled.filter((lines) => lines.length > 1 || !CODE_ALONE.test(lines[0] ?? ''));
}

function readText(lines: readonly string[], isOwn: IsOwn): Details {
  const [first = '', second = ''] = lines;
  const start = (first.length < LONG ? first + second : first).trimStart();
  const separator = separatorOf(start);
  if (separator !== null) return readSubFields(lines, separator, isOwn);
  return hasSlashTags(start) ? readSlashTags(lines) : readFreeText(lines);
}
