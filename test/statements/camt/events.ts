import { readdirSync, readFileSync } from 'node:fs';
import { parseCamt } from '../../../packages/statements/src/camt/parse.ts';
import type { StatementEvent } from '../../../packages/statements/src/statement.ts';
import { entriesOf, readEvents } from '../statement-events.ts';

/** Parses a text that arrives in parts of these lengths, in turn. */
export const parse = (text: string, lengths: readonly number[] = []): Promise<StatementEvent[]> =>
  readEvents(parseCamt, text, lengths);

export { entriesOf as entries };

export function ofType<T extends StatementEvent['type']>(events: readonly StatementEvent[], type: T) {
  return events.filter((event): event is Extract<StatementEvent, { type: T }> => event.type === type);
}

export const messages = (events: readonly StatementEvent[]): string[] =>
  events.flatMap((event) => ('message' in event ? [event.message] : []));

/** The files of a folder by their names, or nothing if it does not exist. */
export function readFiles(folder: URL, end = '.xml'): Map<string, string> {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith(end));
    return new Map(names.sort().map((name) => [name, readFileSync(new URL(name, folder), 'utf8')]));
  } catch {
    return new Map();
  }
}

/** A message with one statement. */
export const statement = (content: string, { message = 'BkToCstmrStmt', name = 'Stmt' } = {}): string =>
  `<Document><${message}><GrpHdr/><${name}>${content}</${name}></${message}></Document>`;

const ENTRY = {
  amount: '<Amt Ccy="EUR">10.00</Amt>',
  dc: '<CdtDbtInd>CRDT</CdtDbtInd>',
  reversal: '',
  status: '<Sts><Cd>BOOK</Cd></Sts>',
  date: '<BookgDt><Dt>2026-03-02</Dt></BookgDt>',
  more: '',
  details: '',
};

/** An entry that can be read, except for what is given. */
export function ntry(parts: Partial<typeof ENTRY> = {}): string {
  const { amount, dc, reversal, status, date, more, details } = { ...ENTRY, ...parts };
  return `<Ntry>${amount}${dc}${reversal}${status}${date}${more}<NtryDtls>${details}</NtryDtls></Ntry>`;
}
