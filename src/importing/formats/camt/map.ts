import type { Entry, StatementEvent } from '../statement.ts';
import { type Detail, divide, findCommonFields, type Share } from './batch-details.ts';
import { findCounterparty, type Holder } from './counterparty.ts';
import { describe, readCode } from './description.ts';
import type { Fields } from './element-paths.ts';
import {
  readBookingDate,
  readCurrency,
  readEntryAmount,
  readEntryDirection,
  readReference,
  readStatus,
  Unreadable,
} from './entry-fields.ts';

/** An Ntry element as it stands in the file. */
export interface RawEntry {
  line: number;
  fields: Fields;
  details: Detail[];
}

/** What an entry needs to know of its statement. */
export interface StatementContext {
  kind: 'final' | 'interim';
  holder: Holder;
}

/**
 * Maps an Ntry element: to one entry, or to one per TxDtls if their amounts add up to the amount of the entry. An entry that cannot
 * be read yields an issue.
 */
export function mapEntry(raw: RawEntry, statement: StatementContext): StatementEvent[] {
  const warnings: StatementEvent[] = [];
  const warn = (message: string) => warnings.push({ type: 'warning', line: raw.line, message });
  try {
    const { fields } = raw;
    const total = { amount: readEntryAmount(fields), dc: readEntryDirection(fields) };
    const currency = readCurrency(fields);
    const status = readStatus(fields, statement.kind, warn);
    const date = readBookingDate(fields, status, warn);
    if (date === null) return warnings;

    const toEntry = ({ amount, dc }: Share, detail: Fields, line: number): StatementEvent => {
      const { name, opponentId, opponentIban } = findCounterparty(detail, {
        dc,
        isReversal: /^(true|1)$/.test(fields.reversal ?? '') || detail.returned !== undefined,
        holder: statement.holder,
      });
      const entry: Entry = {
        line,
        status,
        date,
        dc,
        amount,
        currency,
        balance: null,
        code: readCode(detail, fields),
        description: describe(detail, fields),
        name,
        opponentId,
        opponentIban,
        reference: readReference(detail) ?? readReference(fields),
      };
      return { type: 'entry', entry };
    };
    const shares = divide(total, currency, raw.details);
    if (shares === null) return [...warnings, toEntry(total, findCommonFields(raw.details), raw.line)];
    return [
      ...warnings,
      ...raw.details.map((detail, at) => toEntry(shares[at] ?? total, detail.fields, detail.line)),
    ];
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return [...warnings, { type: 'issue', line: raw.line, path: error.path, message: error.message }];
  }
}
