import type { StatementEvent } from '../statement.ts';
import { createRecordReader } from './records.ts';
import { createStatementReader } from './statements.ts';

/**
 * Parses BAI2. Source: BAI, Cash Management Balance Reporting Specifications, Version 2 (2005), and the deviations of banks
 * (docs/formats/bai2.md).
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

const FILE_HEADER = /^[\s\uFEFF]*01,[^,\r\n]{0,80},[^,\r\n]{0,80},\s*\d{6}(?:\d{2})?\s*,/;
const GROUP_HEADER = /^[\s\uFEFF]*02,[^,\r\n]{0,80},[^,\r\n]{0,80},\s*(?:[1-4]\s*)?,\s*\d{6}(?:\d{2})?\s*,/;

/** True if the first 4 KiB of a text are BAI2. The file header may be missing. */
export function looksLikeBai2(start: string): boolean {
  return FILE_HEADER.test(start) || GROUP_HEADER.test(start);
}
