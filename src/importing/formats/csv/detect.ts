import { chooseProfile, fits, foldRows, MAX_ROWS_ABOVE } from '../profiles/headings.ts';
import type { Profile } from '../profiles/profile.ts';
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
  const tables = new Map<string, ReadonlySet<string>[]>();
  const matches = profiles.filter((profile) => {
    const key = `${profile.delimiter} ${profile.quote}`;
    let rows = tables.get(key);
    if (rows === undefined) {
      const records = createRecordReader(profile);
      rows = foldRows([...records.read(texts), ...records.end()].slice(0, MAX_ROWS_ABOVE));
      tables.set(key, rows);
    }
    return fits(rows, profile);
  });
  return chooseProfile(matches);
}

/** Whether the start of a file has the heading of one profile, and of one only. */
export const looksLikeCsv = (start: string, profiles: readonly Profile[]): boolean =>
  detectProfile(start, profiles) !== null;
