import { createFixedLineReader } from '../shared/fixed-columns.ts';
import type { StatementEvent } from '../statement.ts';
import { LENGTH } from './records.ts';
import { createStatementReader } from './statements.ts';

/**
 * Parses CFONB 120. Source: CFONB, "Relevé de compte sur support informatique", 2004, and the deviations of banks (docs/formats/cfonb120.md).
 */
export async function* parseCfonb120(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
  const lines = createFixedLineReader(LENGTH);
  const statements = createStatementReader();
  for await (const part of text) {
    const events = statements.read(lines.read(part));
    if (events.length > 0) yield events;
  }
  const last = [...statements.read(lines.end()), ...statements.end()];
  if (last.length > 0) yield last;
}

const DAY_AND_MONTH = '(?:0[1-9]|[12]\\d|3[01])(?:0[1-9]|1[0-2])';
/** The old balance: bank, counter, currency, number of decimals, account, day, and 50 reserved characters before the amount. */
const OPENING = new RegExp(
  `^[\\s\\uFEFF]*01\\d{5}[ \\d]{4}\\d{5}[A-Z]{3}[\\d ].[\\dA-Z ]{11}..${DAY_AND_MONTH}\\d\\d.{50}\\d{13}[{}A-R]`,
);

/** True if the first 4 KiB of a text are CFONB 120. */
export const looksLikeCfonb120 = (start: string): boolean => OPENING.test(start);
