import { dcOf, indexOf, type LogRange, ownerIdOf, ownerOf } from './log-ranges.ts';
import { MOVEMENT_COLUMNS, NO_MOVEMENT_COLUMNS } from './movement-columns.ts';

/** The statement that reads ranges of the movement log. */

/**
 * The customers' newest ids are read in the same statement, and so in the same snapshot: no movement beyond them is read, and
 * filters_version is the one that applies to everything up to them. Index: the primary key.
 */
const NEWEST = `
  (SELECT -1 AS branch, l.customer_id AS owner, l.last_transaction_id AS newest, l.filters_version, ${NO_MOVEMENT_COLUMNS}
   FROM import_locks l WHERE l.customer_id IN (?))`;

/**
 * Ranges of one index, and of one direction. The primary keys of the other tables are forced: with few accounts, MariaDB would join all movements with all
 * of them, and sort the result.
 */
const BRANCH = (branch: number, first: LogRange, ranges: readonly string[], limit: number) => `
  (SELECT ${branch}, t.${ownerOf(first)}, NULL, NULL, ${MOVEMENT_COLUMNS}
   FROM transactions t FORCE INDEX (${indexOf(first, 't').name})
   STRAIGHT_JOIN accounts a FORCE INDEX (PRIMARY) ON a.id = t.account_id
   STRAIGHT_JOIN banks b FORCE INDEX (PRIMARY) ON b.id = a.bank_id
   WHERE ${ranges.join(' OR ')} ORDER BY ${indexOf(first, 't').columns} LIMIT ${limit})`;

/** Index: the primary key of deliveries. */
const UNRECORDED =
  'NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook_id = ? AND d.transaction_id = t.id)';

/** The condition of one range, with its values. */
function conditionOf(range: LogRange): { sql: string; values: unknown[] } {
  const { after, through, filter, withoutResultsOf } = range;
  const dc = dcOf(filter);
  const conditions: { sql: string; values: unknown[] }[] = [
    { sql: `t.${ownerOf(range)} = ? AND t.id > ?`, values: [ownerIdOf(range), after] },
    ...(through === null ? [] : [{ sql: 't.id <= ?', values: [through] }]),
    ...(dc === null ? [] : [{ sql: 't.dc = ?', values: [dc] }]),
    ...(withoutResultsOf === null ? [] : [{ sql: UNRECORDED, values: [withoutResultsOf] }]),
  ];
  return {
    sql: `(${conditions.map(({ sql }) => sql).join(' AND ')})`,
    values: conditions.flatMap(({ values }) => values),
  };
}

/**
 * The statement that reads groups of ranges. A row's `branch` is the index of its group; -1: it holds a customer's newest id.
 * @param groups of ranges of one index and direction each.
 * @param limits rows of each group.
 */
export function rangesStatement(
  groups: readonly (readonly LogRange[])[],
  limits: readonly number[],
): { sql: string; values: unknown[] } {
  const branches = groups.map((ranges, branch) => {
    const [first] = ranges;
    if (first === undefined) throw new Error('a group needs at least one range');
    const conditions = ranges.map(conditionOf);
    return {
      sql: BRANCH(
        branch,
        first,
        conditions.map(({ sql }) => sql),
        limits[branch] ?? 0,
      ),
      values: conditions.flatMap(({ values }) => values),
    };
  });
  const customerIds = new Set(groups.flat().map(({ customerId }) => customerId));
  return {
    sql: [NEWEST, ...branches.map(({ sql }) => sql)].join(' UNION ALL '),
    values: [[...customerIds], ...branches.flatMap(({ values }) => values)],
  };
}
