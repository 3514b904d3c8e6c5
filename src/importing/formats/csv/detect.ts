import { MAX_ROWS_ABOVE, matchProfile } from '../profiles/headings.ts';
import type { Profile } from '../profiles/profile.ts';
import type { Row } from '../profiles/row.ts';
import { createLineSplitter } from './lines.ts';
import { createRecordReader } from './records.ts';

/**
 * Finds the profile whose heading is in the start of a file.
 * @param start the first 4 KiB of decoded text. It may have been decoded with another encoding than the profile names.
 * @returns null if no profile fits, or several do.
 */
export function detectProfile(start: string, profiles: readonly Profile[]): Profile | null {
  const lines = createLineSplitter();
  const texts = [...lines.split(start), ...lines.end()];
  const tables = new Map<string, Row[]>();
  const matches = profiles.filter((profile) => {
    const key = `${profile.delimiter} ${profile.quote}`;
    let rows = tables.get(key);
    if (rows === undefined) {
      const records = createRecordReader(profile);
      rows = [...records.read(texts), ...records.end()].slice(0, MAX_ROWS_ABOVE);
      tables.set(key, rows);
    }
    return matchProfile(rows, [profile]) !== null;
  });
  // All of these match in some dialect: what is left is to choose the most specific one.
  const headings = matches.map((profile): Row => ({ line: 1, cells: profile.heading ?? [] }));
  return matchProfile(headings, matches);
}

/** Whether the start of a file has the heading of one profile, and of one only. */
export const looksLikeCsv = (start: string, profiles: readonly Profile[]): boolean =>
  detectProfile(start, profiles) !== null;
