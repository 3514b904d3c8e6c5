import { readIban } from '../iban-text.ts';
import { type Details, joinWrapped, tidy } from './text.ts';

/** Lines are cut within words, at 65 characters or a little before. */
const WIDTH = 60;
const TAGS =
  'ACCW|ADDR|BENM|BIC|CNTP|CREF|CSID|EREF|EXCH|IBAN|ID|INIT|IREF|ISDT|KREF|MARF|NAME|NRTX|ORDP|PREF|PURP|REMI|RTRN|RTYP|SVCL|TRCD|TRTP|TRXID|UCRD|UDTR|ULTB|ULTC|ULTD';
const TAG = new RegExp(`/(${TAGS})(?=/)`, 'g');
const START = new RegExp(`^/(?:${TAGS})/`);

export const hasSlashTags = (text: string): boolean => START.test(text);

/**
 * Reads the tags of Dutch banks: "/TRTP/…/IBAN/…/NAME/…/REMI/…/EREF/…" (ABN AMRO), "/EREF/…/BENM//NAME/…/REMI/…" (Rabobank),
 * "/CNTP/<IBAN>/<BIC>/<name>/<place>//REMI/USTD//…" (ING).
 */
export function readSlashTags(lines: readonly string[]): Details {
  const text = joinWrapped(lines, WIDTH);
  const tags = new Map<string, string>();
  const matches = [...text.matchAll(TAG)];
  matches.forEach((match, index) => {
    const tag = match[1] ?? '';
    const value = trimSlashes(text.slice(match.index + match[0].length, matches[index + 1]?.index));
    if (value !== '' && !tags.has(tag)) tags.set(tag, value);
  });
  const [party = '', , partyName = ''] = (tags.get('CNTP') ?? '').split('/');
  const account = tags.get('IBAN') ?? party;
  const iban = readIban(account);
  const remittance = (tags.get('REMI') ?? '').replace(/^(?:USTD\/\/|STRD\/(?:CUR|ISO)\/)/, '');
  return {
    description: tidy(remittance) ?? tidy(text),
    name: tidy(tags.get('NAME') ?? partyName),
    opponentId: iban === null ? tidy(account) : null,
    opponentIban: iban,
  };
}

function trimSlashes(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && (text[start] === '/' || text[start] === ' ')) start += 1;
  while (end > start && (text[end - 1] === '/' || text[end - 1] === ' ')) end -= 1;
  return text.slice(start, end);
}
