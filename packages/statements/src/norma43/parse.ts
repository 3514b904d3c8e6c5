import { createFixedLineReader } from '../shared/fixed-columns.ts';
import type { StatementEvent } from '../statement.ts';
import { LENGTH } from './records.ts';
import { createStatementReader } from './statements.ts';

/**
 * Parses Norma 43, also called Cuaderno 43, AEB 43, CSB 43 and N43. Source: AEB and CECA, Cuaderno 43, and the deviations of banks
 * (docs/formats/norma43.md).
 */
export async function* parseNorma43(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
  const lines = createFixedLineReader(LENGTH);
  const statements = createStatementReader();
  for await (const part of text) {
    const events = statements.read(lines.read(part));
    if (events.length > 0) yield events;
  }
  const last = [...statements.read(lines.end()), ...statements.end()];
  if (last.length > 0) yield last;
}

/** ISO-8859-1, of which windows-1252 has all letters, and that of DOS in older files. UTF-8 is recognised before. */
export const NORMA43_ENCODINGS = ['windows-1252', 'ibm850'] as const;

const MONTH_AND_DAY = '(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\\d|3[01])';
/** The header of an account: bank and office, account, two days, the sign and the opening balance, the currency. */
const HEADER = new RegExp(
  `^[\\s\\uFEFF]*11\\d{8}[\\d ]{10}\\d\\d${MONTH_AND_DAY}\\d\\d${MONTH_AND_DAY}[12]\\d{14}(?:\\d{3}| {3})`,
);

/** True if the first 4 KiB of a text are Norma 43. */
export const looksLikeNorma43 = (start: string): boolean => HEADER.test(start);
