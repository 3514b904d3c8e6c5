import type { StatementEvent } from '../statement.ts';
import { createFieldReader } from './fields.ts';
import { createStatementReader } from './statements.ts';

/**
 * Parses MT940 and MT942, in any mixture, with and without SWIFT's envelope.
 * Source: SWIFT Standards MT, category 9, and what banks make of it (docs/formats/mt940.md).
 */
export async function* parseMt940(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
  const fields = createFieldReader();
  const statements = createStatementReader();
  for await (const part of text) {
    const events = statements.read(fields.read(part));
    if (events.length > 0) yield events;
  }
  const last = [...statements.read(fields.end()), ...statements.end()];
  if (last.length > 0) yield last;
}
