import { chooseProfile, fits, foldRows } from '../profiles/headings.ts';
import type { Profile } from '../profiles/profile.ts';
import type { Row } from '../profiles/row.ts';
import { createTableStart } from './tables.ts';

/**
 * Finds the profile whose heading is in the start of a file.
 * @param start the first 4 KiB of decoded text. It may have been decoded with another encoding than the profile names.
 * @returns null if no profile fits, or several do.
 */
export function detectProfile(start: string, profiles: readonly Profile[]): Profile | null {
  const rowsIn = createTableStart(start);
  const folded = new Map<readonly Row[], readonly ReadonlySet<string>[]>();
  const matches = profiles.filter((profile) => {
    const rows = rowsIn(profile);
    const known = folded.get(rows) ?? foldRows(rows);
    folded.set(rows, known);
    return fits(known, profile);
  });
  return chooseProfile(matches);
}

/** Whether the start of a file has the heading of one profile, and of one only. */
export const looksLikeCsv = (start: string, profiles: readonly Profile[]): boolean =>
  detectProfile(start, profiles) !== null;
