import type { StatementEvent } from '../statement.ts';
import { createRecordReader } from './records.ts';
import { createStatementReader } from './statements.ts';

/**
 * Parses BAI2.
 * Source: BAI, Cash Management Balance Reporting Specifications, Version 2 (2005), and what banks make of it (docs/formats/bai2.md).
 */
export async function* parseBai2(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
  const records = createRecordReader();
  const statements = createStatementReader();
  for await (const part of text) {
    const events = statements.read(records.read(part));
    if (events.length > 0) yield events;
  }
  const last = [...statements.read(records.end()), ...statements.end()];
  if (last.length > 0) yield last;
}
