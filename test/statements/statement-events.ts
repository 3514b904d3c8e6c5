import { formatAmount } from '../../packages/statements/src/amounts.ts';
import type { Entry, StatementEvent, StatementParser } from '../../packages/statements/src/statement.ts';

/** Parses a text that comes in parts of these sizes, in turn; without sizes, as a whole. A part can be empty. */
export async function readEvents(
  parse: StatementParser,
  text: string,
  sizes: readonly number[] = [],
): Promise<StatementEvent[]> {
  async function* parts() {
    let at = 0;
    for (let i = 0; at < text.length; i += 1) {
      const size = sizes.some((it) => it > 0) ? (sizes[i % sizes.length] ?? 0) : text.length;
      yield text.slice(at, at + size);
      at += size;
    }
  }
  const events: StatementEvent[] = [];
  for await (const some of parse(parts())) events.push(...some);
  return events;
}

export const entriesOf = (events: readonly StatementEvent[]): Entry[] =>
  events.flatMap((event) => (event.type === 'entry' ? [event.entry] : []));

/** The messages of the warnings. */
export const warningsOf = (events: readonly StatementEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));

/** The path and the message of each issue. */
export const issuesOf = (events: readonly StatementEvent[]): string[] =>
  events.flatMap((event) => (event.type === 'issue' ? [`${event.path}: ${event.message}`] : []));

export const countOf = (events: readonly StatementEvent[], type: StatementEvent['type']): number =>
  events.filter((event) => event.type === type).length;

/** One short line for each event. Messages are left out. */
export const describeEvents = (events: readonly StatementEvent[]): string[] =>
  events.map((event) => {
    if (event.type === 'entry') return describeEntry(event.entry);
    if (event.type === 'issue') return `issue at ${event.line}: ${event.path}`;
    if (event.type === 'warning') return `warning at ${event.line}`;
    if (event.type === 'end')
      return event.closing === null ? 'end' : `end ${formatAmount(event.closing.amount, null)}`;
    const { iban, number, currency } = event.account;
    return `statement ${iban ?? number} ${currency}`;
  });

export function describeEntry({ status, date, dc, amount }: Entry): string {
  return `${status === 'pending' ? 'pending ' : ''}${date} ${dc === 'Debit' ? '-' : '+'}${formatAmount(amount, null)}`;
}

/** An event on one line, with the line of the file at which it begins. What an entry does not have is left out. */
export function writeOut(event: StatementEvent): string {
  if (event.type === 'entry') {
    const { balance, currency, code, name, description, opponentIban, opponentId, reference } = event.entry;
    const fields = { balance: balance && formatAmount(balance, null), currency, code, name };
    const more = { iban: opponentIban, id: opponentId, reference, text: description };
    const written = Object.entries({ ...fields, ...more }).filter(([, value]) => value !== null);
    return [
      `${event.entry.line} ${describeEntry(event.entry)}`,
      ...written.map(([key, value]) => `${key} ${value}`),
    ].join(' | ');
  }
  if (event.type === 'statement') {
    const { line, kind, account, opening } = event;
    const { iban, number, currency } = account;
    return `${line} ${kind} statement | iban ${iban} | number ${number} | currency ${currency} | opening ${opening && formatAmount(opening.amount, null)}`;
  }
  if (event.type === 'issue') return `${event.line} issue ${event.path}`;
  if (event.type === 'warning') return `${event.line} warning`;
  return `${event.line} ${describeEvents([event])}`;
}

/** For each statement that has both balances: how far opening + credits − debits is from closing. */
export function balanceDifferences(events: readonly StatementEvent[]): bigint[] {
  const differences: bigint[] = [];
  let sum: bigint | null = null;
  for (const event of events) {
    if (event.type === 'statement') sum = event.opening?.amount ?? null;
    if (event.type === 'entry' && sum !== null && event.entry.status === 'booked')
      sum += event.entry.dc === 'Credit' ? event.entry.amount : -event.entry.amount;
    if (event.type === 'end' && event.closing !== null && sum !== null)
      differences.push(sum - event.closing.amount);
  }
  return differences;
}
