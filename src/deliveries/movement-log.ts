import { createBatcher } from '../platform/batcher.ts';
import type { Sql } from '../platform/database/transaction.ts';
import { createLogCache, type LogCache } from './log-cache.ts';
import {
  groupRanges,
  isCrowdedOut,
  keyOf,
  type LogRange,
  type LogRead,
  type Newest,
  nextRange,
  nothingMatches,
  READ_SIZE,
  toLogRead,
} from './log-ranges.ts';
import { rangesStatement } from './log-statement.ts';
import type { LogPort } from './ports.ts';
import type { LoggedMovement } from './run/types.ts';

/**
 * Reads the movement log: a customer's movements in the order of their ids. Webhooks read it as their queue. Here reads of many webhooks
 * become few statements: log-ranges.ts plans them, and log-statement.ts has the SQL.
 */

/** The most reads that share a statement. */
const READS_PER_STATEMENT = 100;

type Row = LoggedMovement & Newest & { branch: string | number; owner: string };

/** Reads several ranges in one statement. */
export async function readRanges(sql: Sql, all: readonly LogRange[]): Promise<LogRead[]> {
  const found = await readGroups(sql, groupRanges(all));
  const readOf = (range: LogRange) => found.get(keyOf(range)) as LogRead;
  // Repeated alone, so that they need not wait.
  const crowdedOut = all.filter((range) => isCrowdedOut(range, readOf(range))).map((range) => [range]);
  if (crowdedOut.length > 0)
    for (const [key, read] of await readGroups(sql, crowdedOut)) found.set(key, read);
  return all.map(readOf);
}

/** Runs one statement. @returns what was read, by `keyOf`. */
async function readGroups(sql: Sql, groups: readonly (readonly LogRange[])[]): Promise<Map<string, LogRead>> {
  const limits = groups.map((ranges) => (ranges.length === 1 ? (ranges[0]?.limit ?? 0) : READ_SIZE));
  const statement = rangesStatement(groups, limits);
  const rows = await sql.query<Row[]>(statement.sql, statement.values);
  const newest = new Map(rows.filter(({ branch }) => Number(branch) === -1).map((row) => [row.owner, row]));
  const found = new Map<string, LogRead>();
  for (const [index, ranges] of groups.entries()) {
    const ofGroup = rows.filter(({ branch }) => Number(branch) === index);
    for (const range of ranges)
      found.set(keyOf(range), toLogRead(range, newest.get(range.customerId), ofGroup, limits[index] ?? 0));
  }
  return found;
}

/** Opens the log for the webhooks of one process. Webhooks of one customer with the same filter share what was read. */
export function openMovementLog(database: Sql, cache: LogCache = createLogCache()): LogPort {
  /** Reads that have not begun yet, by `keyOf`. Webhooks with the same filter that are woken together share one of them. */
  const waiting = new Map<string, Promise<LogRead>>();
  const readInGroup = createBatcher(
    (ranges: readonly LogRange[]) => {
      for (const range of ranges) waiting.delete(keyOf(range));
      return readRanges(database, ranges);
    },
    { workers: 2, maxItems: READS_PER_STATEMENT },
  );
  const readRange = (range: LogRange): Promise<LogRead> => {
    const key = keyOf(range);
    const shared = waiting.get(key) ?? readInGroup(range);
    waiting.set(key, shared);
    return shared;
  };

  return {
    async read(request) {
      const { filter, ...range } = nextRange(request);
      if (filter === null) return nothingMatches(range.after, range.through);
      const read = { ...range, filter };
      return read.withoutResultsOf === null ? cache.read(read, () => readRange(read)) : readRange(read);
    },
  };
}
