import { squeeze } from '../white-space.ts';
import type { Fields } from './element-paths.ts';

/** What a movement's description can hold. */
const MAX_DESCRIPTION = 4_000;

/**
 * Describes an entry: remittance information, the creditor's reference, and what the bank adds to the detail and to the entry. A
 * text that is contained in the ones before is left out. A batch that nothing else describes has the ids of its payment
 * instructions.
 */
export function describe(detail: Fields, entry: Fields): string | null {
  const texts = [detail.remittance, detail.remittanceReference, detail.note, entry.note];
  let description = '';
  for (const text of texts) {
    if (text === undefined) continue;
    const words = squeeze(text);
    if (words === '' || description.includes(words)) continue;
    description += description === '' ? words : ` ${words}`;
  }
  if (description === '') description = entry.batch ?? '';
  return description === '' ? null : cut(description);
}

/** Never between the two halves of a character. */
const cut = (text: string): string =>
  text.length <= MAX_DESCRIPTION ? text : text.slice(0, MAX_DESCRIPTION).replace(/[\uD800-\uDBFF]$/, '');

/**
 * Reads the bank's code for the kind of transaction: domain, family and sub-family, such as PMNT-RCDT-ESCT, or else the bank's own
 * code. Each counts as the detail has it, or else as the entry has it.
 */
export function readCode(detail: Fields, entry: Fields): string | null {
  const { domain, family, subFamily } = detail.domain === undefined ? entry : detail;
  if (domain === undefined) return detail.proprietary ?? entry.proprietary ?? null;
  return [domain, family, subFamily].filter((part) => part !== undefined).join('-');
}
