import type { StatementEvent } from '../statement.ts';
import { createRecordReader } from './records.ts';
import { createStatementReader } from './statements.ts';

/** Characters read at a time. The events of a whole part would live long enough to fill the heap's old space with garbage. */
const SLICE = 32 * 1024;

/**
 * Parses BAI2.
 * Source: BAI, Cash Management Balance Reporting Specifications, Version 2 (2005), and what banks make of it (docs/formats/bai2.md).
 */
export async function* parseBai2(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
  const records = createRecordReader();
  const statements = createStatementReader();
  for await (const part of text) {
    for (let start = 0; start < part.length; start += SLICE) {
      const events = statements.read(records.read(part.slice(start, start + SLICE)));
      if (events.length > 0) yield events;
    }
  }
  const last = [...statements.read(records.end()), ...statements.end()];
  if (last.length > 0) yield last;
}
