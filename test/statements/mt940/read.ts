import { parseMt940 } from '../../../src/statements/mt940/parse.ts';
import type { Entry, StatementEvent } from '../../../src/statements/statement.ts';

type EventOf<Type extends StatementEvent['type']> = Extract<StatementEvent, { type: Type }>;

export interface Contents {
  events: StatementEvent[];
  statements: EventOf<'statement'>[];
  entries: Entry[];
  issues: EventOf<'issue'>[];
  warnings: EventOf<'warning'>[];
  ends: EventOf<'end'>[];
}

async function* cut(text: string, lengths: readonly number[]): AsyncGenerator<string> {
  let start = 0;
  for (const length of lengths) {
    yield text.slice(start, start + length);
    start += length;
  }
  if (start < text.length) yield text.slice(start);
}

/** Parses a text that comes in parts of these lengths, and then the rest. */
export const read = (text: string, lengths: readonly number[] = []): Promise<Contents> =>
  readParts(cut(text, lengths));

export async function readParts(parts: AsyncIterable<string>): Promise<Contents> {
  const events: StatementEvent[] = [];
  for await (const some of parseMt940(parts)) events.push(...some);
  const select = <Type extends StatementEvent['type']>(type: Type) =>
    events.filter((event): event is EventOf<Type> => event.type === type);
  return {
    events,
    statements: select('statement'),
    entries: select('entry').map(({ entry }) => entry),
    issues: select('issue'),
    warnings: select('warning'),
    ends: select('end'),
  };
}

/** A statement with these lines between its balances. */
export const statement = (...lines: string[]): string =>
  [
    ':20:START',
    ':25:12345678/0011223344',
    ':28C:1/1',
    ':60F:C261101EUR100,00',
    ...lines,
    ':62F:C261130EUR100,00',
    '-',
    '',
  ].join('\r\n');

/** Reads the one entry of a statement with these lines. */
export async function readOne(...lines: string[]): Promise<Entry> {
  const { entries, issues, warnings } = await read(statement(...lines));
  const [entry] = entries;
  if (entry === undefined || entries.length > 1 || issues.length > 0 || warnings.length > 0)
    throw new Error(`expected one entry and nothing wrong: ${JSON.stringify({ issues, warnings })}`);
  return entry;
}

/** The counts that tables compare. `off` counts the statements whose two balances differ by another sum than their entries'. */
export function count({ events, statements, entries, issues, warnings }: Contents) {
  let off = 0;
  let expected: bigint | null = null;
  for (const event of events) {
    if (event.type === 'statement') expected = event.opening?.amount ?? null;
    if (event.type === 'entry' && expected !== null)
      expected += event.entry.dc === 'Credit' ? event.entry.amount : -event.entry.amount;
    if (event.type === 'end' && expected !== null && event.closing && event.closing.amount !== expected)
      off += 1;
  }
  return {
    statements: statements.length,
    entries: entries.length,
    issues: issues.length,
    warnings: warnings.length,
    off,
  };
}
