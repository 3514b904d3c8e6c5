import type { StatementEvent } from '../statement.ts';
import { createFieldReader, hasAtLineEnds } from './fields.ts';
import { createStatementReader } from './statements.ts';

/**
 * Parses MT940 and MT942, in any mixture, with and without SWIFT's envelope. Source: SWIFT Standards MT, category 9, and the
 * deviations of banks (docs/formats/mt940.md).
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

const BALANCE = /(?:^|[\r\n]|4:):6[02][FM]:[CD]\d{6}[A-Z\d]/;
const ENTRY = /(?:^|[\r\n]):61:\d{6}(?:\d{4}| {4})? *(?:R?[CD]|E[CD])/;
const HEADER = /(?:^|[\r\n]|4:):20:/;
const ACCOUNT = /[\r\n]:25P?:/;
/** No colon stands between the starts of blocks 1 and 2, so no text is read for more than one block 1. */
const INTERIM = /[\r\n]:34F:|(?:^|[\r\n]|\{)[^\w\s]{0,3}1:[^:\r\n]*2:[IO]942/;
const INTERIM_TIME = /[\r\n]:13D?:\d/;
const OPENING = /(?:^|[\r\n]):60[FM]:/;

/** The start of a text with line ends, also where the text has "@@" for them. */
const withLineEnds = (start: string): string => (hasAtLineEnds(start) ? start.replaceAll('@@', '\n') : start);

/** True if the first 4 KiB of a text are MT940 or MT942. A fragment is recognised by a balance or an entry. */
export function looksLikeMt940(text: string): boolean {
  const start = withLineEnds(text);
  return BALANCE.test(start) || ENTRY.test(start) || (HEADER.test(start) && ACCOUNT.test(start));
}

/** True if it is MT942, a report of the day so far. The same parser reads it. */
export function looksLikeMt942(text: string): boolean {
  if (!looksLikeMt940(text)) return false;
  const start = withLineEnds(text);
  return INTERIM.test(start) || (INTERIM_TIME.test(start) && !OPENING.test(start));
}
