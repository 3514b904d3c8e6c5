import type { Layout, Profile } from '../profile.ts';
import type { Advice } from '../settings.ts';
import type { StatementEvent } from '../statement.ts';
import { explainHeadings, findHeading, MAX_ROWS_ABOVE, matchProfile } from './headings.ts';
import { quote, type Row } from './row.ts';
import { createTableReader } from './table.ts';

/** Reads the tables of a workbook, one after the other. */

/** A sheet of a workbook. */
export interface Sheet {
  /** The name that people see. */
  name: string;
  /** Reads its rows from the first one on. */
  rows(): AsyncGenerator<Row[]>;
}

interface SheetOptions {
  /** The profile to use, or several profiles of which one must fit. */
  profiles: readonly Profile[];
  advice: Advice;
  /** Says why a sheet cannot be read to its end. @throws errors that are not about the file. */
  explain: (error: unknown) => string;
}

/** Most sheets without a known heading that a message names. */
const MOST_NAMED = 10;

/** A sheet of which the first rows have been read. */
interface OpenSheet {
  sheet: Sheet;
  start: readonly Row[];
  rest: AsyncGenerator<Row[]>;
  breakOff: string | undefined;
}

/**
 * Reads each sheet that has the heading of a profile, in their order. A warning names the others, but not a cover, which is no table and stands
 * before the first one. The lines of a sheet go on where those of the sheet before end, and its messages name the sheet and the row.
 */
export async function* readSheets(
  sheets: readonly Sheet[],
  { profiles, advice, explain }: SheetOptions,
): AsyncGenerator<StatementEvent[]> {
  const passed: string[] = [];
  const unknown: OpenSheet[] = [];
  let lines: number | null = null;
  for (const sheet of sheets) {
    const open = await openSheet(sheet, explain);
    const layout = matchProfile(open.start, profiles);
    if (layout !== null) {
      lines = yield* readTable(open, layout, lines, explain);
      continue;
    }
    await open.rest.return(undefined);
    if (open.start.length === 0 && open.breakOff === undefined) continue;
    if (lines === null && unknown.length < MOST_NAMED) unknown.push(open);
    if (lines !== null || findHeading([tableOf(open)]) !== null) passed.push(sheet.name);
  }
  if (lines !== null) {
    if (passed.length > 0) yield [{ type: 'warning', line: lines, message: describePassed(passed) }];
    return;
  }
  const [first] = unknown;
  const [named, ...others] = profiles;
  const sheet = first?.sheet ?? sheets[0];
  // A profile that was named and does not fit: its reader says which headings are missing.
  if (sheet !== undefined && named !== undefined && others.length === 0 && first?.breakOff === undefined)
    yield* readTable(await openSheet(sheet, explain), named, null, explain);
  else yield [unreadable(first?.breakOff ?? explainHeadings(unknown.map(tableOf), profiles, advice))];
}

async function openSheet(sheet: Sheet, explain: SheetOptions['explain']): Promise<OpenSheet> {
  const rest = sheet.rows();
  const start: Row[] = [];
  try {
    while (start.length < MAX_ROWS_ABOVE) {
      const { value, done } = await rest.next();
      if (done) break;
      start.push(...value);
    }
    return { sheet, start, rest, breakOff: undefined };
  } catch (error) {
    return { sheet, start, rest, breakOff: explain(error) };
  }
}

/** @param before the lines of the sheets before; null: this is the first. @returns the lines up to the end of this one. */
async function* readTable(
  { sheet, start, rest, breakOff }: OpenSheet,
  layout: Layout,
  before: number | null,
  explain: SheetOptions['explain'],
): AsyncGenerator<StatementEvent[], number> {
  const table = createTableReader(layout, { mayBeCut: false });
  const place = (events: StatementEvent[]) =>
    before === null ? events : events.map((event) => placeEvent(event, sheet.name, before));
  let last = start.at(-1)?.line ?? 0;
  let reason = breakOff;
  yield place(table.read(start));
  try {
    for await (const rows of rest) {
      last = rows.at(-1)?.line ?? last;
      yield place(table.read(rows));
    }
  } catch (error) {
    reason = explain(error);
  }
  for (const events of table.end(reason)) yield place(events);
  return (before ?? 0) + last;
}

function placeEvent(event: StatementEvent, sheet: string, before: number): StatementEvent {
  if (event.type === 'entry') return { ...event, entry: { ...event.entry, line: before + event.entry.line } };
  const line = before + event.line;
  if (event.type !== 'issue' && event.type !== 'warning') return { ...event, line };
  return { ...event, line, message: `sheet ${quote(sheet)}, row ${event.line}: ${event.message}` };
}

const tableOf = ({ start }: OpenSheet) => ({ delimiter: null, rows: start });

function describePassed(names: readonly string[]): string {
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  const listed = names.slice(0, MOST_NAMED).map(quote).join(', ');
  return `${names.length === 1 ? 'The sheet' : 'The sheets'} ${listed}${more} ${names.length === 1 ? 'has' : 'have'} no heading of a profile: not read.`;
}

/** The event of a file of which nothing can be read. */
export const unreadable = (message: string): StatementEvent => ({
  type: 'issue',
  line: 1,
  path: 'file',
  message,
});
