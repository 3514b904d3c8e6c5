import { createFixedLineReader } from '../shared/fixed-columns.ts';
import type { StatementEvent } from '../statement.ts';
import { RECORD_LENGTH } from './records.ts';
import { createStatementReader } from './statements.ts';

/**
 * Parses CODA. Source: Febelfin, Coded statement of account (CODA), version 2.6, and the deviations of banks (docs/formats/coda.md).
 */
export async function* parseCoda(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
  const lines = createFixedLineReader(RECORD_LENGTH);
  const statements = createStatementReader();
  for await (const part of text) {
    const events = statements.read(lines.read(part));
    if (events.length > 0) yield events;
  }
  const last = [...statements.read(lines.end()), ...statements.end()];
  if (last.length > 0) yield last;
}

/** The header: five zeros, the creation date, the bank, the application 05, and D for a duplicate. */
const HEADER = /^[\s\uFEFF]*00000\d{6}[\d ]{3}05[D \r\n]/;

/** True if the first 4 KiB of a text are CODA. */
export const looksLikeCoda = (start: string): boolean => HEADER.test(start);
