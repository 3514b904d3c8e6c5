import { parseMt940 } from '../../../packages/statements/src/mt940/parse.ts';
import type { Entry, StatementEvent } from '../../../packages/statements/src/statement.ts';

type EventOf<Type extends StatementEvent['type']> = Extract<StatementEvent, { type: Type }>;

export interface Contents {
  events: StatementEvent[];
  statements: EventOf<'statement'>[];
  entries: Entry[];
  issues: EventOf<'issue'>[];
  warnings: EventOf<'warning'>[];
  ends: EventOf<'end'>[];
}

export const read = (text: string): Promise<Contents> =>
  readParts(
    (async function* () {
      yield text;
    })(),
  );

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
    ':25:12345678/0099887766',
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
