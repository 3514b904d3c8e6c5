import type { Profile } from '../profiles/profile.ts';
import { createTableReader } from '../profiles/table.ts';
import type { StatementEvent, StatementParser } from '../statement.ts';
import { createLineSplitter } from './lines.ts';
import { createRecordReader } from './records.ts';

/** Creates the parser of the CSV files that `profile` describes. A row that cannot be read is an issue; the others are read. */
export const createCsvParser = (profile: Profile): StatementParser =>
  async function* parseCsv(text: AsyncIterable<string>): AsyncGenerator<StatementEvent[]> {
    const lines = createLineSplitter();
    const records = createRecordReader(profile);
    const table = createTableReader(profile);
    let isFirst = true;
    for await (const part of text) {
      const events = table.read(records.read(lines.split(isFirst ? withoutMark(part) : part)));
      isFirst &&= part === '';
      if (events.length > 0) yield events;
    }
    yield [...table.read(records.read(lines.end())), ...table.read(records.end()), ...table.end()];
  };

/** A byte order mark that was decoded with the text. */
const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');
