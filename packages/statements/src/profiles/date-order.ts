import { UnreadableFileError } from '../unreadable.ts';
import { type Cell, textOf } from './row.ts';
import { createDateReader, type DateFormat } from './values.ts';

/** Most rows that are held until one of them decides. Most files reach the 13th day of a month earlier. */
const MOST_ROWS = 100_000;

/** If a profile allows both, decides once for a file whether its dates begin with the day or the month. */
interface DateOrder {
  /**
   * Checks the date of a row.
   * @returns the formats of the file; null if they are not decided yet.
   * @throws {UnreadableFileError} when too many rows can be read in both ways.
   */
  note(line: number, cell: Cell | undefined): DateFormat[] | null;
  /**
   * @returns the formats, if no row can be read in both ways.
   * @throws {UnreadableFileError} with the two readings of a row.
   */
  end(): DateFormat[];
}

/** What stands between the parts of a date, for the formats that begin with the day or the month in digits. */
const separatorsOf = (formats: readonly DateFormat[], first: RegExp): Map<DateFormat, string> =>
  new Map(formats.filter((it) => first.test(it)).map((it) => [it, it.charAt(2)]));

/** @returns null: no two of the formats read the same text as two dates. */
export function createDateOrder(formats: DateFormat[]): DateOrder | null {
  const ofDays = separatorsOf(formats, /^DD.?MM(?!M)/);
  const ofMonths = separatorsOf(formats, /^MM.?DD/);
  const daysFirst = [...ofDays.keys()].filter((it) => [...ofMonths.values()].includes(it.charAt(2)));
  const monthsFirst = [...ofMonths.keys()].filter((it) => [...ofDays.values()].includes(it.charAt(2)));
  const [first, second] = [daysFirst[0], monthsFirst[0]];
  if (first === undefined || second === undefined) return null;
  const readFirst = createDateReader(daysFirst);
  const readSecond = createDateReader(monthsFirst);
  const without = (left: readonly DateFormat[]) => formats.filter((it) => !left.includes(it));
  let doubtful: { line: number; text: string; dates: [string, string] } | null = null;
  let rows = 0;

  const refuse = ({ line, text, dates }: NonNullable<typeof doubtful>) =>
    new UnreadableFileError(
      `The dates of the file can be read in two ways: "${text}" in line ${line} is ${dates[0]} as ${first}, and ${dates[1]} as ${second}. Send it with a profile that has one of the two.`,
    );

  return {
    note(line, cell) {
      const [one, other] = [readFirst(cell), readSecond(cell)];
      if (one !== null && other === null) return without(monthsFirst);
      if (one === null && other !== null) return without(daysFirst);
      if (one !== null && other !== null && one !== other)
        doubtful ??= { line, text: textOf(cell).slice(0, 40), dates: [one, other] };
      rows += 1;
      if (rows === MOST_ROWS && doubtful !== null) throw refuse(doubtful);
      return null;
    },
    end() {
      if (doubtful !== null) throw refuse(doubtful);
      return formats;
    },
  };
}
