import { readIban } from '../iban-text.ts';
import { readSepaTags } from './sepa-tags.ts';
import { type Details, joinWrapped, LINE_WIDTH, SUB_FIELD_WIDTH, tidy } from './text.ts';

/** The transaction code of three digits, the separator and a sub-field, or a sub-field alone. */
const START = /^(?:\d{3}([^\p{L}\p{N}\s.,:-])|([?~^<>@&]))(?:[01]0|2\d|3[0-8]|6[0-3])/u;
/** The sub-fields that exist. The separator before other digits is part of the text. */
const CODE = /^(?:00|1[01]|2\d|3[0-8]|6[0-5]|7[01])/;

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
  const fields = splitSubFields(lines, separator);
  const join = (codes: readonly string[]) =>
    joinWrapped(
      codes.flatMap((code) => fields.get(code) ?? []),
      SUB_FIELD_WIDTH,
    );
  const remittance = join(REMITTANCE);
  const tags = readSepaTags(remittance);
  const account = tidy(fields.get('31') ?? '');
  const iban = readIban(account ?? '') ?? readIban(fields.get('38') ?? '') ?? tags.iban;
  return {
    description: tags.remittance ?? tidy(remittance) ?? tidy(fields.get('00') ?? ''),
    name: tidy(join(['32', '33'])) ?? tags.name,
    opponentId: readIban(account ?? '') === null ? account : null,
    opponentIban: iban,
  };
}

const REMITTANCE = ['20', '21', '22', '23', '24', '25', '26', '27', '28', '29', '60', '61', '62', '63'];

function splitSubFields(lines: readonly string[], separator: string): Map<string, string> {
  const fields = new Map<string, string>();
  const [, ...parts] = joinLines(lines, separator).split(separator);
  let code: string | null = null;
  for (const part of parts) {
    const begun = CODE.exec(part)?.[0];
    if (begun !== undefined && !fields.has(begun)) {
      code = begun;
      fields.set(code, part.slice(2));
    } else if (code !== null) {
      // Each sub-field comes once. This is the separator within text, such as "Really?20 EUR".
      fields.set(code, `${fields.get(code)}${separator}${part}`);
    }
  }
  return fields;
}

/** A line that lacks one character lost the blank at its end. */
function joinLines(lines: readonly string[], separator: string): string {
  return lines
    .map((line, index) => {
      const isWrapped = line.length === LINE_WIDTH - 1 && !lines[index + 1]?.startsWith(separator);
      return isWrapped && index < lines.length - 1 ? `${line} ` : line;
    })
    .join('');
}
