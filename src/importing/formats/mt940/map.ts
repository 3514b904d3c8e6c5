import type { Entry } from '../statement.ts';
import { readDetails } from './details/details.ts';
import { joinWrapped, LINE_WIDTH, tidy } from './details/text.ts';
import type { EntryLine } from './entry-line.ts';
import type { Field } from './fields.ts';
import { readIban } from './iban-text.ts';

/** Makes an entry from :61: and the fields that follow it. docs/formats/mt940.md has the table. */
export function mapEntry(line: number, from: EntryLine, fields: readonly Field[]): Entry {
  const details = readDetails(fields);
  const supplement = tidy(joinWrapped(from.supplement, LINE_WIDTH));
  // Some banks write the counterparty's account where the reference or the supplementary details belong.
  const ownIban = readIban(from.ownReference ?? '');
  const isAccount = ownIban !== null || from.ownReference === details.opponentId;
  const supplementIban = readIban(supplement ?? '');
  return {
    line,
    status: from.status,
    date: from.date,
    dc: from.dc,
    amount: from.amount,
    currency: null,
    balance: null,
    code: from.code,
    description: details.description ?? (supplementIban === null ? supplement : null),
    name: details.name ?? from.name,
    opponentId: details.opponentId,
    opponentIban: details.opponentIban ?? supplementIban ?? ownIban,
    reference: from.bankReference ?? (isAccount ? null : from.ownReference),
  };
}
