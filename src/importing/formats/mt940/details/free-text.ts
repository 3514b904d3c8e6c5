import { readIban } from '../iban-text.ts';
import { readSepaTags } from './sepa-tags.ts';
import { type Details, joinWrapped, LINE_WIDTH, NO_DETAILS, tidy } from './text.ts';

/** ASN, RegioBank and SNS: the account and the name on the first line, then an empty line. */
const ACCOUNT_AND_NAME = /^([A-Z]{2}\d{2}[A-Z0-9]{11,30}|\d{7,10})(?: (.*))?$/;
/** Knab: a line of its own. */
const LABELS = /^REK: ([A-Z0-9]{15,34})\/NAAM: (.*)$/;

/** Reads text without a structure. The counterparty is found where a bank is known to write it. */
export function readFreeText(lines: readonly string[]): Details {
  const [first = '', second, ...rest] = lines;
  const heading = second?.trim() === '' ? ACCOUNT_AND_NAME.exec(first.trim()) : null;
  if (heading) return withCounterparty(rest, heading[1], heading[2]);
  const last = LABELS.exec(lines.at(-1)?.trim() ?? '');
  if (last) return withCounterparty(lines.slice(0, -1), last[1], last[2]);
  const text = joinWrapped(lines, LINE_WIDTH);
  const tags = readSepaTags(text);
  return {
    ...NO_DETAILS,
    description: tags.remittance ?? tidy(text),
    name: tags.name,
    opponentIban: tags.iban,
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
